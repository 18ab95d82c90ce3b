#include <string>

#include <gtest/gtest.h>

#include <nyala/api/constraints/all.h>
#include <nyala/api/regularizers/all.h>
#include <nyala/api/schedules/all.h>
#include <nyala/tests/golden/from_config.h>
#include <nyala/tests/golden/gradients.h>
#include <nyala/tests/golden/make_optimizer.h>

namespace nyala::golden {
namespace {

TEST(GoldenConstraints, Projections) {
  const Json golden = load("constraints.json");
  for (const Json& entry : golden.at("cases"))
    expect_close(make_constraint(entry.at("name").as_string(), entry.at("config"))(tensor(entry.at("w"))),
                 entry.at("result"), label(entry), {.absolute = 1e-7, .relative = 2e-6});
}

TEST(GoldenConstraints, NamesMeanKerasClasses) {
  const Json golden = load("constraints.json");
  for (const Json& entry : golden.at("names"))
    EXPECT_EQ(Constraint(entry.at("name").get<std::string>()).node().class_name(),
              entry.at("class").get<std::string>());
}

TEST(GoldenRegularizers, PenaltiesAndGradients) {
  const Json golden = load("regularizers.json");
  for (const Json& entry : golden.at("cases")) {
    Tape tape;
    const Tensor w = tape.watch(tensor(entry.at("w")), 0);
    const Tensor penalty = make_regularizer(entry.at("name").as_string(), entry.at("config"))(w);
    EXPECT_EQ(penalty.num_elements(), 1) << label(entry);
    expect_close(penalty.item(), number(entry.at("value")), label(entry),
                 {.absolute = 1e-7, .relative = 5e-6});
    if (entry.at("gradient").is_null()) continue;
    GradientMap gradients;
    backward(tape, penalty, gradients);
    expect_close(gradients.of(0), entry.at("gradient"), label(entry) + " gradient");
  }
}

TEST(GoldenRegularizers, NamesMeanKerasClasses) {
  const Json golden = load("regularizers.json");
  for (const Json& entry : golden.at("names"))
    EXPECT_EQ(Regularizer(entry.at("name").get<std::string>()).node().class_name(),
              entry.at("class").get<std::string>());
}

TEST(GoldenSchedules, RatesAtManySteps) {
  const Json golden = load("schedules.json");
  for (const Json& entry : golden.at("cases")) {
    const LearningRate rate = make_schedule(entry.at("name").as_string(), entry.at("config"));
    ASSERT_TRUE(rate.is_schedule()) << label(entry);
    for (size_t i = 0; i < entry.at("steps").size(); ++i)
      expect_close(rate.at(entry.at("steps").at(i).get<int64_t>()), number(entry.at("values").at(i)),
                   label(entry) + " step " + entry.at("steps").at(i).dump(),
                   {.absolute = 1e-8, .relative = 5e-6});
  }
}

}  // namespace
}  // namespace nyala::golden
