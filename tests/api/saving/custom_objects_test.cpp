#include <nyala/tests/api/saving/custom_objects.h>

#include <gtest/gtest.h>

#include <nyala/api/saving/load_model.h>
#include <nyala/api/training/state/compiled_training.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

using namespace custom;

Tensor numbers(const Shape& shape, uint64_t seed = 1) {
  DrawStream random(seed);
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (float& value : values) value = static_cast<float>(random.uniform(-1.0, 1.0));
  return Tensor::from(values, shape);
}

std::vector<float> predict(const Model& model, const Tensor& x) {
  return model.predict(x, {.verbose = 0}).to_vector<float>();
}

/// The warnings of a test.
struct Warnings {
  Warnings() {
    set_log_sink([this](LogChannel, std::string_view text) { lines.emplace_back(text); });
  }
  ~Warnings() { set_log_sink({}); }
  std::vector<std::string> lines;
};

const FitConfig kTwoEpochs{.batch_size = 5, .epochs = 2, .verbose = 0, .shuffle = false};

class OwnObjects : public testing::Test {
 protected:
  OwnObjects() : folder_("custom_objects"), path_(folder_.file("m.keras")) {
    register_serializable<Net>("pkg");
    register_serializable<MyLoss>("pkg");
    register_serializable<MyMetric>("pkg");
    register_serializable<MyOptimizer>("pkg");
    register_serializable<MySchedule>("pkg");
    register_serializable<MyInitializer>("pkg");
    register_serializable<MyRegularizer>("pkg");
    register_serializable<MyConstraint>("pkg");
    register_serializable("pkg", "my_activation", my_activation);
    register_serializable("pkg", "my_loss", my_loss);
  }
  static void SetUpTestSuite() { configure_logical_devices("cpu", 2); }
  static void TearDownTestSuite() { configure_logical_devices("cpu", 1); }

  static Model net() {
    const Model model = make_model<Net>(NetConfig{.units = 4});
    const LearningRate schedule = make_schedule<MySchedule>(MyScheduleConfig{0.05});
    model.compile(
        {.optimizer =
             make_optimizer<MyOptimizer>(MyOptimizerConfig{.learning_rate = schedule, .momentum = 0.9}),
         .loss = make_loss<MyLoss>(MyLossConfig{.alpha = 2.5}),
         .metrics = {make_metric<MyMetric>(MyMetricConfig{.factor = 3.0, .name = "own"}), my_loss, "mae"}});
    return model;
  }
  /// Training goes on in the loaded model as if it had not stopped.
  void expect_goes_on(const Model& model, const std::string& path) {
    const Tensor x = numbers({23, 3}), y = numbers({23, 1}, 2);
    model.fit(x, y, kTwoEpochs);
    model.save(path);
    const Model loaded = load_model(path);
    EXPECT_EQ(predict(loaded, x), predict(model, x));
    EXPECT_EQ(loaded.optimizer().node().class_name(), "MyOptimizer");
    EXPECT_EQ(loaded.optimizer().iterations(), model.optimizer().iterations());
    const History went_on = model.fit(x, y, kTwoEpochs), began_there = loaded.fit(x, y, kTwoEpochs);
    for (const char* name : {"loss", "own", "my_loss", "mae"})
      EXPECT_EQ(went_on[name], began_there[name]) << name;
    EXPECT_EQ(predict(loaded, x), predict(model, x));
  }

  ScratchFolder folder_;
  std::string path_;
};

TEST_F(OwnObjects, AllThatWasRegisteredComesBackWithTheTraining) {
  Warnings warnings;
  expect_goes_on(net(), path_);
  expect_goes_on(net(), folder_.file("m.h5"));
  EXPECT_TRUE(warnings.lines.empty()) << warnings.lines[0];
}

TEST_F(OwnObjects, AFunctionStillSeesTheWholeBatch) {
  const Sequential model({Input({3}), Dense(1)});
  model.compile(
      {.optimizer = "sgd", .loss = Loss(my_loss, {.reduction = "sum", .rows_are_independent = false})});
  model.fit(numbers({4, 3}), numbers({4, 1}), kTwoEpochs);
  model.save(path_);
  const Model loaded = load_model(path_);
  const LossNode& loss = loaded.model_node().compiled_training().config.loss.list()[0].node();
  EXPECT_FALSE(loss.rows_are_independent());
  EXPECT_EQ(loss.reduction(), Reduction::sum);
}

TEST_F(OwnObjects, AlsoUnderTwoReplicas) {
  const MirroredStrategy two({.devices = {"cpu:0", "cpu:1"}});
  const auto scope = two.scope();
  expect_goes_on(net(), path_);
}

