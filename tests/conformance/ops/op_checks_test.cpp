// The checks themselves: what they must find, they find.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <unistd.h>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala {

using namespace nyala::detail;

namespace {

using namespace testing;

void infer_same(InferContext& c) { c.output(0, c.shape(0), c.dtype(0)); }

void halve(const KernelCall& call) {
  dispatch_real(call.output(0).dtype(), "halve", [&]<class T>(T) {
    for (int64_t i = 0; i < call.output(0).num_elements(); ++i) call.out<T>(0)[i] = call.in<T>(0)[i] / 2;
  });
}

/// An op whose gradient is off by a hundredth.
const OpDef kHalve = {.name = "halve",
                      .infer = infer_same,
                      .gradient = [](GradContext& c) { c.set(0, c.grad() * 0.505); },
                      .reference = halve};

Tensor wrong_halve(const Tensors& x) { return dispatch(kHalve, NoDescriptor{}, {&x[0]}); }

TEST(OpChecksTest, AWrongGradientIsFound) {
  EXPECT_FATAL_FAILURE(expect_gradients(wrong_halve, {tensor_of({1, 2}, {2})}), "element 0");
}

TEST(OpChecksTest, AMissingGradientIsFound) {
  EXPECT_FATAL_FAILURE(
      expect_gradients([](const Tensors& x) { return x[0].detached() * 2.0; }, {tensor_of({1}, {1})}),
      "has no gradient");
}

TEST(OpChecksTest, AWrongValueIsFound) {
  EXPECT_NONFATAL_FAILURE(expect_close(tensor_of({1, 2.1}, {2}), tensor_of({1, 2}, {2})), "element 1");
  EXPECT_NONFATAL_FAILURE(expect_close(tensor_of({NAN}, {1}), tensor_of({0}, {1})), "element 0");
  EXPECT_FATAL_FAILURE(expect_close(tensor_of({1}, {1}), tensor_of({1}, {})), "");
  EXPECT_FATAL_FAILURE(expect_close(tensor_of({1}, {1}), tensor_of({1}, {1}, DType::int32)), "");
}

/// A function that gives another result on the ghost device.
TEST(OpChecksTest, ADifferenceBetweenDevicesIsFound) {
  enable_ghost_device();
  const OpFunction f = [](const Tensors& x) {
    return x[0].device().kind == DeviceKind::ghost ? x[0] * 3.0 : x[0] * 2.0;
  };
  EXPECT_NONFATAL_FAILURE(expect_close(run_with_gradients(f, {tensor_of({1}, {1})}, "ghost:0").value,
                                       run_with_gradients(f, {tensor_of({1}, {1})}).value),
                          "element 0");
}

TEST(OpChecksTest, AnOpWithoutTheKernelChoosesFreely) {
  ScopedValue<std::string_view> only(thread_context().only_kernel, "no kernel has this name");
  const Tensor x = tensor_of({1, 2}, {2});
  expect_close(x + x, tensor_of({2, 4}, {2}));
}

/// Runs all other tests of this program once more and reads which kernels ran.
TEST(OpChecksTest, EveryFastKernelIsRunByATestSlow) {
  if (std::getenv("NYALA_TEST_KERNELS_RAN")) GTEST_SKIP() << "this is the inner run";
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("nyala_kernels_ran_" + std::to_string(getpid()));
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = "NYALA_TEST_KERNELS_RAN='" + path.string() + "' '" + program +
                              "' --gtest_filter='-*Slow*:*Gpu*' > /dev/null 2>&1";
  // Tests that fail in the inner run say so themselves.
  ASSERT_NE(std::system(command.c_str()), -1);
  ASSERT_TRUE(std::filesystem::exists(path)) << command;
  std::set<std::string> ran;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) ran.insert(line);
  std::filesystem::remove(path);
  const KernelTable& table = KernelTable::instance();
  for (const OpDef* op : table.ops_with_kernels(DeviceKind::cpu))
    for (const Kernel& kernel : table.fast_kernels(*op, DeviceKind::cpu)) {
      const std::string entry = std::string(op->name) + ": " + std::string(kernel.name);
      EXPECT_TRUE(ran.contains(entry)) << entry << " is run by no test";
    }
}

}  // namespace

}  // namespace nyala
