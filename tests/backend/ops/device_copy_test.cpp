#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/device_copy.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/gather.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/status_word.h>

namespace nyala {

using namespace nyala::detail;

namespace {

using ::testing::HasSubstr;

class Gradients final : public GradientSink {
 public:
  Tensor destination(int32_t) override { return {}; }
  void ready(int32_t leaf, const Tensor& gradient) override { of[leaf] = gradient; }
  std::map<int32_t, Tensor> of;
};

class DeviceCopyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    configure_logical_devices("cpu", 3);
    enable_ghost_device();
  }
  void TearDown() override {
    set_soft_device_placement(false);
    configure_logical_devices("cpu", 1);
    thread_context() = {};
  }
};

std::vector<float> values(const Tensor& x) { return x.to_vector<float>(); }

TEST_F(DeviceCopyTest, GradientsFlowBackAcrossDevices) {
  for (const Device there : {Device("cpu:1"), Device("ghost:0")}) {
    Tape tape;
    const Tensor x = tape.watch(Tensor{2.0f, 3.0f}, 0), w = tape.watch(Tensor{5.0f, 7.0f}.to(there), 1);
    const Tensor y = x.to(there) * w;
    EXPECT_EQ(y.device(), there);
    const Tensor z = ops::sum(y.to("cpu:2") * 2.0) + ops::sum(x).to("cpu:2");
    EXPECT_EQ(z.device(), Device("cpu:2"));
    Gradients gradients;
    backward(tape, z, gradients);
    EXPECT_EQ(gradients.of[0].device(), Device("cpu:0"));
    EXPECT_EQ(gradients.of[1].device(), there);
    EXPECT_EQ(values(gradients.of[0]), std::vector<float>({11, 15}));
    EXPECT_EQ(values(gradients.of[1]), std::vector<float>({4, 6}));
  }
}

TEST_F(DeviceCopyTest, ACopyHasItsOwnBytesAndTheSameDeviceNone) {
  const Tensor x = Tensor{1.0f, 2.0f};
  const Tensor there = x.to("cpu:1"), here = x.to("cpu:0");
  EXPECT_NE(there.raw(), x.raw());
  EXPECT_EQ(here.raw(), x.raw());
  EXPECT_EQ(ops::seen_from(x, "cpu:1").raw(), x.raw());
  Tape tape;
  EXPECT_EQ(tape.watch(x, 0).to("cpu:0").tape(), &tape);
  EXPECT_THROW(Tensor().to("cpu:1"), Error);
}

TEST_F(DeviceCopyTest, IntegersAreCopiedToo) {
  const Tensor x = Tensor::from(std::vector<int64_t>{1, -2, 3});
  EXPECT_EQ(x.to("ghost:1").to("cpu:1").to_vector<int64_t>(), x.to_vector<int64_t>());
}

TEST_F(DeviceCopyTest, UnderAGuardOpsRunThere) {
  const Tensor x = Tensor{1.0f, 2.0f}, y = Tensor{3.0f, 4.0f}.to("cpu:2");
  const auto on = device("cpu:1");
  EXPECT_EQ((x + y).device(), Device("cpu:1"));
  EXPECT_EQ(values(x + y), std::vector<float>({4, 6}));
  EXPECT_EQ(ops::reshape(x, {2, 1}).device(), Device("cpu:1"));
  {
    const auto inner = device("ghost:0");
    EXPECT_EQ((x * y).device(), Device("ghost:0"));
    EXPECT_EQ(values(x * y), std::vector<float>({3, 8}));
  }
  EXPECT_EQ((x * 2.0).device(), Device("cpu:1"));
}

TEST_F(DeviceCopyTest, WithoutAGuardDevicesDoNotMeet) {
  const Tensor x = Tensor{1.0f, 2.0f}, y = x.to("cpu:2");
  try {
    (void)(x + y);
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("add: inputs are on different devices, cpu:0 and cpu:2"));
    EXPECT_THAT(error.what(), HasSubstr("tensor.to(device)"));
  }
}

TEST_F(DeviceCopyTest, BackwardRunsWhereForwardRan) {
  for (const Device there : {Device("cpu:1"), Device("ghost:0")}) {
    Tape tape;
    const Tensor x = tape.watch(Tensor{1.0f, 2.0f}, 0);
    Tensor y;
    {
      const auto on = device(there);
      y = ops::exp(x) * x;
    }
    const Tensor z = ops::sum(y);
    EXPECT_EQ(z.device(), there);
    const auto elsewhere = device("cpu:2");
    Gradients gradients;
    backward(tape, z, gradients);
    EXPECT_EQ(gradients.of[0].device(), Device("cpu:0"));
    for (size_t i = 0; i < 2; ++i) {
      const double v = i + 1.0;
      EXPECT_NEAR(values(gradients.of[0])[i], std::exp(v) * (1 + v), 1e-5);
    }
  }
}

TEST_F(DeviceCopyTest, GivenOutputsStayWhereTheyAre) {
  const Tensor x = Tensor{1.0f, 2.0f};
  const auto on = device("cpu:1");
  ops::detail::fill_zero(x);
  EXPECT_EQ(values(x), std::vector<float>({0, 0}));
  EXPECT_EQ(x.device(), Device("cpu:0"));
}

TEST_F(DeviceCopyTest, KernelsReportToTheWordOfTheirDevice) {
  StatusWords status;
  const StatusScope reports(status);
  const Tensor table = Tensor::zeros({3, 2}), rows = Tensor::from(std::vector<int32_t>{0, 7});
  {
    const auto on = device("cpu:1");
    (void)ops::take(table, rows, 0);
  }
  try {
    status.check();
    FAIL();
  } catch (const NumericError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cpu:1: "));
  }
}

TEST_F(DeviceCopyTest, SoftPlacementStandsInForMissingDevices) {
  EXPECT_FALSE(get_soft_device_placement());
  EXPECT_THROW((void)device("cpu:9"), DeviceNotFoundError);
  set_soft_device_placement(true);
  const auto on = device("cpu:9");
  EXPECT_EQ((Tensor{1.0f} + Tensor{2.0f}).device(), Device("cpu:0"));
}

TEST_F(DeviceCopyTest, AGuardIsOfItsThreadAlone) {
  const auto on = device("cpu:1");
  Device seen;
  std::thread([&seen] { seen = (Tensor{1.0f} + Tensor{2.0f}).device(); }).join();
  EXPECT_EQ(seen, Device("cpu:0"));
}

}  // namespace

}  // namespace nyala
