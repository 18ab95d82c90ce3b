// Every cross-device op, dtype and number of replicas against plain sums in double.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/cross_device/all.h>
#include <nyala/strategies/cross_device/nccl.h>
#include <nyala/strategies/cross_device/packing.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using OpsPtr = std::shared_ptr<const CrossDeviceOps>;

/// What a program may write: only a name and an algorithm, here in the opposite order.
class LastToFirst final : public CrossDeviceOps {
 public:
  std::string name() const override { return "LastToFirst"; }

 protected:
  void sum_in_place(std::span<const Tensor> buffers, bool to_all) const override {
    const Tensor sum = buffers.back().clone();
    for (size_t i = buffers.size() - 1; i-- > 0;) {
      const Tensor other = buffers[i].to(sum.device());
      dispatch_into(ops::kAddInPlace, NoDescriptor{}, {&other}, sum);
    }
    for (const Tensor& buffer : buffers.first(to_all ? buffers.size() : 1)) buffer.copy_from(sum);
  }
};

std::vector<OpsPtr> all_ops() {
  return {std::make_shared<DirectAllReduce>(),
          std::make_shared<RingAllReduce>(),
          std::make_shared<HierarchicalCopyAllReduce>(),
          std::make_shared<HierarchicalCopyAllReduce>(HierarchicalCopyAllReduceConfig{.num_packs = 3}),
          std::make_shared<ReductionToOneDevice>(),
          std::make_shared<ReductionToOneDevice>(ReductionToOneDeviceConfig{.device = "cpu:1"}),
          std::make_shared<LastToFirst>()};
}

std::vector<Device> cpus(int count) {
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) devices.push_back(Device(DeviceKind::cpu, i));
  return devices;
}

/// Numbers that every dtype holds exactly.
double number(int replica, int64_t i) {
  return static_cast<double>((i * 37 + replica * 101 + 5) % 61 - 30) * (replica % 2 ? 1.0 : 0.5);
}

Tensor values_of(int replica, const Shape& shape, DType dtype, Device device) {
  std::vector<double> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = number(replica, static_cast<int64_t>(i));
    if (dtype == DType::float32 || dtype == DType::float64) values[i] += 0.1 * replica;
    if (!is_floating(dtype)) values[i] = std::floor(values[i]);
  }
  const Tensor wide = Tensor::from(values, shape);
  return (is_half(dtype) ? ops::cast(ops::cast(wide, DType::float32), dtype) : ops::cast(wide, dtype))
      .to(device);
}

std::vector<double> doubles(const Tensor& value) {
  const Tensor host = value.to("cpu:0");
  return ops::cast(is_half(host.dtype()) ? ops::cast(host, DType::float32) : host, DType::float64)
      .to_vector<double>();
}

std::vector<char> bits(const Tensor& value) {
  std::vector<char> bytes(value.bytes());
  value.copy_to_host(bytes.data());
  return bytes;
}

std::vector<double> expected(const Tensors& values, ReduceOp op) {
  std::vector<double> sum(static_cast<size_t>(values[0].num_elements()), 0.0);
  for (const Tensor& value : values) {
    const std::vector<double> own = doubles(value);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += own[i];
  }
  if (op == ReduceOp::sum) return sum;
  for (double& element : sum) {
    element /= static_cast<double>(values.size());
    if (!is_floating(values[0].dtype())) element = std::floor(element);
  }
  return sum;
}

double tolerance(DType dtype, double value) {
  const double size = std::abs(value) + 30;
  switch (dtype) {
    case DType::float32:
      return 1e-6 * size;
    case DType::float64:
      return 1e-14 * size;
    case DType::bfloat16:
      return std::abs(value) / 256 + 1e-6;  // one rounding: half a unit of 8 bits
    case DType::float16:
      return std::abs(value) / 2048 + 1e-6;
    default:
      return 0;
  }
}

void expect_near(const Tensor& received, const std::vector<double>& wanted, const std::string& what) {
  const std::vector<double> numbers = doubles(received);
  ASSERT_EQ(numbers.size(), wanted.size()) << what;
  for (size_t i = 0; i < wanted.size(); ++i)
    ASSERT_LE(std::abs(numbers[i] - wanted[i]), tolerance(received.dtype(), wanted[i]))
        << what << ", element " << i << ": " << numbers[i] << " instead of " << wanted[i];
}

class CrossDeviceOpsTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 8); }
  void TearDown() override { configure_logical_devices("cpu", 1); }
};

