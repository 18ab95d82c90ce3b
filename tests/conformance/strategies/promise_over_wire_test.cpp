// Gradients that travel between processes in bfloat16: trainings end within 2e-3 of one device, with the same
// bits in every process.
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

/// In front of a BatchNormalization a bias has a gradient of zero: of its parts, which cancel each other, the
/// roundings are left, and it wanders without a meaning.
void leave_out_biases(Outcome& outcome) {
  std::erase_if(outcome, [](const auto& entry) {
    return entry.first.starts_with("weight ") && entry.first.ends_with("bias");
  });
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
      Outcome expected = outcome_of(cases[i], OneDeviceStrategy("cpu:0"), DType::float32);
      Outcome received = outcome_of(cases[i], several, DType::float32);
      expect_same_bits(received, several);
      if (cases[i].name.find("BatchNormalization") != std::string::npos) {
        leave_out_biases(expected);
        leave_out_biases(received);
      }
      const double weights = relative_difference(received, expected, "weight ");
      EXPECT_LE(weights, kAllowed) << worst(received, expected);
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
