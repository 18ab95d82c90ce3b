#pragma once

#include <nyala/strategies/parameter_server/server_rule.h>

namespace nyala::detail {

/// Reads the JSON of a Keras optimizer. Throws FileFormatError for what is none, and for a class that this
/// program has not registered.
ServerRuleReader read_optimizer_rules();

}  // namespace nyala::detail
