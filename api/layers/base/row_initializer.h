#pragma once

#include <string>

#include <nyala/api/initializers/initializer.h>

namespace nyala::detail {

/// The text by which a parameter server makes rows of a table. Throws InvalidArgumentError for an initializer
/// that looks at more than an element.
std::string text_of_row_initializer(const Initializer& initializer);

}  // namespace nyala::detail
