// Kinds of devices stand in one list, which every part asks.
#include <gtest/gtest.h>

#include <nyala/backend/core/device.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/tensor.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala {
namespace {

using detail::DeviceKindEntry;
using detail::kDeviceKindList;

TEST(DeviceKinds, NamesAreThoseOfTheList) {
  for (const DeviceKindEntry& entry : kDeviceKindList) {
    const std::string name(entry.name);
    EXPECT_EQ(name_of(entry.kind), name);
    EXPECT_EQ(Device(name + ":1"), Device(entry.kind, 1));
    EXPECT_EQ(Device(entry.other_name.empty() ? entry.name : entry.other_name), Device(entry.kind, 0))
        << name;
  }
}

TEST(DeviceKinds, DevicesOnTheHostShareMemory) {
  for (const DeviceKindEntry& entry : kDeviceKindList) {
    const Device first(entry.kind, 0), second(entry.kind, 1);
    EXPECT_TRUE(share_memory(first, first));
    EXPECT_EQ(share_memory(first, second), entry.on_host);
    EXPECT_EQ(share_memory(first, Device{}), entry.on_host);
    EXPECT_EQ(is_on_host(first), entry.on_host);
  }
}

TEST(DeviceKinds, TheHostReadsTensorsOfKindsThatSaySo) {
  enable_ghost_device();
  for (const Device device : list_logical_devices()) {
    const Tensor x = Tensor::full({2}, 3.0, DType::float32, device);
    if (is_on_host(device)) {
      EXPECT_EQ(x.data<float>()[1], 3.0f);
    } else {
      EXPECT_THROW(x.data<float>(), StateError);
    }
    EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{3, 3}));
  }
}

TEST(DeviceKinds, KernelsAreThoseThatAKindRegisters) {
  for (const DeviceKindEntry& entry : kDeviceKindList)
    EXPECT_TRUE(entry.register_kernels || KernelTable::instance().ops_with_kernels(entry.kind).empty())
        << entry.name;
  EXPECT_FALSE(KernelTable::instance().ops_with_kernels(DeviceKind::cpu).empty());
}

}  // namespace
}  // namespace nyala
