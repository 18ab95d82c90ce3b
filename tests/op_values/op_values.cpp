#include <gtest/gtest.h>

#include <nyala/api/base/names.h>
#include <nyala/api/layers/core/input.h>
#include <nyala/api/model/model.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/core/tape.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/tests/golden/golden_data.h>
#include <nyala/tests/golden/gradients.h>
#include <nyala/tests/op_values/op_values.h>

namespace nyala::golden {

namespace {

Tolerance tolerance_of(const Json& entry) {
  if (!entry.contains("tolerance")) return {};
  return {.absolute = number(entry.at("tolerance").at(0)), .relative = number(entry.at("tolerance").at(1))};
}

void expect_results(const Tensors& got, const Json& entry, const std::string& what) {
  const Json& expected = entry.at("y");
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    const std::string place = what + ", result " + std::to_string(i);
    ASSERT_TRUE(got[i].defined()) << place;
    EXPECT_EQ(name_of(got[i].dtype()), expected.at(i).value("dtype", "float32")) << place;
    expect_close(got[i], expected.at(i), place, tolerance_of(entry));
  }
}

/// The sum of the floating results, each times its upstream gradient.
Tensor weighted_sum(const Tensors& results, const Tensors& upstream) {
  Tensor total;
  size_t i = 0;
  for (const Tensor& result : results) {
    if (!is_floating(result.dtype())) continue;
    const Tensor part = ops::sum(result * ops::cast(upstream.at(i++), result.dtype()));
    total = total.defined() ? total + part : part;
  }
  return total;
}

void check_gradients(const OpCase& one, const Json& entry) {
  Tensors x = tensors(entry.at("x"));
  Tape tape;
  std::vector<int32_t> leaves;
  for (Tensor& input : x) {
    if (!is_floating(input.dtype())) continue;
    leaves.push_back(static_cast<int32_t>(leaves.size()));
    input = tape.watch(input, leaves.back());
  }
  GradientMap found;
  const Tensor total = weighted_sum(one.function(x), tensors(entry.at("upstream")));
  const Json& expected = entry.at("gradients");
  ASSERT_EQ(leaves.size(), expected.size());
  if (total.defined() && total.tape() == &tape) backward(tape, total, found);
  Tolerance tolerance = tolerance_of(entry);
  tolerance.absolute *= 5;
  tolerance.relative *= 5;
  for (const int32_t leaf : leaves) {
    const Json& wanted = expected.at(static_cast<size_t>(leaf));
    const std::string what = "gradient of floating input " + std::to_string(leaf);
    EXPECT_EQ(found.has(leaf), !wanted.is_null()) << what << ": only one of us and Keras has one";
    if (found.has(leaf) && !wanted.is_null()) expect_close(found.of(leaf), wanted, what, tolerance);
  }
}

void check_on_ghost(const OpCase& one, const Json& entry) {
  enable_ghost_device();
  const Device ghost("ghost:0");
  Tensors x = tensors(entry.at("x"));
  for (Tensor& input : x) input = input.to(ghost);
  const DeviceGuard guard(ghost);
  Tensors results = one.function(x);
  for (Tensor& result : results) result = result.to(Device());
  expect_results(results, entry, "on ghost:0");
}

Tensors called(const Model& model, const Tensors& x) {
  const Outputs results = model.call_all(x);
  return {results.begin(), results.end()};
}

void check_models(const OpCase& one, const Json& entry) {
  clear_session();
  const Tensors x = tensors(entry.at("x"));
  Tensors symbols;
  for (const Tensor& input : x) {
    const Shape& shape = input.shape();
    symbols.push_back(Input({.shape = shape.slice(1, shape.rank()),
                             .batch_size = shape[0],
                             .dtype = std::string(name_of(input.dtype()))}));
  }
  const Model model(symbols, one.function(symbols));
  expect_results(called(model, x), entry, "in a model");
  expect_results(called(model_from_json(model.to_json()), x), entry, "in our model written and read");
  expect_results(called(model_from_json(entry.at("model").dump()), x), entry, "in Keras' model");
}

void check(const OpCase& one, const Json& entry) {
  SCOPED_TRACE(one.name);
  ASSERT_EQ(entry.at("case").as_string(), one.name);
  try {
    expect_results(one.function(tensors(entry.at("x"))), entry, "results");
    if (entry.contains("gradients")) check_gradients(one, entry);
    check_on_ghost(one, entry);
    if (entry.contains("model")) check_models(one, entry);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
}

}  // namespace

void expect_op_values(const std::string& file, std::span<const OpCase> cases) {
  const Json golden = load(file);
  ASSERT_EQ(golden.at("cases").size(), cases.size()) << file;
  for (size_t i = 0; i < cases.size(); ++i) check(cases[i], golden.at("cases").at(i));
}

}  // namespace nyala::golden
