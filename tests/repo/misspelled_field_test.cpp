// What g++ prints for a misspelled field of a configuration: one error that points at it, and no list of
// candidates.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/tests/repo/compiler.h>

namespace nyala {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// What the compiler says about `statement`.
std::string diagnosed(const std::string& statement, const std::string& flags = "") {
  return what_the_compiler_says(
      "#include <nyala/nyala.h>\nusing namespace nyala;\nvoid f(Model m, Tensor x, Tensor y) {\n" +
          statement + "\n}\n",
      "g++ -std=c++20 " + flags);
}

TEST(MisspelledField, IsOneErrorThatPointsAtIt) {
  if (!there_is_a_compiler()) GTEST_SKIP() << "no g++ here";
  const std::string text = diagnosed(
      "(void)Dense(10, {.activaton = \"relu\"});\n"
      "m.compile({.optimiser = \"adam\", .loss = \"mse\"});\n"
      "m.fit(x, y, {.epoch = 3});\n"
      "Adam a({.learning_rat = 0.1});\n"
      "EarlyStopping e({.monitr = \"loss\"});\n"
      "Loss l = MeanSquaredError({.reductn = \"sum\"});\n");
  for (const char* field : {".activaton", ".optimiser", ".epoch", ".learning_rat", ".monitr", ".reductn"})
    EXPECT_THAT(text, HasSubstr(field));
  size_t errors = 0;
  for (size_t at = text.find("error: use of deleted function"); at != std::string::npos;
       at = text.find("error: use of deleted function", at + 1))
    ++errors;
  EXPECT_EQ(errors, 6u) << text;
  EXPECT_THAT(text, HasSubstr("NoSuchField"));
  EXPECT_THAT(text, Not(HasSubstr("candidate")));
}

TEST(MisspelledField, AValueOfWrongTypeIsOneErrorThatSaysSo) {
  if (!there_is_a_compiler()) GTEST_SKIP() << "no g++ here";
  const std::string text = diagnosed(
      "(void)Dense(10, {.kernel_regularizer = 3.5});\n"
      "m.fit(x, y, {.epochs = \"three\"});\n"
      "(void)Dense(10, {.activation = x});\n"
      "(void)LSTM(8)(x, {.mask = \"none\"});\n"
      "(void)LSTM(8)(x, {.msk = x});\n");
  for (const char* shown : {".kernel_regularizer", ".epochs", ".activation", ".mask", ".msk"})
    EXPECT_THAT(text, HasSubstr(shown));
  EXPECT_THAT(text, HasSubstr("error: use of deleted function"));
  EXPECT_THAT(text, HasSubstr("NoSuchFieldOrValueOfWrongType"));
  EXPECT_THAT(text, Not(HasSubstr("candidate")));
}

TEST(MisspelledField, ALayerWithoutAClassNameIsToldToOverrideIt) {
  if (!there_is_a_compiler()) GTEST_SKIP() << "no g++ here";
  const std::string text = diagnosed(
      "struct Mine : LayerNode { Tensor call(Call&, const Tensor& x) const override { return x; } };\n"
      "(void)make_layer<Mine>();");
  EXPECT_THAT(text, HasSubstr("error: static assertion failed: a layer overrides class_name()"));
  EXPECT_EQ(text.find("error:"), text.rfind("error:")) << text;
}

TEST(MisspelledField, ACommaInSquareBracketsIsAWarning) {
  if (!there_is_a_compiler()) GTEST_SKIP() << "no g++ here";
  EXPECT_THAT(diagnosed("(void)x[0, 1];"), HasSubstr("[-Wcomma-subscript]"));
}

TEST(MisspelledField, OptionsThatAreLeftOutAreNoWarning) {
  if (!there_is_a_compiler()) GTEST_SKIP() << "no g++ here";
  EXPECT_EQ(diagnosed("struct Gain : LayerNode {\n"
                      "  Variable gain;\n"
                      "  std::string class_name() const override { return \"Gain\"; }\n"
                      "  using LayerNode::build;\n"
                      "  using LayerNode::call;\n"
                      "  void build(Builder& b, const Shape& s) override {\n"
                      "    gain = b.weight(\"g\", {s[-1]}, \"ones\", {.regularizer = L2(0.1)});\n"
                      "  }\n"
                      "  Tensor call(Call& c, const Tensor& x) const override { return x * c[gain]; }\n"
                      "};\n"
                      "(void)make_layer<Gain>();\n"
                      "(void)m; (void)x; (void)y;",
                      "-Wall -Wextra"),
            "");
}

TEST(MisspelledField, WhatExistsIsChosen) {
  if (!there_is_a_compiler()) GTEST_SKIP() << "no g++ here";
  EXPECT_EQ(
      diagnosed(
          "Sequential s({Input({28, 28, 1}), Conv2D(8, {3, 5}, {.activation = \"relu\"}),\n"
          "              MaxPooling2D({2, 2}), ZeroPadding2D({{1, 2}, {3, 4}}), Reshape({-1, 4}),\n"
          "              Dense({.units = 3}), RNN({GRUCell(8), GRUCell(4)})});\n"
          "m.compile({.optimizer = Adam({.learning_rate = 0.1}), .loss = \"mse\", .metrics = {\"mae\"}});\n"
          "m.fit(x, y, {.epochs = 2, .callbacks = {EarlyStopping({.monitor = \"loss\"})}});\n"
          "m.fit({x, y}, {y}, {.epochs = 3});\n"
          "m.fit(Dataset(), {.epochs = 2});\n"
          "m.fit(x[slice(3)], y[slice(3)], {.epochs = 2});\n"
          "(void)m.evaluate(x[slice(3)], y[slice(3)], {.verbose = 0});\n"
          "(void)m.predict(x[slice(3)], {.verbose = 0});\n"
          "(void)m.predict(x, {.batch_size = 3});\n"),
      "");
}

}  // namespace
}  // namespace nyala
