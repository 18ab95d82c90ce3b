// Integers of files and of programs that an int does not hold, where one is needed: axes, repeats, groups. A
// cast would leave another number, 2^32 + 1 would be 1.
#include <string>

#include <gmock/gmock.h>

#include <nyala/api/saving/config/load_scope.h>
#include <nyala/api/saving/config/training_config.h>
#include <nyala/api/training/state/compiled_training.h>
#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::integers_out_of_range_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kWrapsToOne = (int64_t{1} << 32) + 1;

TEST(IntegersOutOfRange, OfALayerNameLayerAndField) {
  const struct {
    const char *class_name, *config, *field;
  } known[] = {
      {"Concatenate", R"({"name": "mine", "axis": 4294967297})", "axis"},
      {"BatchNormalization", R"({"name": "mine", "axis": 4294967297})", "axis"},
      {"BatchNormalization", R"({"name": "mine", "axis": [4294967297]})", "axis"},
      {"GroupNormalization", R"({"name": "mine", "axis": 4294967297})", "axis"},
      {"LayerNormalization", R"({"name": "mine", "axis": [4294967297]})", "axis"},
      {"RMSNormalization", R"({"name": "mine", "axis": -4294967295})", "axis"},
      {"UnitNormalization", R"({"name": "mine", "axis": 4294967297})", "axis"},
      {"Normalization", R"({"name": "mine", "axis": 4294967297})", "axis"},
      {"Softmax", R"({"name": "mine", "axis": 4294967297})", "axis"},
      {"Dot", R"({"name": "mine", "axes": [4294967297, 1]})", "axes"},
      {"RepeatVector", R"({"name": "mine", "n": 4294967297})", "n"},
      {"UpSampling1D", R"({"name": "mine", "size": 4294967297})", "size"},
      {"Conv2D", R"({"name": "mine", "filters": 4294967297, "kernel_size": 1, "groups": 4294967297})",
       "groups"},
      {"Dense",
       R"({"name": "mine", "units": 1,
           "kernel_constraint": {"class_name": "MaxNorm", "config": {"axis": 4294967297}}})",
       "axis"},
      {"Dense",
       R"({"name": "mine", "units": 1,
           "kernel_initializer": {"class_name": "GlorotUniform",
                                  "config": {"input_axes": [4294967297], "output_axes": [1]}}})",
       "input_axes"},
      {"Permute", R"({"name": "mine", "dims": [4294967297, 2]})", "dims"},
      {"Dense", R"({"name": "mine", "units": 18446744073709551615})", "units"},
  };
  for (const auto& wrong : known)
    EXPECT_THAT(error_text<FileFormatError>([&] { Layer::from_config(wrong.class_name, wrong.config); }),
                AllOf(HasSubstr("mine"), HasSubstr(wrong.field)))
        << wrong.class_name << " " << wrong.config;
}

/// The text of a model with one op, whose setting is another number.
std::string with_setting(const Tensor& x, const Tensor& y, const std::string& key, const std::string& value) {
  std::string text = Model(x, y).to_json();
  const size_t place = text.rfind("\"" + key + "\":");
  EXPECT_NE(place, std::string::npos) << key << " in " << text;
  const size_t begin = place + key.size() + 3, end = text.find_first_of(",}", begin);
  return text.replace(begin, text[begin] == '[' ? text.find(']', begin) + 1 - begin : end - begin, value);
}

