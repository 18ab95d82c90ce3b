#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/update/update_formulas.h>
#include <nyala/backend/ops/update/whole_updates.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

struct Update {
  const OpDef* op;
  std::vector<double> numbers;  // of the formula
};

std::vector<Update> updates() {
  const std::vector<double> rmsprop = {0.01, 0.9, 0.1, 1e-3, 0.5};
  return {{&ops::detail::update_op<formulas::Sgd>(), {0.1}},
          {&ops::detail::update_op<formulas::PlainMomentum>(), {0.1, 0.9}},
          {&ops::detail::update_op<formulas::NesterovMomentum>(), {0.1, 0.9}},
          {&ops::detail::update_op<formulas::Adam>(), {0.01, 0.1, 0.001, 1e-3}},
          {&ops::detail::update_op<formulas::AdamAmsgrad>(), {0.01, 0.1, 0.001, 1e-3}},
          {&ops::detail::update_op<formulas::Rmsprop>(), rmsprop},
          {&ops::detail::update_op<formulas::RmspropMomentum>(), rmsprop},
          {&ops::detail::update_op<formulas::RmspropCentered>(), rmsprop},
          {&ops::detail::update_op<formulas::RmspropMomentumCentered>(), rmsprop},
          {&ops::detail::update_op<formulas::Adagrad>(), {0.1, 1e-3}},
          {&ops::detail::update_op<formulas::Adadelta>(), {0.1, 0.9, 0.1, 1e-3}},
          {&ops::detail::update_op<formulas::Adamax>(), {0.01, 0.1, 0.99, 0.5, 1e-3}},
          {&ops::detail::update_op<formulas::Nadam>(), {0.01, 0.1, 0.001, 0.5, 0.7, 0.5, 0.5, 0.1, 1e-3}},
          {&ops::detail::update_op<formulas::Ftrl>(), {0.1, 0.5, 0.01, 0.02, 0.03}},
          {&ops::detail::update_op<formulas::Lion>(), {0.01, 0.9, 0.1, 0.99, 0.01}},
          {&ops::detail::update_op<formulas::ScheduleFreeAdamw>(), {0.01, 0.9, 0.001, 0.5, 1e-3, 0.25}},
          {&ops::kLambUpdate, {0.01, 0.1, 0.001, 0.5, 0.1, 1e-3}},
          {&ops::kPrepareUpdate, {}}};
}

Tensor scalars_with(std::vector<double> numbers) {
  numbers.insert(numbers.begin(), {0.5, 0.02, 0.9});
  const int64_t count = static_cast<int64_t>(numbers.size());
  return tensor_of(numbers, {count}, DType::float64);
}

/// Gradient, factor, scalars, weight, slots; the slots are such that every root is of something positive.
Tensors inputs_of(const Update& update, int64_t count) {
  Tensors inputs = {random_tensor({count}, 1), tensor_of({0.75}, {1}, DType::float64),
                    scalars_with(update.numbers), random_tensor({count}, 2)};
  for (size_t slot = 1; slot < update.op->num_outputs; ++slot)
    inputs.push_back(random_tensor({count}, 10 + slot, slot == 1 ? 2.0 : 0.1, slot == 1 ? 3.0 : 0.5));
  return inputs;
}

/// Output `which` after an update of copies of the inputs.
OpFunction updated(const OpDef& op, const Descriptor& descriptor, size_t which) {
  return [&op, descriptor, which](const Tensors& inputs) {
    const Tensor gradient = inputs[0].detached(), factor = inputs[1].detached(),
                 scalars = inputs[2].detached();
    Tensors outputs;
    for (size_t i = 3; i < inputs.size(); ++i) outputs.push_back(inputs[i].clone());
    const Tensor* const given[] = {&gradient, &factor, &scalars};
    dispatch(op, descriptor, given, outputs);
    return outputs[which];
  };
}