TEST_F(OwnObjects, SubclassedModelsThatWereBuiltOrCalledLoad) {
  const Tensor x = numbers({4, 3});
  const Model built = make_model<Net>({.name = "mine"}, NetConfig{.units = 2});
  built.build({None, 3});
  built.save(path_);
  const Model loaded = load_model(path_);
  EXPECT_EQ(loaded.name(), "mine");
  EXPECT_EQ(predict(loaded, x), predict(built, x));
  const Model called = make_model<Net>();
  called(x);
  called.save(path_);
  EXPECT_EQ(predict(load_model(path_), x), predict(called, x));
  // As a layer of another model.
  const Input input({3});
  const Model outer(input, Dense(2)(called(input)));
  outer.save(path_);
  EXPECT_EQ(predict(load_model(path_), x), predict(outer, x));
}

struct Two : ModelNode {
  Dense d = track("d", Dense(2));
  std::string class_name() const override { return "Two"; }
  bool takes_many() const override { return true; }
  Outputs call(Call& c, Inputs in) const override { return {d(c, in[0]) + d(c, in[1]) * 2.0}; }
};

TEST_F(OwnObjects, SubclassedModelsOfSeveralInputs) {
  const Tensor a = numbers({4, 3}), b = numbers({4, 3}, 2);
  const Model model = make_model<Two>();
  model.build({{None, 3}, {None, 3}});
  model.save(path_);
  const Model loaded = load_model(path_, {.custom_objects = {{"Two", custom_object<Two>()}}});
  EXPECT_EQ(loaded.predict_all({a, b}, {.verbose = 0})[0].to_vector<float>(),
            model.predict_all({a, b}, {.verbose = 0})[0].to_vector<float>());
}

/// A model that trains by itself.
struct SelfTaught : ModelNode {
  Dense d = track("d", Dense(1));
  std::string class_name() const override { return "SelfTaught"; }
  Tensor call(Call& c, const Tensor& x) const override { return d(c, x); }
  void train_step(ReplicaStep&, const Batch&) override { ++steps; }
  inline static int steps = 0;
};

TEST_F(OwnObjects, LoadedModelsKeepTheirTrainStep) {
  register_serializable<SelfTaught>("pkg");
  const Model model = make_model<SelfTaught>();
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.build({None, 3});
  model.save(path_);
  SelfTaught::steps = 0;
  load_model(path_).fit(numbers({4, 3}), numbers({4, 1}), {.batch_size = 4, .verbose = 0});
  EXPECT_EQ(SelfTaught::steps, 1);
}

struct Unknown : Net {
  using Net::Net;
  std::string class_name() const override { return "Unknown"; }
};

TEST_F(OwnObjects, UnregisteredClassesAreNamedOnceAtSaveAndAtLoad) {
  const Model model = make_model<Unknown>();
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor x = numbers({4, 3});
  model.fit(x, numbers({4, 1}), {.verbose = 0});
  Warnings warnings;
  model.save(path_);
  ASSERT_EQ(warnings.lines.size(), 1u);
  EXPECT_NE(warnings.lines[0].find("register_serializable<Unknown>"), std::string::npos) << warnings.lines[0];
  try {
    load_model(path_);
    ADD_FAILURE() << "loaded";
  } catch (const FileFormatError& error) {
    EXPECT_NE(std::string(error.what()).find("register_serializable<Unknown>"), std::string::npos);
  }
  const Model loaded = load_model(path_, {.custom_objects = {{"Unknown", custom_object<Unknown>()}}});
  EXPECT_EQ(predict(loaded, x), predict(model, x));
}

TEST_F(OwnObjects, FunctionsWithoutANameTakeNothingElseWithThem) {
  const Sequential model({Input({3}), Dense(1)});
  const auto nameless = [](const Tensor& t, const Tensor& p) { return ops::mean(ops::abs(t - p), {-1}); };
  model.compile({.optimizer = Adam(0.01), .loss = nameless, .metrics = {Metric(nameless, "odd"), "mae"}});
  const Tensor x = numbers({20, 3}), y = numbers({20, 1}, 2);
  model.fit(x, y, kTwoEpochs);
  Warnings warnings;
  model.save(path_);
  ASSERT_EQ(warnings.lines.size(), 1u);
  for (const char* part : {"loss 'loss'", "metric 'odd'", "register_serializable"})
    EXPECT_NE(warnings.lines[0].find(part), std::string::npos) << warnings.lines[0];
  const Model loaded = load_model(path_);
  ASSERT_TRUE(loaded.compiled());
  EXPECT_EQ(loaded.optimizer().iterations(), 8);
  loaded.compile({.optimizer = loaded.optimizer(), .loss = nameless});
  model.fit(x, y, kTwoEpochs);
  loaded.fit(x, y, kTwoEpochs);
  EXPECT_EQ(predict(loaded, x), predict(model, x));
}

