#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/list.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/conv2d.h>

namespace nyala {
namespace {

const KernelOrder* order_of(const OpDef& op) {
  const auto& all = cpu_kernel_orders();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const KernelOrder& one) { return one.op == &op; });
  return found == all.end() ? nullptr : &*found;
}

TEST(KernelList, SaysTheOrderOfKernelsFromSeveralFiles) {
  const std::set<std::string_view> levels = {"avx512", "avx2", "baseline"};
  for (const OpDef* op : KernelTable::instance().ops_with_kernels(DeviceKind::cpu)) {
    const auto kernels = KernelTable::instance().fast_kernels(*op, DeviceKind::cpu);
    const bool one_file = kernels.size() == 1 ||
                          std::all_of(kernels.begin(), kernels.end(),
                                      [&](const Kernel& kernel) { return levels.contains(kernel.name); });
    EXPECT_TRUE(one_file || order_of(*op)) << op->name;
  }
}

TEST(KernelList, IsWhatIsAsked) {
  if (cpu_level() < CpuLevel::avx512) GTEST_SKIP() << "kernels of the list are missing on this processor";
  for (const KernelOrder& order : cpu_kernel_orders()) {
    std::vector<std::string_view> asked;
    for (const Kernel& kernel : KernelTable::instance().fast_kernels(*order.op, DeviceKind::cpu))
      asked.push_back(kernel.name);
    EXPECT_EQ(asked, order.kernels) << order.op->name;
  }
}

TEST(KernelList, MustNameEveryKernel) {
  KernelTable table;
  table.add(ops::kConv2D, DeviceKind::cpu, {.name = "second"});
  table.add(ops::kConv2D, DeviceKind::cpu, {.name = "first"});
  const std::string_view whole[] = {"first", "missing here", "second"}, part[] = {"first"};
  table.order(ops::kConv2D, DeviceKind::cpu, whole);
  EXPECT_EQ(table.fast_kernels(ops::kConv2D, DeviceKind::cpu)[0].name, "first");
  EXPECT_EQ(table.fast_kernels(ops::kConv2D, DeviceKind::cpu)[1].name, "second");
  EXPECT_THROW(table.order(ops::kConv2D, DeviceKind::cpu, part), InternalError);
}

}  // namespace
}  // namespace nyala