TEST(OptimizerUpdates, EachFormulaOfTheListIsAnOpALoopAndTested) {
  const std::vector<Update> tested = updates();
  for (const OpDef& op : ops::detail::kFormulaUpdates) {
    EXPECT_TRUE(std::ranges::any_of(tested, [&](const Update& u) { return u.op == &op; })) << op.name;
    EXPECT_FALSE(KernelTable::instance().fast_kernels(op, DeviceKind::cpu).empty()) << op.name;
  }
  EXPECT_EQ(ops::detail::update_op<formulas::Lion>().name, "lion_update");
  EXPECT_EQ(ops::detail::update_op<formulas::NesterovMomentum>().name, "sgd_nesterov_update");
}

const ops::UpdateDescriptor kPrepared = {.decay = 1.0, .clip_value = 0.3};

TEST(OptimizerUpdates, KernelsAgree) {
  for (const Update& update : updates())
    for (const int64_t count : {0, 7, 64, 70001})
      for (size_t which = 0; which < update.op->num_outputs; ++which) {
        SCOPED_TRACE(std::string(update.op->name) + " of " + std::to_string(count) + ", output " +
                     std::to_string(which));
        const Tensors inputs = inputs_of(update, count);
        // Ftrl takes roots of nearly equal numbers from each other.
        const Tolerance tolerance = {
            .relative = 1e-5,
            .absolute = update.op == &ops::detail::update_op<formulas::Ftrl>() ? 1e-4 : 1e-6};
        expect_kernels_agree(updated(*update.op, ops::UpdateDescriptor{}, which), inputs, tolerance);
        expect_kernels_agree(updated(*update.op, kPrepared, which), inputs, tolerance);
      }
}

void expect_update_agrees(const Update& update, const Descriptor& descriptor, int64_t count) {
  for (size_t which = 0; which < update.op->num_outputs; ++which) {
    SCOPED_TRACE(std::string(update.op->name) + " of " + std::to_string(count) + ", output " +
                 std::to_string(which));
    expect_kernels_agree(updated(*update.op, descriptor, which), inputs_of(update, count),
                         {.relative = 1e-5, .absolute = 1e-6});
  }
}

TEST(OptimizerUpdates, AdafactorKernelsAgree) {
  struct Sizes {
    int64_t matrices, rows, columns;
  };
  const Update update = {&ops::kAdafactorUpdate, {0.01, 0.9, 0.1}};
  for (const auto& [matrices, rows, columns] :
       {Sizes{1, 1, 1}, {1, 300, 170}, {9, 5, 7}, {2, 1, 33}, {3, 40, 1}, {1, 3, 20000}, {1, 20000, 3}})
    expect_update_agrees(update,
                         ops::AdafactorDescriptor{kPrepared, matrices, rows, columns, 1e-30, 1e-3, 0.5},
                         matrices * rows * columns);
  for (const int64_t count : {0, 1, 7, 70001})
    expect_update_agrees(update, ops::AdafactorDescriptor{{}, 1, 0, 0, 1e-30, 1e-3, 1.0}, count);
  EXPECT_THROW(updated(*update.op, ops::AdafactorDescriptor{kPrepared, 2, 3, 4, 0.0, 0.0, 1.0},
                       0)(inputs_of(update, 23)),
               ShapeError);
}

TEST(OptimizerUpdates, MuonKernelsAgree) {
  for (const bool nesterov : {false, true})
    for (const int64_t count : {1, 7, 70001})
      expect_update_agrees({&ops::kMuonMomentum, {}}, ops::MuonMomentumDescriptor{kPrepared, 0.9, nesterov},
                           count);
  for (const int64_t side : {1, 3, 190}) {
    const Tensors inputs = {random_tensor({side, side}, 1), random_tensor({side, side}, 2)};
    const OpFunction polynomial = [](const Tensors& t) {
      const Tensor a = t[0].detached(), p = t[1].clone();
      dispatch_into(ops::kMuonPolynomial, ops::MuonPolynomialDescriptor{3.0, -0.5, 2.0}, {&a}, p);
      return p;
    };
    expect_kernels_agree(polynomial, inputs);
    const std::vector<double> a = values_of(inputs[0]), square = values_of(inputs[1]),
                              got = values_of(polynomial(inputs));
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], (i % static_cast<size_t>(side + 1) == 0 ? 3.0 : 0.0) - 0.5 * a[i] + 2.0 * square[i],
                  1e-6 * (1 + std::abs(got[i])));
  }
  for (const int64_t count : {1, 7, 70001})
    expect_kernels_agree(
        [](const Tensors& t) {
          const Tensor step = t[0].detached(), scalars = t[1].detached(), weight = t[2].clone();
          dispatch_into(ops::kMuonStep, ops::MuonStepDescriptor{0.5, 1}, {&step, &scalars}, weight);
          return weight;
        },
        {random_tensor({count}, 1), scalars_with({7.0, 0.25}), random_tensor({count}, 2)});
}

