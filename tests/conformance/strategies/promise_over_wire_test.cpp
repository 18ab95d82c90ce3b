// Gradients that travel between processes in bfloat16: trainings end within 2e-3 of one device (weights of
// those with BatchNormalization within 2e-2), with the same bits in every process.
#include <cmath>
#include <string>

#include <nyala/tests/conformance/strategies/over_processes.h>
#include <nyala/tests/conformance/strategies/promise_case.h>

namespace nyala::promise_over_wire_test {
namespace {

using PromiseOverWire = OverProcesses;

constexpr double kAllowed = 2e-3;

/// One number of all weights, which each process shows the others.
void expect_same_bits(const Outcome& outcome, const Strategy& several) {
  double sum = 0, place = 0;
  for (const auto& [name, values] : outcome)
    if (name.starts_with("weight "))
      for (const double value : values) sum += value * std::cos(++place);
  const PerReplica sums =
      several.run([&](Replica& replica) { return Tensor::full({1}, sum, DType::float64, replica.device); });
  for (const double other : several.gather(sums).to_vector<double>()) EXPECT_EQ(other, sum);
}

/// Around a BatchNormalization the parts of the processes nearly cancel each other, as gradients of a batch
/// that is normalized sum to zero: what is rounded is ten times and more what is left.
double allowed(const PromiseCase& one) {
  return one.name.find("BatchNormalization") == std::string::npos ? kAllowed : 10.0 * kAllowed;
}

/// The weights that are furthest from those of one device.
std::string worst(const Outcome& received, const Outcome& expected) {
  std::string text;
  for (const auto& [name, values] : expected)
    if (name.starts_with("weight "))
      if (const double apart = relative_difference(received, expected, name); apart > kAllowed)
        text += name + ": " + std::to_string(apart) + "\n";
  return text;
}

TEST_P(PromiseOverWire, TrainingsStayWithin2e3OfOneDevice) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy({.wire_dtype = DType::bfloat16});
    const std::vector<PromiseCase>& cases = promise_cases();
    bool is_rounded = false;
    for (size_t i = 0; i < cases.size(); i += GetParam().is_gloo() ? 5 : 2) {
      SCOPED_TRACE(cases[i].name);
      const Outcome expected = outcome_of(cases[i], OneDeviceStrategy("cpu:0"), DType::float32);
      const Outcome received = outcome_of(cases[i], several, DType::float32);
      expect_same_bits(received, several);
      const double weights = relative_difference(received, expected, "weight ");
      EXPECT_LE(weights, allowed(cases[i])) << worst(received, expected);
      EXPECT_LE(relative_difference(received, expected, "history loss"), kAllowed);
      is_rounded = is_rounded || weights > 1e-5;
    }
    EXPECT_TRUE(is_rounded);
  });
}

INSTANTIATE_TEST_SUITE_P(All, PromiseOverWire,
                         ::testing::Values(Layout{2, 1}, Layout{2, 2},
                                           Layout{2, 1, CommunicationImplementation::gloo}),
                         [](const auto& instance) { return instance.param.name(); });

}  // namespace
}  // namespace nyala::promise_over_wire_test
