// One function on slices of its inputs: values, gradients, state and errors are those of one call.
#include <gtest/gtest.h>

#include <thread>

#include <nyala/api/parallel/device_slices.h>
#include <nyala/nyala.h>

namespace nyala::device_slices_test {

using namespace nyala::detail;
namespace {

Tensor counting(const Shape& shape, Device device = {}) {
  std::vector<double> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.25 * static_cast<double>(i) - 1.0;
  return Tensor::from(values, shape, device);
}

std::vector<Device> cpus(int count) {
  configure_logical_devices("cpu", count);
  return list_logical_devices("cpu");
}

/// Values and gradients of a computation whose tape watches `x`.
struct Derived {
  std::vector<std::vector<double>> outputs, gradients;
};

Derived derive(const Tensors& given, const std::function<Tensors(Call&, const Tensors&)>& outputs_of) {
  GradientTape tape;
  Tensors x;
  for (const Tensor& tensor : given) x.push_back(tape.watch(tensor));
  Call call({.tape = thread_context().tape, .step = {}});
  Derived derived;
  Tensor target;
  double weight = 1.0;
  for (const Tensor& output : outputs_of(call, x)) {
    derived.outputs.push_back(output.to_vector<double>());
    const Tensor part = ops::sum(ops::square(output)) * weight;
    target = target.defined() ? target + part : part;
    weight += 0.5;
  }
  for (const Tensor& loss : call.losses()) {
    derived.outputs.push_back(loss.to_vector<double>());
    target = target + loss;
  }
  for (const Tensor& gradient : tape.gradient(target, x))
    derived.gradients.push_back(gradient.to_vector<double>());
  return derived;
}

void expect_close(const Derived& received, const Derived& expected) {
  auto close = [](const auto& a, const auto& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].size(), b[i].size());
      for (size_t k = 0; k < a[i].size(); ++k)
        EXPECT_NEAR(a[i][k], b[i][k], 1e-12 * (1.0 + std::abs(b[i][k])));
    }
  };
  close(received.outputs, expected.outputs);
  close(received.gradients, expected.gradients);
}

TEST(DeviceSlices, ValuesAndGradientsOfSeveralOutputsAreThoseOfOneCall) {
  const auto work = [](Call&, const Tensors& x) -> Tensors {
    return {ops::tanh(x[0] * x[1]), x[1] + 2.0 * x[0]};
  };
  for (int count : {1, 2, 3, 5})
    for (int64_t rows : {1, 4, 7}) {
      const Tensors x = {counting({rows, 3}), counting({rows, 3}) * 0.5};
      const DeviceSlices slices({.devices = cpus(count)});
      expect_close(derive(x, [&](Call& c, const Tensors& in) { return slices.run(c, in, work); }),
                   derive(x, work));
    }
}

TEST(DeviceSlices, AnotherAxisIsCutAndJoined) {
  const auto work = [](Call&, const Tensors& x) -> Tensors { return {ops::square(x[0])}; };
  const Tensors x = {counting({2, 5, 3})};
  const DeviceSlices slices({.devices = cpus(3), .axis = 1});
  expect_close(derive(x, [&](Call& c, const Tensors& in) { return slices.run(c, in, work); }),
               derive(x, work));
}

TEST(DeviceSlices, CollectivesOfTheSlicesWorkBothWays) {
  const auto alone = [](Call&, const Tensors& x) -> Tensors {
    return {ops::detail::batch_normalization_train(x[0], {}, {}).y};
  };
  const auto together = [](Call& c, const Tensors& x) -> Tensors {
    return {ops::detail::batch_normalization_train(x[0], {}, {}, {.replica = c.replica()}).y};
  };
  const Tensors x = {ops::square(counting({7, 2}))};
  const DeviceSlices slices({.devices = cpus(3)});
  expect_close(derive(x, [&](Call& c, const Tensors& in) { return slices.run(c, in, together); }),
               derive(x, alone));
}

TEST(DeviceSlices, AddedLossesCountByTheirShareOfRows) {
  const auto work = [](Call& c, const Tensors& x) -> Tensors {
    c.add_loss(ops::mean(ops::square(x[0])));
    return {x[0] * 3.0};
  };
  const Tensors x = {counting({7, 2})};
  const DeviceSlices slices({.devices = cpus(3)});
  expect_close(derive(x, [&](Call& c, const Tensors& in) { return slices.run(c, in, work); }),
               derive(x, work));
}

TEST(DeviceSlices, OutputsLieOnTheirDeviceAndEveryDeviceWorks) {
  const std::vector<Device> devices = cpus(3);
  const DeviceSlices slices({.devices = devices, .output_device = devices[2]});
  std::vector<Device> seen(3);
  Call call;
  const Tensors out = slices.run(call, {counting({7, 2})}, [&](Call& c, const Tensors& x) -> Tensors {
    seen[static_cast<size_t>(c.replica()->replica_id())] = x[0].device();
    EXPECT_EQ(thread_context().device, x[0].device());
    EXPECT_EQ(c.options().global_rows, 7);
    return {x[0]};
  });
  EXPECT_EQ(out[0].device(), devices[2]);
  EXPECT_EQ(seen, devices);
}