TEST(IntegersOutOfRange, OfAnOperationNameItAndTheSetting) {
  const Input x({4, 6});
  const Tensor symbolic = x;
  const struct {
    Tensor y;
    const char *key, *value;
  } known[] = {
      {ops::repeat(x, 2, 1), "repeats", "4294967297"},
      {ops::repeat(x, 2, 1), "axis", "4294967297"},
      {ops::repeat(x, 2, 1), "axis", "18446744073709551615"},
      {ops::tile(x, {1, 2, 1}), "repeats", "[1,4294967297,1]"},
      {ops::expand_dims(x, 1), "axis", "4294967297"},
      {ops::softmax(x, -1), "axis", "8589934591"},
      {ops::sum(x, {1}), "axis", "[4294967297]"},
      {ops::sum(x, {1}), "axis", "[null]"},
      {ops::transpose(x, {0, 2, 1}), "axes", "[0,2,4294967297]"},
      {ops::top_k(x, 2).values, "k", "4294967297"},
      {symbolic(ellipsis, slice(0, 4, 2)), "step", "4294967297"},
  };
  for (const auto& wrong : known) {
    const std::string text = with_setting(x, wrong.y, wrong.key, wrong.value);
    // The parts of a slice are one argument, "key".
    const std::string named = std::string(wrong.key) == "step" ? "key" : wrong.key;
    EXPECT_THAT(error_text<FileFormatError>([&] { model_from_json(text); }),
                AllOf(HasSubstr("operation"), HasSubstr("'" + named + "'")))
        << wrong.key << " " << wrong.value;
  }
}

TEST(IntegersOutOfRange, OfLossesAndMetrics) {
  EXPECT_THROW(CategoricalCrossentropy({.axis = kWrapsToOne}), InvalidArgumentError);
  EXPECT_THROW(SparseCategoricalCrossentropy({.axis = kWrapsToOne}), InvalidArgumentError);
  EXPECT_THROW(BinaryCrossentropy({.axis = kWrapsToOne}), InvalidArgumentError);
  EXPECT_THROW(BinaryFocalCrossentropy({.axis = kWrapsToOne}), InvalidArgumentError);
  EXPECT_THROW(CategoricalFocalCrossentropy({.axis = kWrapsToOne}), InvalidArgumentError);
  EXPECT_THROW(CosineSimilarity({.axis = kWrapsToOne}), InvalidArgumentError);
  EXPECT_THROW(Dice({.axis = {kWrapsToOne}}), InvalidArgumentError);
  EXPECT_THROW(Tversky({.axis = {kWrapsToOne}}), InvalidArgumentError);
  EXPECT_THROW(metrics::CosineSimilarity({.axis = kWrapsToOne}), InvalidArgumentError);
  EXPECT_THROW(metrics::PearsonCorrelation({.axis = kWrapsToOne}), InvalidArgumentError);
  EXPECT_THROW(metrics::ConcordanceCorrelation({.axis = kWrapsToOne}), InvalidArgumentError);
  EXPECT_THROW(metrics::OneHotMeanIoU({.num_classes = 2, .axis = kWrapsToOne}), InvalidArgumentError);
  EXPECT_THROW(metrics::Precision({.top_k = kWrapsToOne}), InvalidArgumentError);
  EXPECT_THROW(metrics::Recall({.class_id = kWrapsToOne}), InvalidArgumentError);
  EXPECT_THROW(metrics::AUC({.num_thresholds = kWrapsToOne}), InvalidArgumentError);
}

TEST(IntegersOutOfRange, AsTheStepOfASlice) {
  const Tensor x = Tensor::arange(6);
  const auto every = [&](int64_t step) -> Tensor { return x[slice(None, None, step)]; };
  EXPECT_THROW(every(kWrapsToOne), InvalidArgumentError);
  EXPECT_EQ(every(1000).num_elements(), 1);
}

TEST(IntegersOutOfRange, OfACompiledModel) {
  const Sequential model({Input({3}), Dense(1)});
  LoadScope scope;
  for (const Json& wrong : {Json(UINT64_MAX), Json("two"), Json(1.5)})
    EXPECT_THAT(error_text<FileFormatError>([&] {
                  compile_from_json(model, {{"loss", "mse"}, {"steps_per_execution", wrong}}, "m", scope);
                }),
                HasSubstr("steps_per_execution"));
  compile_from_json(model, {{"loss", "mse"}, {"steps_per_execution", 2}}, "m", scope);
  EXPECT_EQ(model.model_node().compiled_training().config.steps_per_execution, 2);
}

}  // namespace
}  // namespace nyala::integers_out_of_range_test
