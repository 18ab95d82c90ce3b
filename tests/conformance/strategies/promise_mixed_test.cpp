// The promise under mixed_bfloat16: several replicas give the numbers of one device, as closely as roundings
// to 8 bits allow. Gradients of weights are float32 and are summed in it; but where a last bit of a weight
// differs, an activation may round to the other side.
#include <cctype>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/base/dtype_policy.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/strategies/one_device.h>
#include <nyala/tests/conformance/strategies/promise_case.h>

namespace nyala::promise_mixed_test {
namespace {

constexpr double kAllowed = 2e-3;

class PromiseMixed : public testing::TestWithParam<std::string> {};

TEST_P(PromiseMixed, ReplicasGiveTheNumbersOfOneDeviceSlow) {
  const PromiseCase& training = promise_case(GetParam());
  const DTypePolicy policy("mixed_bfloat16");
  const Outcome expected = outcome_of(training, OneDeviceStrategy("cpu:0"), policy);
  for (const int count : {2, 4}) {
    configure_logical_devices("cpu", count);
    const Outcome received = outcome_of(training, MirroredStrategy(), policy);
    configure_logical_devices("cpu", 1);
    EXPECT_LE(relative_difference(received, expected, "weight "), kAllowed) << count << " replicas";
    EXPECT_LE(relative_difference(received, expected, "history loss"), kAllowed) << count << " replicas";
  }
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const PromiseCase& training : promise_cases()) names.push_back(training.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Cases, PromiseMixed, testing::ValuesIn(names()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

}  // namespace
}  // namespace nyala::promise_mixed_test