TEST(DeviceSlices, MoreDevicesThanRowsLeaveSomeWithoutWork) {
  const DeviceSlices slices({.devices = cpus(4)});
  Call call;
  const Tensor x = counting({2, 3});
  const Tensors out =
      slices.run(call, {x}, [](Call&, const Tensors& in) -> Tensors { return {in[0] * 2.0}; });
  EXPECT_EQ(out[0].to_vector<double>(), (x * 2.0).to_vector<double>());
  const Tensors none =
      slices.run(call, {counting({0, 3})}, [](Call&, const Tensors& in) -> Tensors { return in; });
  EXPECT_EQ(none[0].shape(), (Shape{0, 3}));
}

TEST(DeviceSlices, TheFirstErrorNamesItsSliceAndTheObjectStaysUsable) {
  const DeviceSlices slices({.devices = cpus(3)});
  Call call;
  try {
    slices.run(call, {counting({6, 2})}, [](Call& c, const Tensors& x) -> Tensors {
      if (c.replica()->replica_id() == 1) throw NumericError("this one fails");
      return {c.replica()->all_reduce_sum(x[0])};
    });
    FAIL() << "nothing was thrown";
  } catch (const NumericError& error) {
    EXPECT_STREQ(error.what(), "slice 1 on cpu:1: this one fails");
  }
  EXPECT_EQ(
      slices.run(call, {counting({6, 2})}, [](Call&, const Tensors& x) -> Tensors { return x; })[0].shape(),
      (Shape{6, 2}));
}

TEST(DeviceSlices, InputsThatCannotBeCutTogetherAreRefused) {
  const DeviceSlices slices({.devices = cpus(2)});
  const auto work = [](Call&, const Tensors& x) -> Tensors { return x; };
  Call call;
  EXPECT_THROW(slices.run(call, {counting({4, 2}), counting({3, 2})}, work), ShapeError);
  EXPECT_THROW(slices.run(call, {Tensor(1.0f)}, work), ShapeError);
  EXPECT_THROW(slices.run(call, {}, work), InvalidArgumentError);
  EXPECT_THROW(slices.run(call, {counting({4, 2})},
                          [](Call&, const Tensors& x) -> Tensors { return {ops::sum(x[0])}; }),
               ShapeError);
  EXPECT_THROW(DeviceSlices({.devices = {}}), InvalidArgumentError);
  EXPECT_THROW(DeviceSlices({.devices = {"cpu:0", "cpu:9"}}), DeviceNotFoundError);
}

TEST(DeviceSlices, CallersFromSeveralThreadsTakeTurns) {
  const DeviceSlices slices({.devices = cpus(2)});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&slices, i] {
      const Tensor x = counting({5, 2}) + static_cast<double>(i);
      for (int repeat = 0; repeat < 20; ++repeat) {
        Call call;
        const Tensors out =
            slices.run(call, {x}, [](Call&, const Tensors& in) -> Tensors { return {in[0] * 2.0}; });
        EXPECT_EQ(out[0].to_vector<double>(), (x * 2.0).to_vector<double>());
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(DeviceSlices, GhostDevicesComputeTheSame) {
  enable_ghost_device();
  const auto work = [](Call&, const Tensors& x) -> Tensors { return {ops::tanh(x[0] * x[1])}; };
  const Tensors x = {counting({5, 3}), counting({5, 3}) * 0.5};
  const DeviceSlices slices({.devices = {"ghost:0", "ghost:1"}});
  expect_close(derive(x, [&](Call& c, const Tensors& in) { return slices.run(c, in, work); }),
               derive(x, work));
}

TEST(DeviceSlices, DevicesWithMemoryOfTheirOwnFetchWeightsAndReturnGradients) {
  enable_ghost_device();
  configure_logical_devices("cpu", 1);
  set_random_seed(1);
  const Sequential net({Input({3}), Dense(4, {.activation = "tanh"}), BatchNormalization(), Dense(2)});
  const Tensor x = ops::random_normal({7, 3}, 0.0, 1.0, {.key = 1});
  const DeviceSlices slices({.devices = {"ghost:0", "ghost:1"}});
  auto gradients_of = [&](bool sliced) {
    GradientTape tape;
    Call call({.training = true, .tape = thread_context().tape, .rows = 7, .global_rows = 7, .step = {}});
    const DeviceSlices::Work work = [&](Call& c, const Tensors& in) -> Tensors { return {net(c, in[0])}; };
    const Tensors out = sliced ? slices.run(call, {x}, work) : work(call, {x});
    EXPECT_EQ(call.assignments().size(), 2u);
    return tape.gradient(ops::mean(ops::square(out[0] - 1.0)), net.trainable_variables());
  };
  const Tensors expected = gradients_of(false), received = gradients_of(true);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(received[i].device(), Device("cpu:0"));
    const auto a = received[i].to_vector<float>(), b = expected[i].to_vector<float>();
    for (size_t k = 0; k < b.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-5) << i;
  }
}

}  // namespace
}  // namespace nyala::device_slices_test
