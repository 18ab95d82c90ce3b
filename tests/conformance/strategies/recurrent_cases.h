#pragma once

#include <vector>

#include <nyala/tests/conformance/strategies/promise_case.h>

namespace nyala {

/// Trainings with recurrent layers: masks, dropout over time, states that go from batch to batch.
std::vector<PromiseCase> recurrent_cases();

}  // namespace nyala
