#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::dtype_policy_test {
namespace {

using ::testing::HasSubstr;

class DTypePolicies : public testing::Test {
 protected:
  ~DTypePolicies() override { set_dtype_policy("float32"); }
};

TEST_F(DTypePolicies, NamesSayWhatIsComputedAndWhatIsKept) {
  struct Row {
    const char* name;
    DType compute, variable;
  };
  for (const Row& row :
       {Row{"float32", DType::float32, DType::float32}, Row{"float64", DType::float64, DType::float64},
        Row{"bfloat16", DType::bfloat16, DType::bfloat16}, Row{"float16", DType::float16, DType::float16},
        Row{"mixed_bfloat16", DType::bfloat16, DType::float32},
        Row{"mixed_float16", DType::float16, DType::float32}}) {
    const DTypePolicy policy(row.name);
    EXPECT_EQ(policy.name(), row.name);
    EXPECT_EQ(policy.compute_dtype(), row.compute) << row.name;
    EXPECT_EQ(policy.variable_dtype(), row.variable) << row.name;
    EXPECT_EQ(policy, DTypePolicy(policy.name()));
  }
  EXPECT_EQ(DTypePolicy(), DTypePolicy("float32"));
  EXPECT_EQ(DTypePolicy(DType::float64), DTypePolicy("float64"));
  EXPECT_NE(DTypePolicy("bfloat16"), DTypePolicy("mixed_bfloat16"));
}

TEST_F(DTypePolicies, OtherNamesAreErrorsWithTheNearest) {
  EXPECT_THAT(error_text<InvalidArgumentError>([] { DTypePolicy("mixed_bfloat_16"); }),
              HasSubstr("did you mean 'mixed_bfloat16'"));
  EXPECT_THAT(error_text<InvalidArgumentError>([] { set_dtype_policy("mixed"); }), HasSubstr("'mixed'"));
  EXPECT_THROW(DTypePolicy("int16"), InvalidArgumentError);
  EXPECT_THROW(DTypePolicy(""), InvalidArgumentError);
  EXPECT_THROW(DTypePolicy{DType(DType::int32)}, DTypeError);
  EXPECT_EQ(dtype_policy().name(), "float32");
  EXPECT_THAT(error_text<InvalidArgumentError>([] { Dense(3, {.name = "d", .dtype = "int8"}); }),
              HasSubstr("layer 'd' (Dense)"));
}

TEST_F(DTypePolicies, OfWholeNumbersAreForLayersThatMakeThem) {
  EXPECT_EQ(DTypePolicy("int64").name(), "int64");
  EXPECT_EQ(DTypePolicy("int64").compute_dtype(), DType::int64);
  EXPECT_THROW(set_dtype_policy("int64"), InvalidArgumentError);
  EXPECT_THAT(error_text<InvalidArgumentError>([] { Dense(3, {.name = "d", .dtype = "int64"}); }),
              HasSubstr("layer 'd' (Dense)"));
  EXPECT_THROW(Dense(3).node().set_dtype_policy("int64"), InvalidArgumentError);
}

TEST_F(DTypePolicies, TheOneThatIsSetIsThatOfLayersMadeAfterwards) {
  const Dense before(2);
  set_dtype_policy("mixed_bfloat16");
  EXPECT_EQ(dtype_policy().name(), "mixed_bfloat16");
  const Dense after(2), named(2, {.dtype = "float32"});
  std::vector<std::string> of_thread;
  std::thread([&] { of_thread.push_back(Dense(2).dtype_policy().name()); }).join();
  set_global_policy("float64");
  EXPECT_EQ(before.dtype_policy().name(), "float32");
  EXPECT_EQ(after.dtype_policy().name(), "mixed_bfloat16");
  EXPECT_EQ(after.compute_dtype(), DType::bfloat16);
  EXPECT_EQ(after.variable_dtype(), DType::float32);
  EXPECT_EQ(after.dtype(), DType::float32);
  EXPECT_EQ(named.dtype_policy().name(), "float32");
  EXPECT_EQ(of_thread, std::vector<std::string>{"mixed_bfloat16"});
  EXPECT_EQ(Dense(2).dtype(), DType::float64);
  clear_session();
  EXPECT_EQ(dtype_policy(), DTypePolicy());
}

TEST_F(DTypePolicies, InputsKeepFloat32) {
  set_dtype_policy("mixed_bfloat16");
  const Tensor x = Input({4});
  EXPECT_EQ(x.dtype(), DType::float32);
  const Model model(x, Dense(3)(x));
  EXPECT_EQ(model.dtype_policy().name(), "mixed_bfloat16");
  EXPECT_EQ(model.output().dtype(), DType::bfloat16);
  EXPECT_EQ(Input({4}, {.dtype = "float16"}).tensor().dtype(), DType::float16);
}

TEST_F(DTypePolicies, ALayerTakesAnotherOneUntilItIsBuilt) {
  const Dense layer(2);
  layer.set_dtype_policy("mixed_bfloat16");
  EXPECT_EQ(layer(Tensor::zeros({1, 3})).dtype(), DType::bfloat16);
  layer.set_dtype_policy("mixed_bfloat16");
  EXPECT_THAT(error_text<StateError>([&] { layer.set_dtype_policy("float32"); }),
              AllOf(HasSubstr("'mixed_bfloat16'"), HasSubstr("received 'float32'")));
  const Dense symbolic(2, {.name = "symbolic"});
  const Tensor y = symbolic(Input({3}));
  EXPECT_THROW(symbolic.set_dtype_policy("float64"), StateError);
}

TEST_F(DTypePolicies, Float16IsSaidToBeWideOnce) {
  std::vector<std::string> lines;
  set_log_sink([&](LogChannel, std::string_view line) { lines.emplace_back(line); });
  for (int i = 0; i < 3; ++i) Dense(2, {.dtype = "mixed_float16"});
  set_log_sink({});
  EXPECT_LE(lines.size(), 1u);  // another test of the process may have heard it
  for (const std::string& line : lines) EXPECT_THAT(line, HasSubstr("float16"));
}

}  // namespace
}  // namespace nyala::dtype_policy_test