void check_in_place(const CrossDeviceOps& ops, ReduceOp op, const Tensors& values) {
  const std::string what = ops.name() + " of " + std::to_string(values.size()) + " " +
                           std::string(name_of(values[0].dtype())) + " " + values[0].shape().to_string();
  const std::vector<double> wanted = expected(values, op);
  for (const bool to_all : {false, true}) {
    Tensors buffers, again;
    for (const Tensor& value : values) {
      buffers.push_back(value.clone());
      again.push_back(value.clone());
    }
    ops.all_reduce(op, buffers, to_all);
    ops.all_reduce(op, again, to_all);
    for (size_t i = 0; i < (to_all ? buffers.size() : 1); ++i) {
      expect_near(buffers[i], wanted, what);
      EXPECT_EQ(bits(buffers[i]), bits(buffers[0])) << what << ": replicas differ";
      EXPECT_EQ(bits(again[i]), bits(buffers[i])) << what << ": another run differs";
    }
  }
}

TEST_P(CrossDeviceOpsTest, EveryOpDtypeAndSize) {
  for (const OpsPtr& ops : all_ops())
    for (DType dtype :
         {DType::float32, DType::float64, DType::bfloat16, DType::float16, DType::int32, DType::int64})
      for (int64_t size : {0, 1, 2, 3, 7, 17, 1001, 33003}) {
        Tensors values;
        for (int replica = 0; replica < GetParam(); ++replica)
          values.push_back(values_of(replica, {size}, dtype, cpus(8)[static_cast<size_t>(replica)]));
        for (ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) check_in_place(*ops, op, values);
      }
}

/// The result goes to where it is wanted and the values stay as they are.
TEST_P(CrossDeviceOpsTest, ReduceToAnyDestinations) {
  for (const OpsPtr& ops : all_ops())
    for (const std::vector<Device>& destinations :
         {cpus(GetParam()), cpus(1), std::vector<Device>{"cpu:5"}}) {
      Tensors values;
      for (int replica = 0; replica < GetParam(); ++replica)
        values.push_back(values_of(replica, {3, 5}, DType::float32, cpus(8)[static_cast<size_t>(replica)]));
      const std::vector<char> before = bits(values[0]);
      const Tensors results = ops->reduce(ReduceOp::mean, values, destinations);
      ASSERT_EQ(results.size(), destinations.size());
      for (size_t i = 0; i < results.size(); ++i) {
        EXPECT_EQ(results[i].device(), destinations[i]);
        EXPECT_EQ(results[i].shape(), Shape({3, 5}));
        expect_near(results[i], expected(values, ReduceOp::mean), ops->name());
      }
      EXPECT_EQ(bits(values[0]), before) << ops->name() << " changed its input";
    }
}

TEST_P(CrossDeviceOpsTest, BatchReduceIsReduceOfEach) {
  std::vector<Tensors> entries;
  const std::pair<Shape, DType> kinds[] = {{{3, 5}, DType::float32}, {{}, DType::float64},
                                           {{7}, DType::float32},    {{2, 0}, DType::float32},
                                           {{4}, DType::int64},      {{1001}, DType::float32}};
  for (const auto& [shape, dtype] : kinds) {
    Tensors values;
    for (int replica = 0; replica < GetParam(); ++replica)
      values.push_back(values_of(replica, shape, dtype, cpus(8)[static_cast<size_t>(replica)]));
    entries.push_back(values);
  }
  for (const OpsPtr& ops : all_ops()) {
    const std::vector<Tensors> results = ops->batch_reduce(ReduceOp::sum, entries, cpus(GetParam()));
    ASSERT_EQ(results.size(), entries.size());
    for (size_t i = 0; i < entries.size(); ++i)
      for (int replica = 0; replica < GetParam(); ++replica) {
        const Tensor& result = results[i][static_cast<size_t>(replica)];
        EXPECT_EQ(result.shape(), entries[i][0].shape());
        EXPECT_EQ(result.device(), Device(DeviceKind::cpu, replica));
        expect_near(result, expected(entries[i], ReduceOp::sum), ops->name());
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Replicas, CrossDeviceOpsTest, ::testing::Range(1, 9));

TEST_F(CrossDeviceOpsTest, BroadcastAndGather) {
  for (const OpsPtr& ops : all_ops()) {
    const Tensors copies = ops->broadcast(Tensor{1, 2, 3}, cpus(3));
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(copies[static_cast<size_t>(i)].device(), Device(DeviceKind::cpu, i));
      EXPECT_EQ(copies[static_cast<size_t>(i)].to_vector<float>(), std::vector<float>({1, 2, 3}));
    }
    EXPECT_NE(copies[0].raw(), copies[1].raw());
    const Tensors parts{Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2}),
                        Tensor::from(std::vector<float>{5, 6}, {2, 1}, "cpu:1")};
    const Tensors wide = ops->gather(parts, cpus(2), -1);
    ASSERT_EQ(wide.size(), 2u);
    EXPECT_EQ(wide[1].device(), Device("cpu:1"));
    EXPECT_EQ(wide[1].shape(), Shape({2, 3}));
    EXPECT_EQ(wide[1].to_vector<float>(), std::vector<float>({1, 2, 5, 3, 4, 6}));
  }
}