TEST(OptimizerUpdates, AveragesAndSquares) {
  for (const int64_t count : {0, 1, 15, 16, 17, 1023, 1024, 1025, 70001}) {
    const Tensors inputs = {random_tensor({count}, 3), scalars_with({}), random_tensor({count}, 4)};
    expect_kernels_agree(
        [](const Tensors& t) {
          const Tensor weight = t[0].detached(), scalars = t[1].detached(), average = t[2].clone();
          dispatch_into(ops::kMovingAverage, NoDescriptor{}, {&weight, &scalars}, average);
          return average;
        },
        inputs);
    const OpFunction squares = [](const Tensors& t) {
      const Tensor x = t[0].detached();
      return dispatch(ops::kSquaredSums, NoDescriptor{}, {&x});
    };
    expect_kernels_agree(squares, inputs, {.relative = 1e-13, .absolute = 1e-13});
    double expected = 0, got = 0;
    for (double value : values_of(inputs[0])) expected += value * value;
    for (double part : values_of(squares(inputs))) got += part;
    EXPECT_NEAR(got, expected, 1e-9 * (1 + expected));
  }
}

TEST(OptimizerUpdates, ClipFactors) {
  const Tensors inputs = {tensor_of({9, 16, 0, 1, 3}, {5}, DType::float64), scalars_with({}),
                          tensor_of({0, 2, 3, 5}, {4}, DType::int64)};
  const auto factors = [](double limit, bool global) {
    return [=](const Tensors& t) {
      const Tensor sums = t[0].detached(), scalars = t[1].detached(), offsets = t[2].detached();
      return dispatch(ops::kClipFactors, ops::ClipFactorsDescriptor{limit, global},
                      {&sums, &offsets, &scalars});
    };
  };
  // The scale is 0.5: norms 5, 0 and 2 are 2.5, 0 and 1.
  expect_close(factors(1.25, false)(inputs), tensor_of({0.25, 0.5, 0.5}, {3}, DType::float64));
  expect_close(factors(1.25, true)(inputs), tensor_of({0.25, 0.5, 0.5}, {3}, DType::float64));
  expect_kernels_agree(factors(1.25, false), inputs);
  expect_kernels_agree(factors(0.5, true), inputs);
}

TEST(OptimizerUpdates, WrongTensorsAreRefused) {
  const Tensors inputs = inputs_of(updates()[0], 4);
  const Tensor factor32 = tensor_of({1.0}, {1}), flat = inputs[0], square = inputs[0].with_shape({2, 2});
  Tensor out = inputs[3].clone();
  const auto run = [&](const Tensor& gradient, const Tensor& factor, Tensor weight) {
    dispatch_into(ops::detail::update_op<formulas::Sgd>(), ops::UpdateDescriptor{},
                  {&gradient, &factor, &inputs[2]}, weight);
  };
  EXPECT_THROW(run(flat, factor32, out), ShapeError);
  EXPECT_THROW(run(square, inputs[1], out), ShapeError);
  EXPECT_THROW(run(flat, inputs[1], random_tensor({5}, 1)), ShapeError);
  EXPECT_NO_THROW(run(flat, inputs[1], out));
}

}  // namespace
}  // namespace nyala::testing
