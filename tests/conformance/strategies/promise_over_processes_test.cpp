// The promise over processes: the cases of the promise suite on processes x devices give the numbers of one
// device, in every process.
#include <cstdlib>

#include <nyala/tests/conformance/strategies/over_processes.h>
#include <nyala/tests/conformance/strategies/promise_case.h>

namespace nyala::promise_over_processes_test {

namespace {

using PromiseOverProcesses = OverProcesses;
using PromiseOverMoreProcesses = OverProcesses;  // scripts/test_processes.sh

constexpr auto kGloo = CommunicationImplementation::gloo;

/// Every `step`th case.
void expect_numbers_of_one_device(const Strategy& several, size_t step = 1) {
  const std::vector<PromiseCase>& cases = promise_cases();
  for (size_t i = 0; i < cases.size(); i += step)
    for (const DType dtype : {DType::float32, DType::float64}) {
      SCOPED_TRACE(cases[i].name + ", " + std::string(name_of(dtype)));
      const Outcome expected = outcome_of(cases[i], OneDeviceStrategy("cpu:0"), dtype);
      const Difference difference = difference_of(outcome_of(cases[i], several, dtype), expected, dtype);
      EXPECT_LE(difference.allowed, 1.0) << difference.where;
    }
}

TEST_P(PromiseOverProcesses, EveryCaseGivesTheNumbersOfOneDevice) {
  in_processes([] { expect_numbers_of_one_device(strategy(), GetParam().is_gloo() ? 5 : 1); });
}

TEST_P(PromiseOverMoreProcesses, EveryCaseGivesTheNumbersOfOneDevice) {
  if (!std::getenv("NYALA_ALL_LAYOUTS")) GTEST_SKIP() << "scripts/test_processes.sh runs it";
  in_processes([] { expect_numbers_of_one_device(strategy()); });
}

INSTANTIATE_TEST_SUITE_P(All, PromiseOverProcesses,
                         ::testing::Values(Layout{2, 1}, Layout{3, 1}, Layout{2, 2}, Layout{2, 1, kGloo}),
                         [](const auto& instance) { return instance.param.name(); });

INSTANTIATE_TEST_SUITE_P(All, PromiseOverMoreProcesses,
                         ::testing::Values(Layout{4, 1}, Layout{2, 1, kGloo}, Layout{3, 1, kGloo},
                                           Layout{4, 1, kGloo}, Layout{2, 2, kGloo}),
                         [](const auto& instance) { return instance.param.name(); });

}  // namespace

}  // namespace nyala::promise_over_processes_test
