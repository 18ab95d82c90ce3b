#include <set>
#include <string>

#include <gmock/gmock.h>

#include <nyala/api/saving/ops/op_class.h>
#include <nyala/api/saving/ops/op_table.h>
#include <nyala/nyala.h>

namespace nyala {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(OpTable, HoldsEachClassAndEachFunctionOnce) {
  std::set<std::string> classes, functions;
  for (const auto family : {numpy_arithmetic_ops, numpy_function_ops, numpy_reduction_ops, numpy_shape_ops,
                            math_ops, nn_ops, core_ops})
    for (const OpRow& row : family().rows) {
      EXPECT_TRUE(classes.insert(row.class_name).second) << row.class_name;
      EXPECT_NE(row.read, nullptr) << row.class_name;
      ASSERT_NE(find_op(row.class_name), nullptr);
      EXPECT_STREQ(find_op(row.class_name)->module, family().module);
      for (const char* const name : row.legacy.names) {
        if (!name) continue;
        EXPECT_TRUE(functions.insert(name).second) << name;
        EXPECT_STREQ(find_legacy_op(name)->class_name, row.class_name);
      }
    }
  EXPECT_EQ(find_op("NoSuchOp"), nullptr);
  EXPECT_EQ(find_legacy_op("no_such_op"), nullptr);
}

TEST(OpTable, KnowsAnOpByWhatItDoes) {
  const auto relu = [](const ops::ReluDescriptor& d) { return op_class_of(ops::kRelu, d); };
  EXPECT_EQ(relu({}), "Relu");
  EXPECT_EQ(relu({.max_value = 6}), "Relu6");
  EXPECT_EQ(relu({.negative_slope = 0.1}), "LeakyRelu");
  const auto affine = [](double scale, double offset) {
    return op_class_of(ops::kAffine, ops::AffineDescriptor{scale, offset});
  };
  EXPECT_EQ(affine(1, 2), "Add");
  EXPECT_EQ(affine(1, -2), "Subtract");
  EXPECT_EQ(affine(-1, 2), "Subtract");
  EXPECT_EQ(affine(-1, 0), "Negative");
  EXPECT_EQ(affine(1, 0), "Multiply");
  EXPECT_EQ(op_class_of(ops::kMatmul, ops::MatmulDescriptor{}), "Matmul");
  EXPECT_EQ(op_class_of(ops::kMatmul, ops::MatmulDescriptor{false, true}), "Einsum");
  // No row: the op's own name.
  EXPECT_EQ(affine(2, 3), "Affine");
  EXPECT_EQ(op_class_of(ops::kSquaredDifference, NoDescriptor{}), "SquaredDifference");
}

TEST(OpTable, SaysWhyAnOpCannotBeSaved) {
  const auto refuses = [](Tensor (*function)(const Tensor&), const std::string& reason) {
    clear_session();
    const Input x({4});
    const Model model(x, function(x));
    EXPECT_THAT([&] { model.to_json(); }, ThrowsMessage<InvalidArgumentError>(HasSubstr(reason)));
  };
  refuses([](const Tensor& x) { return ops::affine(x, 2, 3); },
          "the op 'affine' between layers cannot be saved: it scales and shifts at once; use Rescaling; put "
          "it into a layer of your own");
  refuses([](const Tensor& x) { return ops::relu(x, {.max_value = 3}); }, "use the ReLU layer");
  refuses(ops::mish, "'mish' between layers cannot be saved: Keras has no operation for it");
  refuses([](const Tensor& x) { return ops::binary_crossentropy(x, x); }, "Keras' BinaryCrossentropy");
}

}  // namespace
}  // namespace nyala