TEST_F(CrossDeviceOpsTest, OnGhostDevices) {
  enable_ghost_device();
  const std::vector<std::vector<Device>> places{
      {"ghost:0", "ghost:1"}, {"ghost:0", "ghost:1", "ghost:2"}, {"cpu:0", "ghost:1", "cpu:1"}};
  for (const OpsPtr& ops : all_ops())
    for (const std::vector<Device>& devices : places)
      for (DType dtype : {DType::float32, DType::float64}) {
        Tensors values;
        for (size_t i = 0; i < devices.size(); ++i)
          values.push_back(values_of(static_cast<int>(i), {1001}, dtype, devices[i]));
        check_in_place(*ops, ReduceOp::sum, values);
        expect_near(ops->reduce(ReduceOp::sum, values, {"cpu:2"})[0], expected(values, ReduceOp::sum), "");
        const Tensors all = ops->gather(values, devices, 0);
        EXPECT_EQ(all[1].device(), devices[1]);
        EXPECT_EQ(all[1].shape(), Shape({1001 * static_cast<int64_t>(devices.size())}));
      }
}

TEST_F(CrossDeviceOpsTest, SixteenBitFloatsAreRoundedOnce) {
  // 256 + 1 is 256 in bfloat16; two ones come through only if they are added before rounding.
  for (const OpsPtr& ops : all_ops()) {
    Tensors values;
    for (float value : {256.0f, 1.0f, 1.0f})
      values.push_back(ops::cast(Tensor({value}), DType::bfloat16).alias_on(cpus(3)[values.size()]));
    const Tensor sum = ops->reduce(ReduceOp::sum, values, {"cpu:0"})[0];
    EXPECT_EQ(sum.dtype(), DType::bfloat16);
    EXPECT_EQ(doubles(sum), std::vector<double>{258.0}) << ops->name();
  }
}

TEST_F(CrossDeviceOpsTest, MeansOfIntegersAreRoundedDown) {
  const Tensors values{Tensor::from(std::vector<int64_t>{7, -7, (int64_t{1} << 60) + 1}),
                       Tensor::from(std::vector<int64_t>{0, 0, (int64_t{1} << 60) + 1})};
  const Tensor mean = DirectAllReduce().reduce(ReduceOp::mean, values, {"cpu:0"})[0];
  EXPECT_EQ(mean.to_vector<int64_t>(), std::vector<int64_t>({3, -4, (int64_t{1} << 60) + 1}));
}

TEST_F(CrossDeviceOpsTest, PacksAreEqualAndTheLastTakesTheRest) {
  const auto sizes = [](int64_t elements, int num_packs) {
    std::vector<std::pair<int64_t, int64_t>> list;
    for (const Pack& pack : packs_of(elements, num_packs)) list.emplace_back(pack.first, pack.count);
    return list;
  };
  using List = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(sizes(10, 1), List({{0, 10}}));
  EXPECT_EQ(sizes(10, 3), List({{0, 3}, {3, 3}, {6, 4}}));
  EXPECT_EQ(sizes(2, 3), List({{0, 2}}));
  EXPECT_EQ(sizes(0, 3), List());
}

/// Counts how often its algorithm runs and on how many elements.
class Counting final : public CrossDeviceOps {
 public:
  std::string name() const override { return "Counting"; }
  mutable std::vector<int64_t> sizes;

 protected:
  void sum_in_place(std::span<const Tensor> buffers, bool) const override {
    sizes.push_back(buffers[0].num_elements());
  }
};

TEST_F(CrossDeviceOpsTest, PackingDecidesHowManyReductionsThereAre) {
  std::vector<Tensors> entries;
  for (int64_t size : {4, 5, 1}) entries.push_back({Tensor::zeros({size}), Tensor::zeros({size})});
  const auto sizes = [&](int num_packs) {
    const Counting ops;
    packed_batch_reduce(ops, ReduceOp::sum, entries, cpus(2), num_packs);
    return ops.sizes;
  };
  EXPECT_EQ(sizes(0), std::vector<int64_t>({4, 5, 1}));
  EXPECT_EQ(sizes(1), std::vector<int64_t>({10}));
  EXPECT_EQ(sizes(3), std::vector<int64_t>({3, 3, 4}));
}

