#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

using namespace nyala::detail;

namespace {

TEST(DispatchTest, UndefinedTensorsAreRefused) { EXPECT_THROW(ops::add(Tensor(), Tensor{1.0f}), StateError); }

TEST(DispatchTest, AbstractInputsComputeNothing) {
  const uint64_t before = dispatch_count();
  const Tensor y = ops::add(Tensor::abstract({None, 3}, DType::float32), Tensor{1.0f, 2.0f, 3.0f});
  EXPECT_TRUE(y.is_abstract());
  EXPECT_EQ(y.shape(), Shape({None, 3}));
  EXPECT_EQ(dispatch_count(), before);
}

TEST(DispatchTest, WritesIntoAGivenOutput) {
  const Tensor a{1.0f, 2.0f}, b{10.0f, 20.0f}, out = Tensor::zeros({2});
  const uint64_t version = out.storage()->version();
  dispatch_into(ops::kAdd, NoDescriptor{}, {&a, &b}, out);
  EXPECT_EQ(out.to_vector<float>(), std::vector<float>({11, 22}));
  EXPECT_NE(out.storage()->version(), version);
  EXPECT_THROW(dispatch_into(ops::kAdd, NoDescriptor{}, {&a, &b}, Tensor::zeros({3})), ShapeError);
  EXPECT_THROW(dispatch_into(ops::kAdd, NoDescriptor{}, {&a, &b}, Tensor::zeros({2}, DType::float64)),
               ShapeError);
}

TEST(DispatchTest, ShapeRulesNameTheOp) {
  const Tensor a = Tensor::zeros({2}), b = Tensor::zeros({2}, DType::int32);
  try {
    dispatch(ops::kAdd, NoDescriptor{}, {&a, &b});
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "add: expected two inputs of one dtype, received float32 and int32");
  }
}

struct LogCapture {
  LogCapture() {
    set_log_sink([this](LogChannel, std::string_view text) { lines.emplace_back(text); });
    set_log_level("kernels");
  }
  ~LogCapture() {
    set_log_level("");
    set_log_sink({});
  }
  std::vector<std::string> lines;
};

TEST(KernelTableTest, RefusalsAreLoggedWithTheirReason) {
  LogCapture log;
  ops::relu(Tensor::zeros({4}, DType::float64));
  ASSERT_FALSE(log.lines.empty());
  EXPECT_EQ(log.lines.back(), "relu: reference runs (4,)");
  for (size_t i = 0; i + 1 < log.lines.size(); ++i)
    EXPECT_NE(log.lines[i].find(" does not support this: the result is not float32"), std::string::npos)
        << log.lines[i];
}

TEST(KernelTableTest, EmptyInputsGoToTheReference) {
  LogCapture log;
  ops::add(Tensor::zeros({0, 3}), Tensor::zeros({3}));
  EXPECT_TRUE(log.lines.empty()) << "an empty result needs no kernel";
}

TEST(KernelTableTest, AKernelThatATestAsksForRunsOrTheCallFails) {
  const OpDef& op = ops::kRelu;
  const KernelTable& table = KernelTable::instance();
  for (const Kernel& kernel : table.fast_kernels(op, DeviceKind::cpu)) {
    ScopedValue<std::string_view> only(thread_context().only_kernel, kernel.name);
    EXPECT_NO_THROW(ops::relu(Tensor::zeros({4})));
    try {
      ops::relu(Tensor::zeros({4}), {.threshold = 1.0});
      FAIL();
    } catch (const NotFoundError& error) {
      EXPECT_NE(std::string(error.what()).find("the threshold is not 0"), std::string::npos) << error.what();
    }
  }
}

TEST(LogTest, ChannelsAreOpenedByName) {
  EXPECT_THROW(set_log_level("kernel"), InvalidArgumentError);
  set_log_level("info");
  EXPECT_TRUE(log_enabled(LogChannel::info));
  EXPECT_TRUE(log_enabled(LogChannel::warning));
  EXPECT_FALSE(log_enabled(LogChannel::kernels));
  set_log_level("off");
  EXPECT_FALSE(log_enabled(LogChannel::error));
  set_log_level("");
  EXPECT_TRUE(log_enabled(LogChannel::error));
}

}  // namespace

}  // namespace nyala