TEST_F(OwnObjects, FunctionsAndClassesByName) {
  const Tensor x = Tensor::from(std::vector<float>{-1.0f, 2.0f});
  EXPECT_EQ(ActivationArgument("my_activation")(x).to_vector<float>(), (std::vector<float>{0.0f, 4.0f}));
  EXPECT_EQ(ActivationArgument("pkg>my_activation")(x).to_vector<float>(), (std::vector<float>{0.0f, 4.0f}));
  EXPECT_EQ(Loss("my_loss").name(), "my_loss");
  EXPECT_EQ(Loss("MyLoss").name(), "my_loss_class");
  EXPECT_EQ(Metric("my_loss").name(), "my_loss");
  EXPECT_EQ(Metric(my_loss).name(), "my_loss");
  EXPECT_EQ(Metric([](const Tensor& t, const Tensor& p) { return ops::abs(t - p); }).name(), "metric");
  EXPECT_EQ(Optimizer("MyOptimizer").node().class_name(), "MyOptimizer");
  EXPECT_EQ(Initializer("MyInitializer").node().class_name(), "MyInitializer");
  EXPECT_THROW(Loss("my_los"), InvalidArgumentError);
  EXPECT_THROW(ActivationArgument("my_loss"), InvalidArgumentError) << "a function of two tensors";
}

TEST_F(OwnObjects, WithoutRegisteringByCustomObjects) {
  const auto twice = [](const Tensor& x) { return x * 2.0; };
  const Sequential model({Input({3}), Dense(2, {.activation = ActivationArgument(twice, "twice")})});
  model.save(path_);
  const Tensor x = numbers({4, 3});
  EXPECT_THROW(load_model(path_), FileFormatError);
  EXPECT_EQ(predict(load_model(path_, {.custom_objects = {{"twice", twice}}}), x), predict(model, x));
}

/// A layer whose file has an option that nobody knows.
TEST_F(OwnObjects, UnknownOptionsAreNamedInOneWarning) {
  const Sequential model({Input({3}), Dense(2, {.name = "d"}), Dense(1, {.name = "e"})});
  std::string json = model.to_json();
  for (size_t at = 0; (at = json.find("\"units\"", at)) != std::string::npos; at += 20)
    json.insert(at, "\"colour\": \"red\", ");
  Warnings warnings;
  model_from_json(json);
  ASSERT_EQ(warnings.lines.size(), 1u);
  for (const char* part : {"layer 'd'", "layer 'e'", "'colour'"})
    EXPECT_NE(warnings.lines[0].find(part), std::string::npos) << warnings.lines[0];
}

TEST_F(OwnObjects, NoFileHoldsALambdaWithoutAName) {
  const Sequential model({Input({3}), Lambda([](const Tensor& x) { return x * 2.0; })});
  expect_error<InvalidArgumentError>([&] { model.save(path_); }, {"'lambda", "register_serializable"});
  const Tensor a = Input({3});
  const Tensor both = Lambda([](const Tensors& x) { return x[0] - x[1]; })(std::vector<Tensor>{a, a});
  expect_error<InvalidArgumentError>([&] { Model({.inputs = {a}, .outputs = {both}}).save(path_); },
                                     {"'lambda", "several tensors"});
}

Tensor doubled(const Tensor& x) { return x * 2.0; }

TEST_F(OwnObjects, ALambdaOfARegisteredFunctionComesBack) {
  configure_logical_devices("cpu", 2);
  const Sequential model({Input({3}), Dense(2), Lambda(doubled, {.name = "twice"})});
  const Tensor x = ops::random_normal({5, 3});
  const auto expected = model.predict(x, {.verbose = 0}).to_vector<float>();
  register_serializable("pkg", "doubled", doubled);
  EXPECT_NE(model.to_json().find("\"config\":\"pkg>doubled\""), std::string::npos) << model.to_json();
  model.save(path_);
  EXPECT_EQ(load_model(path_).predict(x, {.verbose = 0}).to_vector<float>(), expected);
  const Model two =
      MirroredStrategy({.devices = {"cpu:0", "cpu:1"}}).scope([&] { return load_model(path_); });
  EXPECT_EQ(two.predict(x, {.verbose = 0}).to_vector<float>(), expected);
  const auto tripled = [](const Tensor& t) { return t * 3.0; };
  const Model other = load_model(path_, {.custom_objects = {{"doubled", tripled}}});
  EXPECT_NEAR(other.predict(x, {.verbose = 0}).to_vector<float>()[0], 1.5f * expected[0], 1e-5);
  EXPECT_EQ(two.get_layer("twice").class_name(), "Lambda");
  configure_logical_devices("cpu", 1);
}

struct Plain : LayerNode {
  std::string class_name() const override { return "Plain"; }
  Tensor call(Call&, const Tensor& x) const override { return x; }
};
struct Nameless : ModelNode {
  Tensor call(Call&, const Tensor& x) const override { return x; }
};
static_assert(detail::names_its_class<Plain>() && !detail::names_its_class<Nameless>());

TEST_F(OwnObjects, LayersTakeAName) {
  EXPECT_EQ(make_layer<Plain>({.name = "first"}).name(), "first");
  EXPECT_FALSE(make_layer<Plain>({.trainable = false}).trainable());
  EXPECT_EQ(make_layer<Plain>().name().substr(0, 5), "plain");
}

}  // namespace
}  // namespace nyala
