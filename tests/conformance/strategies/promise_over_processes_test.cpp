// The promise over processes: the cases of the promise suite on processes x devices give the numbers of one
// device, in every process.
#include <nyala/tests/conformance/strategies/over_processes.h>
#include <nyala/tests/conformance/strategies/promise_case.h>

namespace nyala {

namespace {

using PromiseOverProcesses = OverProcesses;

TEST_P(PromiseOverProcesses, EveryCaseGivesTheNumbersOfOneDevice) {
  in_processes([] {
    const Strategy several = strategy();
    for (const PromiseCase& training : promise_cases())
      for (const DType dtype : {DType::float32, DType::float64}) {
        SCOPED_TRACE(training.name + ", " + std::string(name_of(dtype)));
        const Outcome expected = outcome_of(training, OneDeviceStrategy("cpu:0"), dtype);
        const Difference difference = difference_of(outcome_of(training, several, dtype), expected, dtype);
        EXPECT_LE(difference.allowed, 1.0) << difference.where;
      }
  });
}

INSTANTIATE_TEST_SUITE_P(All, PromiseOverProcesses,
                         ::testing::Values(Layout{2, 1}, Layout{3, 1}, Layout{2, 2}),
                         [](const auto& instance) { return instance.param.name(); });

}  // namespace

}  // namespace nyala