TEST_F(CrossDeviceOpsTest, Errors) {
  const DirectAllReduce ops;
  const Tensor vector = Tensor::zeros({2});
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { ops.reduce(ReduceOp::sum, {}, cpus(1)); }),
              HasSubstr("one value per replica"));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { ops.reduce(ReduceOp::sum, {vector}, {}); }),
              AllOf(HasSubstr("DirectAllReduce.reduce"), HasSubstr("destination")));
  EXPECT_THAT(error_text<ShapeError>([&] {
                ops.reduce(ReduceOp::sum, {vector, Tensor::zeros({3})}, cpus(1));
              }),
              AllOf(HasSubstr("(2,)"), HasSubstr("(3,)")));
  EXPECT_THAT(error_text<ShapeError>([&] {
                ops.reduce(ReduceOp::sum, {vector, Tensor::zeros({2}, DType::float64)}, cpus(1));
              }),
              HasSubstr("float64"));
  EXPECT_THROW(ops.reduce(ReduceOp::sum, {Tensor::zeros({2}, DType::uint8)}, cpus(1)), DTypeError);
  EXPECT_THAT(error_text<ShapeError>([&] { ops.gather({Tensor(1.0f)}, cpus(1), 0); }), HasSubstr("scalars"));
  EXPECT_THROW(ops.broadcast(vector, {}), InvalidArgumentError);
  const Tensors square{Tensor::zeros({2, 2}), Tensor::zeros({2, 2})};
  EXPECT_THAT(error_text<ShapeError>([&] { ops.all_reduce(ReduceOp::sum, square, true); }),
              HasSubstr("flat"));
  EXPECT_THAT(error_text<InvalidArgumentError>([] { HierarchicalCopyAllReduce({.num_packs = -1}); }),
              AllOf(HasSubstr("num_packs"), HasSubstr("-1")));
  EXPECT_THAT(error_text<InvalidArgumentError>([] { NcclAllReduce({.num_packs = -2}); }), HasSubstr("-2"));
  EXPECT_THROW(ReductionToOneDevice({.device = "cpu:99"}).check_devices(cpus(2)), DeviceNotFoundError);
}

TEST_F(CrossDeviceOpsTest, NcclSaysWhatToUseInstead) {
  const NcclAllReduce ops({.num_packs = 2});
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { ops.check_devices(cpus(2)); }),
              AllOf(HasSubstr("cpu:0"), HasSubstr("RingAllReduce")));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                ops.reduce(ReduceOp::sum, {Tensor{1}, Tensor{2}}, cpus(1));
              }),
              HasSubstr("DirectAllReduce"));
  if (nccl_is_built()) return;
  EXPECT_THAT(error_text<NotFoundError>([&] {
                ops.check_devices({"gpu:0", "gpu:1"});
              }),
              AllOf(HasSubstr("no NCCL"), HasSubstr("HierarchicalCopyAllReduce")));
}

TEST_F(CrossDeviceOpsTest, TheChoiceFollowsTheTable) {
  const auto chosen = [](const std::vector<Device>& devices) {
    return choose_cross_device_ops(devices)->name();
  };
  EXPECT_EQ(chosen({"ghost:0"}), "DirectAllReduce");
  EXPECT_EQ(chosen(cpus(2)), "DirectAllReduce");
  EXPECT_EQ(chosen(cpus(8)), "DirectAllReduce");
  EXPECT_EQ(chosen({"ghost:0", "ghost:1"}), "ReductionToOneDevice");
  EXPECT_EQ(chosen({"cpu:0", "ghost:1", "cpu:1"}), "ReductionToOneDevice");
  EXPECT_EQ(chosen({"ghost:0", "ghost:1", "ghost:2"}), "HierarchicalCopyAllReduce");
  EXPECT_EQ(chosen({"gpu:0", "gpu:1"}), nccl_is_built() ? "NcclAllReduce" : "ReductionToOneDevice");
  EXPECT_EQ(chosen({"gpu:0", "gpu:1", "gpu:2", "gpu:3"}),
            nccl_is_built() ? "NcclAllReduce" : "HierarchicalCopyAllReduce");
}

}  // namespace

}  // namespace nyala
