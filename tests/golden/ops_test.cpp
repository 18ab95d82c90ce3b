// Ops between layers, as Keras names and writes them, and back from a file.
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/saving/config/model_json.h>
#include <nyala/api/saving/ops/op_table.h>
#include <nyala/nyala.h>
#include <nyala/tests/support/scratch_folder.h>
#include <nyala/tests/golden/golden_data.h>

namespace nyala::golden::ops_test {
namespace {

struct Case {
  const char* name;
  Tensor (*function)(const Tensor&);
};

/// Those of areas/ops.py, in their order.
constexpr Case kCases[] = {
    {"x + 2", [](const Tensor& x) { return x + 2; }},
    {"x - 2", [](const Tensor& x) { return x - 2; }},
    {"2 - x", [](const Tensor& x) { return 2 - x; }},
    {"x * 2", [](const Tensor& x) { return x * 2; }},
    {"-x", [](const Tensor& x) { return -x; }},
    {"x / x", [](const Tensor& x) { return x / x; }},
    {"x ** 2", [](const Tensor& x) { return ops::power(x, 2); }},
    {"x != 2", [](const Tensor& x) { return x != 2; }},
    {"isclose",
     [](const Tensor& x) { return ops::isclose(x, x, {.rtol = 1e-3, .atol = 1e-2, .equal_nan = true}); }},
    {"where", [](const Tensor& x) { return ops::where(x > 0, x, 0.5); }},
    {"exp", [](const Tensor& x) { return ops::exp(x); }},
    {"round", [](const Tensor& x) { return ops::round(x); }},
    {"clip", [](const Tensor& x) { return ops::clip(x, -0.5, 1.5); }},
    {"rsqrt", [](const Tensor& x) { return ops::rsqrt(x); }},
    {"relu", [](const Tensor& x) { return ops::relu(x); }},
    {"relu6", [](const Tensor& x) { return ops::relu6(x); }},
    {"leaky_relu", [](const Tensor& x) { return ops::leaky_relu(x, 0.3); }},
    {"elu", [](const Tensor& x) { return ops::elu(x, 0.5); }},
    {"selu", [](const Tensor& x) { return ops::selu(x); }},
    {"celu", [](const Tensor& x) { return ops::celu(x, 0.7); }},
    {"gelu", [](const Tensor& x) { return ops::gelu(x, true); }},
    {"exact gelu", [](const Tensor& x) { return ops::gelu(x, false); }},
    {"silu", [](const Tensor& x) { return ops::silu(x); }},
    {"log_sigmoid", [](const Tensor& x) { return ops::log_sigmoid(x); }},
    {"hard_silu", [](const Tensor& x) { return ops::hard_silu(x); }},
    {"hard_tanh", [](const Tensor& x) { return ops::hard_tanh(x); }},
    {"tanh_shrink", [](const Tensor& x) { return ops::tanh_shrink(x); }},
    {"soft_shrink", [](const Tensor& x) { return ops::soft_shrink(x, 0.3); }},
    {"hard_shrink", [](const Tensor& x) { return ops::hard_shrink(x, 0.3); }},
    {"threshold", [](const Tensor& x) { return ops::threshold(x, 0.1, -2.0); }},
    {"squareplus", [](const Tensor& x) { return ops::squareplus(x, 2.0); }},
    {"sparse_plus", [](const Tensor& x) { return ops::sparse_plus(x); }},
    {"sparse_sigmoid", [](const Tensor& x) { return ops::sparse_sigmoid(x); }},
    {"sparsemax", [](const Tensor& x) { return ops::sparsemax(x); }},
    {"softmax", [](const Tensor& x) { return ops::softmax(x); }},
    {"log_softmax", [](const Tensor& x) { return ops::log_softmax(x); }},
    {"one_hot", [](const Tensor& x) { return ops::one_hot(ops::argmax(x, 2), 6); }},
    {"top_k", [](const Tensor& x) { return ops::top_k(x, 2).values; }},
    {"in_top_k",
     [](const Tensor& x) {
       const auto row = [&](int i) { return ops::squeeze(ops::slice_axis(x, 1, {i, i + 1, 1}), {1}); };
       return ops::in_top_k(ops::argmax(row(0), 1), row(1), 2);
     }},
    {"mean", [](const Tensor& x) { return ops::mean(x, {1}, true); }},
    {"max", [](const Tensor& x) { return ops::max(x, {1}); }},
    {"prod", [](const Tensor& x) { return ops::prod(x, {1}); }},
    {"any", [](const Tensor& x) { return ops::any(x > 1, {1}); }},
    {"logsumexp", [](const Tensor& x) { return ops::logsumexp(x, {1}); }},
    {"argmin", [](const Tensor& x) { return ops::argmin(x, 1); }},
    {"matmul",
     [](const Tensor& x) {
       return ops::matmul(x, ops::transpose(x, {0, 2, 1}));
     }},
    {"einsum",
     [](const Tensor& x) {
       return ops::einsum("bij,bkj->bik", {x, x});
     }},
    {"full_like", [](const Tensor& x) { return ops::full_like(x, 3); }},
    {"reshape",
     [](const Tensor& x) {
       return ops::reshape(x, {-1, 24});
     }},
    {"transpose",
     [](const Tensor& x) {
       return ops::transpose(x, {0, 2, 1});
     }},
    {"expand_dims", [](const Tensor& x) { return ops::expand_dims(x, 1); }},
    {"squeeze",
     [](const Tensor& x) {
       return ops::squeeze(ops::slice_axis(x, 1, {0, 1, 1}), {1});
     }},
    {"concatenate",
     [](const Tensor& x) {
       return ops::concatenate({x, x}, 1);
     }},
    {"repeat", [](const Tensor& x) { return ops::repeat(x, 2, 1); }},
    {"tile",
     [](const Tensor& x) {
       return ops::tile(x, {1, 2, 1});
     }},
    {"pad",
     [](const Tensor& x) {
       return ops::pad(x, {{0, 0}, {1, 2}, {0, 1}}, "reflect");
     }},
    {"take",
     [](const Tensor& x) {
       return ops::take(x, Tensor::from(std::vector<int32_t>{0, 2}, {2}), 1);
     }},
    {"take_along_axis",
     [](const Tensor& x) { return ops::take_along_axis(x, ops::cast(x > 0, DType::int32), 1); }},
    {"x[:, 1:3]",
     [](const Tensor& x) {
       return ops::slice_axis(x, 1, {1, 3, 1});
     }},
    {"cast", [](const Tensor& x) { return ops::cast(x, DType::int32); }},
};

class Ops : public ::testing::Test {
 protected:
  static const Json& golden() {
    static const Json& read = *new Json(load("ops.json"));
    return read;
  }
  /// A model of the function alone.
  static Model traced(const Case& of) {
    clear_session();
    const Input x({4, 6});
    return Model(x, of.function(x));
  }
};

TEST_F(Ops, AreNamedAndWrittenAsInKeras) {
  ASSERT_EQ(golden()["cases"].size(), std::size(kCases));
  for (size_t i = 0; i < std::size(kCases); ++i) {
    const Json& expected = golden()["cases"][i];
    SCOPED_TRACE(kCases[i].name);
    ASSERT_EQ(expected["case"], kCases[i].name);
    const Json model = parse_json(model_to_json(traced(kCases[i])).dump(), "model");
    Json entry = model["config"]["layers"].back();
    EXPECT_EQ(entry["class_name"], expected["class"]);
    EXPECT_EQ(entry["module"], expected["module"]);
    EXPECT_EQ(entry["name"], expected["name"]);
    entry["config"].erase("name");
    Json config = expected["config"];
    if (config.contains("axis") && config["axis"] != -1) {  // Keras keeps what it was given
      EXPECT_TRUE(entry["config"].contains("axis"));
      config["axis"] = entry["config"]["axis"];
    }
    EXPECT_EQ(entry["config"], config);
  }
}

TEST_F(Ops, ComeBackFromFiles) {
  const ScratchFolder folder("ops");
  const Tensor x = ops::random_normal({3, 4, 6}, 0.5, 2.0);
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.name);
    traced(one).save(folder.file("m.keras"));
    const Tensor expected = one.function(x), loaded = load_model(folder.file("m.keras"))(x);
    EXPECT_EQ(loaded.dtype(), expected.dtype());
    EXPECT_EQ(loaded.shape(), expected.shape());
    const auto values = to_doubles(expected), got = to_doubles(loaded);
    for (size_t i = 0; i < values.size(); ++i) EXPECT_TRUE(close(got.at(i), values[i], {0, 0})) << i;
  }
}

TEST_F(Ops, OfEachRowAreKerasClassesOfItsModule) {
  for (const auto family : {numpy_arithmetic_ops, numpy_function_ops, numpy_reduction_ops, numpy_shape_ops,
                            math_ops, nn_ops, core_ops}) {
    const auto names = golden()["classes"][family().module].get<std::vector<std::string>>();
    const std::set<std::string> classes(names.begin(), names.end());
    for (const OpRow& row : family().rows) EXPECT_TRUE(classes.contains(row.class_name)) << row.class_name;
  }
}

}  // namespace
}  // namespace nyala::golden::ops_test
