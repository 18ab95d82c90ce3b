// Variables that a layer holds without build(), and those that nobody holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala::tracked_variables_test {
namespace {

using ::testing::HasSubstr;

struct Forgetful : LayerNode {
  Variable gain{2.0, {.name = "gain"}};
  std::string class_name() const override { return "Forgetful"; }
  Tensor call(Call& c, const Tensor& x) const override { return x * c[gain]; }
};
struct ReadsByValue : Forgetful {
  std::string class_name() const override { return "ReadsByValue"; }
  Tensor call(Call&, const Tensor& x) const override { return x * gain.value(); }
};
struct ForgetfulModel : ModelNode {
  Variable gain{2.0, {.name = "gain"}};
  std::string class_name() const override { return "ForgetfulModel"; }
  Tensor call(Call& c, const Tensor& x) const override { return x * c[gain]; }
};
struct Outside : LayerNode {
  Variable factor{2.0, {.trainable = false, .name = "factor"}};
  std::string class_name() const override { return "Outside"; }
  Tensor call(Call& c, const Tensor& x) const override { return x * c[factor] * factor.value(); }
};
/// Keras: `self.gain = keras.Variable(2.0)` in the constructor, a weight of add_weight() in build().
struct Gains : LayerNode {
  Variable offset;
  Variable gain = track("gain", Variable(2.0)), calls = track("calls", Variable(0.0, {.trainable = false}));
  std::string class_name() const override { return "Gains"; }
  void build(Builder& b, const Shape& input) override { offset = b.weight("offset", {input[-1]}, "zeros"); }
  Tensor call(Call& c, const Tensor& x) const override { return x * c[gain] + c[offset]; }
};
struct GainModel : ModelNode {
  Variable gain = track("gain", Variable({2.0, 3.0}));
  Layer inner = track("inner", make_layer<Gains>());
  std::string class_name() const override { return "GainModel"; }
  Tensor call(Call& c, const Tensor& x) const override { return inner(c, x * c[gain]); }
};

const Tensor& x() {
  static const Tensor values({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}});
  return values;
}

/// Counts the rows that it saw in training.
struct CountsRows : LayerNode {
  explicit CountsRows(Synchronization synchronization)
      : rows(track("rows", Variable(0.0, {.trainable = false,
                                          .aggregation = Aggregation::sum,
                                          .synchronization = synchronization}))) {}
  Variable rows;
  std::string class_name() const override { return "CountsRows"; }
  Tensor call(Call& c, const Tensor& x) const override {
    if (c.training()) c.assign(rows, c[rows] + ops::ones_like(x).sum());
    return x;
  }
};

TEST(TrackedVariables, ASumOfReplicasHasACopyForEach) {
  configure_logical_devices("cpu", 3);
  for (const int replicas : {1, 2, 3}) {
    const auto counted = [&](Synchronization synchronization) {
      return mirrored(replicas).scope([&] {
        const Sequential model({Input({1}), make_layer<CountsRows>(synchronization), Dense(1)});
        model.compile({.optimizer = "sgd", .loss = "mse"});
        model.fit(Tensor::zeros({7, 1}), Tensor::zeros({7, 1}), {.batch_size = 4, .verbose = 0});
        return model.get_layer(0).weights()[0].value().item();
      });
    };
    EXPECT_EQ(counted(Synchronization::on_read), 7.0) << replicas;
    EXPECT_THAT(error_text<InvalidArgumentError>([&] { counted(Synchronization::automatic); }),
                HasSubstr("Synchronization::on_read"));
  }
  configure_logical_devices("cpu", 1);
}

