#include <cmath>
#include <string_view>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/update/update_formulas.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/tests/api/optimizers/bench.h>

// However an update is cut, wherever it runs: the same bits.
namespace nyala {

using namespace nyala::detail;
namespace {

const std::vector<Shape> kShapes = {{33, 17}, {17}, {5000}, {1}, {64}, {129, 65}};

/// Those whose formula is one op for a run of elements.
std::vector<Optimizer> elementwise_optimizers() {
  return {SGD({.learning_rate = 0.1,
               .momentum = 0.9,
               .nesterov = true,
               .weight_decay = 0.1,
               .global_clipnorm = 1.5}),
          SGD({.learning_rate = 0.1, .clipvalue = 0.4}),
          Adam({.learning_rate = 0.1, .amsgrad = true, .clipnorm = 0.9}),
          Adam({.learning_rate = 0.1, .use_ema = true, .ema_momentum = 0.7, .ema_overwrite_frequency = 3}),
          RMSprop({.learning_rate = 0.1, .momentum = 0.5, .centered = true}),
          RMSprop({.learning_rate = 0.1, .gradient_accumulation_steps = 3}),
          AdamW({.learning_rate = 0.1, .clipnorm = 0.9}),
          Adagrad({.learning_rate = 0.1, .global_clipnorm = 1.5}),
          Adadelta({.learning_rate = 0.1}),
          Adamax({.learning_rate = 0.1}),
          Nadam({.learning_rate = 0.1}),
          Ftrl({.learning_rate = 0.1, .l1_regularization_strength = 0.01}),
          Lion({.learning_rate = 0.1}),
          ScheduleFreeAdamW({.learning_rate = 0.1})};
}

/// Those whose formula has kernels of its own.
std::vector<Optimizer> optimizers_with_kernels() {
  std::vector<Optimizer> all = elementwise_optimizers();
  all.insert(all.end(), {Lamb({.learning_rate = 0.1, .weight_decay = 0.1, .clipnorm = 0.9}),
                         Adafactor({.learning_rate = 0.1, .clipvalue = 0.4})});
  return all;
}

/// All, also the one with products of matrices.
std::vector<Optimizer> optimizers() {
  std::vector<Optimizer> all = optimizers_with_kernels();
  all.insert(all.end(), {Adafactor({.learning_rate = 0.1, .use_ema = true}),
                         Muon({.learning_rate = 0.1, .adam_weight_decay = 0.2, .global_clipnorm = 1.5})});
  return all;
}

std::vector<double> trained(const Optimizer& optimizer, const BenchOptions& options) {
  Bench bench(optimizer, options);
  for (int step = 0; step < 7; ++step) bench.step(bench.gradients(step));
  std::vector<double> all;
  for (size_t v = 0; v < bench.variables.size(); ++v)
    for (double w : bench.weights(v)) all.push_back(w);
  for (const OptimizerVariable& value : optimizer.node().variables_for_file())
    for (double x : as_doubles(value.value)) all.push_back(x);
  return all;
}

TEST(OptimizerSlices, AnyNumberGivesTheSameBits) {
  const size_t kinds = optimizers().size();
  for (const DType dtype : {DType::float32, DType::float64})
    for (size_t kind = 0; kind < kinds; ++kind) {
      const std::vector<double> one = trained(optimizers()[kind], {.shapes = kShapes, .dtype = dtype});
      for (const int slices : {2, 3, 7, 40})
        EXPECT_EQ(trained(optimizers()[kind], {.shapes = kShapes, .dtype = dtype, .slices = slices}), one)
            << "optimizer " << kind << ", " << slices << " slices";
    }
}

TEST(OptimizerSlices, EveryCopyOfTheWeightsHasTheSameBits) {
  configure_logical_devices("cpu", 3);
  for (const Optimizer& optimizer : optimizers()) {
    Bench bench(optimizer, {.shapes = kShapes,
                            .dtype = DType::float32,
                            .devices = {"cpu:0", "cpu:1", "cpu:2"},
                            .share_weights = false});
    for (int step = 0; step < 5; ++step) bench.step(bench.gradients(step));
    for (size_t v = 0; v < kShapes.size(); ++v) {
      EXPECT_EQ(bench.weights(v, 1), bench.weights(v, 0));
      EXPECT_EQ(bench.weights(v, 2), bench.weights(v, 0));
    }
  }
}

TEST(OptimizerSlices, TheGhostDeviceGivesTheNumbersOfTheCpu) {
  enable_ghost_device();
  const size_t kinds = optimizers().size();
  for (size_t kind = 0; kind < kinds; ++kind) {
    const ScopedValue<std::string_view> reference(thread_context().only_kernel, "reference");
    const BenchOptions options{.shapes = kShapes, .dtype = DType::float64};
    BenchOptions on_ghost = options;
    on_ghost.devices = {"ghost:0"};
    on_ghost.slices = 2;
    EXPECT_EQ(trained(optimizers()[kind], on_ghost), trained(optimizers()[kind], options)) << kind;
  }
}

TEST(OptimizerSlices, EveryKernelAgreesWithTheReference) {
  const KernelTable& table = KernelTable::instance();
  ASSERT_FALSE(table.fast_kernels(ops::detail::update_op<formulas::Adam>(), DeviceKind::cpu).empty());
  const size_t kinds = optimizers_with_kernels().size();
  for (const Kernel& kernel : table.fast_kernels(ops::detail::update_op<formulas::Adam>(), DeviceKind::cpu))
    for (const DType dtype : {DType::float32, DType::float64})
      for (size_t kind = 0; kind < kinds; ++kind) {
        const std::vector<double> expected = [&] {
          const ScopedValue<std::string_view> only(thread_context().only_kernel, "reference");
          return trained(optimizers_with_kernels()[kind], {.shapes = kShapes, .dtype = dtype});
        }();
        if (dtype == DType::float64 && kind == 3) continue;  // its copies have no kernels for float64
        const ScopedValue<std::string_view> only(thread_context().only_kernel, kernel.name);
        const std::vector<double> got =
            trained(optimizers_with_kernels()[kind], {.shapes = kShapes, .dtype = dtype});
        ASSERT_EQ(got.size(), expected.size());
        const double tolerance = dtype == DType::float32 ? 2e-5 : 1e-12;
        for (size_t i = 0; i < got.size(); ++i)
          ASSERT_NEAR(got[i], expected[i], tolerance * (1 + std::abs(expected[i])))
              << kernel.name << " optimizer " << kind << " element " << i;
      }
}

/// Storages that three warm updates ask the allocator for, and what that asks the system for.
AllocatorStats taken_by_warm_updates(const Optimizer& optimizer) {
  Bench bench(optimizer, {.shapes = kShapes, .dtype = DType::float32});
  for (int step = 0; step < 4; ++step) bench.step(bench.gradients(step));
  BaseOptimizer& node = optimizer.node();
  const AllocatorStats before = allocator_stats(Device{});
  for (int step = 0; step < 3; ++step) {
    if (!node.begin_step()) {
      node.end_gathering();
      continue;
    }
    node.apply({bench.store.get(), 0, 0, {}, 1});
    node.end_step();
  }
  const AllocatorStats after = allocator_stats(Device{});
  return {.requests = after.requests - before.requests,
          .system_allocations = after.system_allocations - before.system_allocations};
}

TEST(OptimizerSlices, AWarmUpdateTakesNoMemory) {
  for (const Optimizer& optimizer : elementwise_optimizers())
    EXPECT_EQ(taken_by_warm_updates(optimizer).requests, 0u);
  for (const Optimizer& optimizer : optimizers()) {
    const AllocatorStats taken = taken_by_warm_updates(optimizer);
    EXPECT_EQ(taken.system_allocations, 0u) << optimizer.node().class_name();
    // Scratch memory of what looks at whole variables: one piece for each, with products of matrices more.
    const uint64_t scratch = optimizer.node().class_name() == "Muon" ? 2 * (5 + 5 * 3) : kShapes.size();
    EXPECT_LE(taken.requests, 3 * scratch) << optimizer.node().class_name();
  }
}

TEST(OptimizerSlices, AnErrorInAThreadComesBack) {
  class Failing final : public OptimizerNode {
   public:
    Failing() : OptimizerNode({}) {}
    std::string class_name() const override { return "Failing"; }
    void fields(FieldVisitor&) override {}
    std::vector<std::string> slot_names() const override { return {}; }
    std::vector<double> step_scalars(int64_t, double, DType) const override { return {}; }
    void update(const UpdateRange&) const override { throw NumericError("no"); }
  };
  Bench bench(Optimizer(std::make_shared<Failing>()), {.slices = 3});
  EXPECT_THROW(bench.step(bench.gradients(0)), NumericError);
}

}  // namespace
}  // namespace nyala
