#pragma once

#include <nyala/api/training/compiled_facts.h>
#include <nyala/datasets/base/element.h>

namespace nyala {

/// How many rows whole arrays have, and what some of them come to: what processes that are to train the same
/// data have alike. Rounded, since processors may differ in the last digits of what they computed.
TrainingFacts facts_of_rows(const Element& arrays);

}  // namespace nyala