TEST(TrackedVariables, OneThatNobodyHoldsIsAnErrorThatSaysHowToHoldIt) {
  const std::vector<std::string> parts = {"variable 'gain'", "neither be trained nor saved",
                                          "track(\"w\", Variable(...))", "Builder::weight",
                                          "{.trainable = false}"};
  expect_error<StateError>([] { make_layer<Forgetful>()(x()); }, parts);
  expect_error<StateError>([] { make_layer<ReadsByValue>()(x()); }, parts);
  expect_error<StateError>([] { Sequential({Input({2}), make_layer<Forgetful>()}); }, parts);
  expect_error<StateError>([] { make_model<ForgetfulModel>().build({None, 2}); }, parts);
  expect_error<StateError>(
      [] {
        const Model model = make_model<ForgetfulModel>();
        model.compile({.optimizer = "sgd", .loss = "mse"});
        model.fit(x(), x(), {.verbose = 0});
      },
      parts);
}

TEST(TrackedVariables, OneThatDoesNotTrainMayStayOutside) {
  EXPECT_EQ(make_layer<Outside>()(x()).to_vector<float>(), (std::vector<float>{4, 8, 12, 16, 20, 24}));
  const Variable slope(3.0);  // outside of layers a program does what it likes
  Call c;
  EXPECT_EQ(c[slope].item() * slope.value().item(), 9.0);
  const Variable counter(0.0);
  for (int step = 0; step < 3; ++step) counter.assign_add(1.0);
  EXPECT_EQ(counter.value().item(), 3.0);
}

/// Keras 3.15: weights are [gain, offset, calls] with paths "gains/offset" and, of Variables, their names.
TEST(TrackedVariables, StandInFrontOfThoseOfBuild) {
  const Layer layer = make_layer<Gains>({.name = "gains"});
  layer(x());
  std::vector<std::string> paths;
  for (const Variable& variable : layer.weights()) paths.push_back(variable.path());
  EXPECT_EQ(paths, (std::vector<std::string>{"gains/gain", "gains/offset", "gains/calls"}));
  EXPECT_EQ(layer.trainable_weights().size(), 2u);
  layer.set_trainable(false);
  EXPECT_FALSE(layer.weights()[0].trainable());
}

Model trained(int replicas, std::vector<double>& losses) {
  clear_session();
  const Model model = mirrored(replicas).scope([] { return make_model<GainModel>(); });
  model.compile({.optimizer = Adam(0.1), .loss = "mse"});
  losses = model.fit(x(), x(), {.batch_size = 2, .epochs = 4, .verbose = 0, .shuffle = false})["loss"];
  return model;
}

TEST(TrackedVariables, AreTrainedAndSavedOnAnyNumberOfReplicas) {
  configure_logical_devices("cpu", 2);
  std::vector<double> alone, together;
  const Model one = trained(1, alone), two = trained(2, together);
  ASSERT_EQ(one.weights().size(), 4u);
  EXPECT_NE(one.get_weights()[0].to_vector<float>(), (std::vector<float>{2, 3}));
  EXPECT_LT(alone.back(), alone.front());
  for (size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(alone[i], together[i], 1e-4 * alone[0]);
  const ScratchFolder folder("tracked_variables");
  two.save(folder.file("model.keras"));
  const Model loaded = load_model(
      folder.file("model.keras"),
      {.custom_objects = {{"GainModel", custom_object<GainModel>()}, {"Gains", custom_object<Gains>()}}});
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(loaded.get_weights()[i].to_vector<float>(), two.get_weights()[i].to_vector<float>());
  EXPECT_EQ(loaded.optimizer().iterations(), two.optimizer().iterations());
  configure_logical_devices("cpu", 1);
}

TEST(TrackedVariables, APartIsFoundByTheAttributeThatTracksIt) {
  const Model model = make_model<GainModel>();
  EXPECT_EQ(model.get_layer("inner").class_name(), "Gains");
  EXPECT_EQ(model.get_layer(model.get_layer("inner").name()), model.get_layer("inner"));
  expect_error<NotFoundError>([&] { model.get_layer("iner"); }, {"'inner'"});
}

}  // namespace
}  // namespace nyala::tracked_variables_test
