#pragma once

#include <vector>

#include <nyala/tests/conformance/strategies/promise_case.h>

namespace nyala {

/// Trainings with attention: masks of padding, causal masks, dropout of scores.
std::vector<PromiseCase> attention_cases();

}  // namespace nyala
