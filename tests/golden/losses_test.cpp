#include <string>

#include <gtest/gtest.h>

#include <nyala/api/losses/all.h>
#include <nyala/tests/golden/from_config.h>
#include <nyala/tests/golden/gradients.h>

namespace nyala::golden::losses_test {
namespace {

Loss make_loss(const Json& entry, const std::string& reduction) {
  Json config = entry.at("config");
  if (!reduction.empty()) config["reduction"] = reduction;
  return make_one<Loss>(Losses{}, entry.at("name").as_string(), config);
}

/// One call of a loss: what it is called with, and what Keras gave.
struct LossCall {
  Loss loss;
  Tensor y_true, y_pred, sample_weight;
  Tensor upstream;  // of Reduction::none, else undefined
};

void check(const LossCall& given, const Json& expected, const std::string& what) {
  Tape tape;
  const Tensor y_pred = tape.watch(given.y_pred, 0);
  const Tensor value = given.loss(given.y_true, y_pred, given.sample_weight);
  expect_close(value, expected.at("value"), what, {.absolute = 1e-6, .relative = 5e-6});
  GradientMap gradients;
  backward(tape, value, gradients, given.upstream);
  // Circle's exponents are 80 times its input, in Keras' float32 as in ours.
  expect_close(gradients.of(0), expected.at("gradient"), what + " gradient",
               {.absolute = 1e-6, .relative = 5e-5});
}

void check_reductions(const Json& entry) {
  for (const Json& result : entry.at("results")) {
    const std::string reduction = result.at("reduction").as_string();
    const int index = result.at("weights").get<int>();
    const Json weight = index < 0 ? Json() : entry.at("sample_weights").at(static_cast<size_t>(index));
    const std::string kind = weight.is_null() ? "none" : weight.at("kind").get<std::string>();
    check({.loss = make_loss(entry, reduction),
           .y_true = tensor(entry.at("y_true")),
           .y_pred = tensor(entry.at("y_pred")),
           .sample_weight = tensor(weight),
           .upstream = reduction == "none" ? tensor(entry.at("upstream_of_none")) : Tensor()},
          result, label(entry) + " " + reduction + ", weights " + kind);
  }
}

void check_class(const std::string& name) {
  int count = 0;
  const Json golden = load("losses.json");
  for (const Json& entry : golden.at("cases")) {
    if (entry.at("name") != name) continue;
    check_reductions(entry);
    ++count;
  }
  EXPECT_GT(count, 0) << name;
}

void check_group(const char* group) {
  const Json golden = load("losses.json");
  for (const Json& entry : golden.at(group))
    check({.loss = make_loss(entry, ""),
           .y_true = tensor(entry.at("y_true")),
           .y_pred = tensor(entry.at("y_pred")),
           .sample_weight = {},
           .upstream = {}},
          entry, label(entry) + " " + entry.at("y_true").at("shape").dump());
}

/// Classes whose values belong to samples.
const char* const kSampleLosses[] = {"BinaryCrossentropy",
                                     "BinaryFocalCrossentropy",
                                     "CategoricalCrossentropy",
                                     "CategoricalFocalCrossentropy",
                                     "CategoricalGeneralizedCrossEntropy",
                                     "CategoricalHinge",
                                     "CosineSimilarity",
                                     "Hinge",
                                     "Huber",
                                     "KLDivergence",
                                     "LogCosh",
                                     "MeanAbsoluteError",
                                     "MeanAbsolutePercentageError",
                                     "MeanSquaredError",
                                     "MeanSquaredLogarithmicError",
                                     "Poisson",
                                     "SparseCategoricalCrossentropy",
                                     "SquaredHinge"};

class GoldenLoss : public ::testing::TestWithParam<const char*> {};
TEST_P(GoldenLoss, EveryReductionAndWeight) { check_class(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Classes, GoldenLoss, ::testing::ValuesIn(kSampleLosses),
                         [](const auto& info) { return info.param; });

TEST(GoldenLosses, OfWholeBatches) { check_group("whole_batch"); }

TEST(GoldenLosses, RanksThatDifferByATrailingOne) { check_group("squeezed"); }

TEST(GoldenLosses, Saturation) {
  const Json golden = load("losses.json");
  for (const Json& entry : golden.at("saturated"))
    expect_close(make_loss(entry, "none")(tensor(entry.at("y_true")), tensor(entry.at("y_pred"))),
                 entry.at("value"), label(entry), {.absolute = 1e-6, .relative = 1e-5});
}

TEST(GoldenLosses, NamesAreThoseOfKeras) {
  const Json golden = load("losses.json");
  for (const Json& entry : golden.at("names"))
    EXPECT_NO_THROW(Loss(entry.at("name").get<std::string>())) << entry;
}

}  // namespace
}  // namespace nyala::golden::losses_test
