// A strategy of a program's own, made of the library's parts: it keeps the promise like the library's.
#include <gtest/gtest.h>

#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/cross_device/ring_all_reduce.h>
#include <nyala/strategies/in_process.h>
#include <nyala/strategies/one_device.h>
#include <nyala/tests/conformance/strategies/promise_case.h>

namespace nyala {

namespace {

/// A copy of the weights on every device, gradients summed around a ring.
class RingStrategy : public Strategy {
 public:
  explicit RingStrategy(const std::vector<Device>& devices)
      : Strategy(std::make_shared<InProcessStrategy>(
            InProcessOptions{.name = "RingStrategy",
                             .devices = devices,
                             .share_weights = false,
                             .cross_device_ops = std::make_shared<RingAllReduce>()})) {}
};

TEST(OwnStrategies, GiveTheNumbersOfOneDevice) {
  configure_logical_devices("cpu", 3);
  for (const char* name : {"binary, precision, recall", "two outputs, shared layer"}) {
    const PromiseCase& training = promise_case(name);
    const Outcome expected = outcome_of(training, OneDeviceStrategy("cpu:0"), DType::float32);
    const RingStrategy ring({"cpu:0", "cpu:1", "cpu:2"});
    EXPECT_EQ(ring.num_replicas_in_sync(), 3);
    const Difference difference =
        difference_of(outcome_of(training, ring, DType::float32), expected, DType::float32);
    EXPECT_LE(difference.allowed, 1.0) << name << ": " << difference.where;
  }
  configure_logical_devices("cpu", 1);
}

}  // namespace

}  // namespace nyala
