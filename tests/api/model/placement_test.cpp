// Models whose calls were traced under device() guards: branches that run at the same time on several devices
// give the numbers of the same model without guards.
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/utils/gradient_tape.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/parallel.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/strategies/one_device.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::placement_test {

using namespace nyala::detail;

namespace {

using ::testing::HasSubstr;

/// Adds a loss, a metric and counts its calls in a state.
class LoudNode final : public LayerNode {
 public:
  std::string class_name() const override { return "Loud"; }
  void build(Builder& b, const Shape&) override {
    scale_ = b.weight("scale", {}, "ones");
    seen_ = b.state("seen", {}, "zeros");
  }
  Tensor call(Call& c, const Tensor& x) const override {
    if (c.training()) c.assign(seen_, c[seen_] + 1.0);
    c.add_loss(ops::mean(x * x) * 0.01 * c[scale_]);
    return x * c[scale_];
  }

 private:
  Variable scale_, seen_;
};

/// Where the last concrete call computed, and with how many threads.
struct Seen {
  Device device;
  int threads = 0;
};

class WitnessNode final : public LayerNode {
 public:
  explicit WitnessNode(Seen& seen) : seen_(seen) {}
  std::string class_name() const override { return "Witness"; }
  Tensor call(Call&, const Tensor& x) const override {
    const Tensor y = x * 1.5;
    if (!x.is_abstract()) seen_ = {y.device(), compute_threads()};
    return y;
  }

 private:
  Seen& seen_;
};

/// A place where two threads must be at the same time.
struct Meeting {
  std::atomic<int> arrived{0};
  std::atomic<int> missed{0};

  void enter() {
    const int wanted = (arrived.fetch_add(1) + 2) / 2 * 2;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (arrived.load() < wanted && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    if (arrived.load() < wanted) ++missed;
  }
};

Meeting g_forward, g_backward;

void infer_meet(InferContext& c) { c.output(0, c.shape(0), c.dtype(0)); }
void meet_reference(const KernelCall& call) {
  g_forward.enter();
  std::copy_n(call.in<float>(0), call.input(0).num_elements(), call.out<float>(0));
}
void meet_gradient(GradContext& c) {
  g_backward.enter();
  c.set(0, c.grad());
}
const OpDef kMeet = {
    .name = "meet", .infer = infer_meet, .gradient = meet_gradient, .reference = {meet_reference}};

class MeetNode final : public LayerNode {
 public:
  std::string class_name() const override { return "Meet"; }
  Tensor call(Call&, const Tensor& x) const override { return dispatch(kMeet, NoDescriptor{}, {&x}); }
};

class ThrowingNode final : public LayerNode {
 public:
  std::string class_name() const override { return "Throwing"; }
  Tensor call(Call&, const Tensor& x) const override {
    if (!x.is_abstract() && fails) throw InvalidArgumentError("no luck today");
    return x * 1.0;
  }
  bool fails = false;
};

struct Places {
  const char* left = nullptr;
  const char* right = nullptr;
  const char* join = nullptr;
};

Tensor traced(const char* place, const std::function<Tensor()>& trace) {
  if (!place) return trace();
  const auto on = device(place);
  return trace();
}

Tensor numbers(uint64_t key, const Shape& shape, DType dtype) {
  DrawStream stream(key);
  std::vector<double> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i) values.push_back(stream.normal());
  const Tensor x = Tensor::from(values, shape);
  if (dtype == DType::float64) return x;
  return Tensor::from(std::vector<float>(values.begin(), values.end()), shape);
}

class PlacementTest : public ::testing::Test {
 protected:
  void SetUp() override {
    configure_logical_devices("cpu", 4);
    enable_ghost_device();
    fresh();
  }
  void TearDown() override {
    configure_logical_devices("cpu", 1);
    thread_context() = {};
  }
  static void fresh() {
    clear_session();
    set_random_seed(7);
  }

  /// Two inputs, a layer that both branches share, layers of each, all kinds of state; joined by a dense
  /// layer.
  static Model two_branches(const Places& places, const std::string& dtype = "float32") {
    fresh();
    const Tensor a = Input({6}, {.name = "a"}), b = Input({6}, {.name = "b"});
    const Dense shared(5, {.activation = "tanh", .name = "shared", .dtype = dtype});
    const BatchNormalization normal({.momentum = 0.9, .name = "normal", .dtype = dtype});
    const Dropout drop(0.3, {.name = "drop", .dtype = dtype}),
        drop_right(0.2, {.name = "drop_right", .dtype = dtype});
    const Layer loud(finish_layer(std::make_shared<LoudNode>(), {"loud", true, dtype}));
    const Tensor left = traced(places.left, [&] { return loud(drop(normal(shared(a)))); });
    const Tensor right = traced(places.right, [&] {
      return Dense(4, {.activation = "relu", .name = "own", .dtype = dtype})(
          loud(drop_right(drop(normal(shared(b))))));
    });
    const Tensor y = traced(places.join, [&] {
      return Dense(2, {.name = "join", .dtype = dtype})(
          drop(Concatenate({.name = "both", .dtype = dtype})({left, right})));
    });
    Model model({.inputs = {a, b}, .outputs = {y}});
    model.compile({.optimizer = Adam({.learning_rate = 0.01}), .loss = "mse", .metrics = {"mae"}});
    return model;
  }

  struct Trained {
    std::vector<double> losses, metrics;
    Tensors weights;
    Tensor predictions;
  };
  static Trained trained(const Model& model, DType dtype) {
    const Tensors x = {numbers(1, {50, 6}, dtype), numbers(2, {50, 6}, dtype)};
    const Tensors y = {numbers(3, {50, 2}, dtype)};
    const History history = model.fit(x, y, {.batch_size = 16, .epochs = 3, .verbose = 0});
    return {history["loss"], history["mae"], model.get_weights(), model.predict_all(x, {.verbose = 0})[0]};
  }

  static void expect_close(const Tensor& a, const Tensor& b, double tolerance) {
    ASSERT_EQ(a.shape(), b.shape());
    const auto as_double = [](const Tensor& x) {
      if (x.dtype() == DType::float64) return x.to_vector<double>();
      const std::vector<float> values = x.to_vector<float>();
      return std::vector<double>(values.begin(), values.end());
    };
    const std::vector<double> left = as_double(a), right = as_double(b);
    for (size_t i = 0; i < left.size(); ++i)
      ASSERT_NEAR(left[i], right[i], tolerance * std::max(1.0, std::abs(right[i]))) << i;
  }
  static void expect_equal(const Trained& a, const Trained& b, double tolerance) {
    for (size_t i = 0; i < b.losses.size(); ++i) {
      EXPECT_NEAR(a.losses[i], b.losses[i], tolerance);
      EXPECT_NEAR(a.metrics[i], b.metrics[i], tolerance);
    }
    ASSERT_EQ(a.weights.size(), b.weights.size());
    for (size_t i = 0; i < b.weights.size(); ++i) expect_close(a.weights[i], b.weights[i], tolerance);
    expect_close(a.predictions, b.predictions, tolerance);
  }
};

const std::vector<Places> kPlaces = {
    {"cpu:0", "cpu:1", nullptr},   {"cpu:1", "cpu:2", nullptr},     {"cpu:1", "cpu:2", "cpu:3"},
    {nullptr, "cpu:1", nullptr},   {"cpu:1", "cpu:1", "cpu:1"},     {"cpu:2", nullptr, "cpu:1"},
    {"cpu:0", "ghost:0", nullptr}, {"ghost:0", "ghost:1", "cpu:1"}, {nullptr, nullptr, "ghost:0"}};

std::string text(const Places& p) {
  return std::string(p.left ? p.left : "-") + " " + (p.right ? p.right : "-") + " " + (p.join ? p.join : "-");
}

TEST_F(PlacementTest, AnyPlacesGiveTheNumbersOfNone) {
  const Trained plain = trained(two_branches({}), DType::float32);
  for (const Places& places : kPlaces) {
    SCOPED_TRACE(text(places));
    expect_equal(trained(two_branches(places), DType::float32), plain, 1e-6);
  }
}

TEST_F(PlacementTest, InDoublePrecision) {
  const Trained plain = trained(two_branches({}, "float64"), DType::float64);
  for (const Places& places : kPlaces) {
    SCOPED_TRACE(text(places));
    expect_equal(trained(two_branches(places, "float64"), DType::float64), plain, 1e-12);
  }
}

TEST_F(PlacementTest, TheSameBitsEveryTime) {
  const Trained once = trained(two_branches({"cpu:1", "cpu:2"}), DType::float32);
  const Trained again = trained(two_branches({"cpu:1", "cpu:2"}), DType::float32);
  expect_equal(again, once, 0.0);
}

TEST_F(PlacementTest, BranchesRunAtTheSameTimeForwardAndBackward) {
  const Tensor a = Input({4}), b = Input({4});
  const auto branch = [](const char* place, const Tensor& x) {
    const auto on = device(place);
    return make_layer<MeetNode>()(Dense(3)(x));
  };
  const Tensor left = branch("cpu:0", a), right = branch("cpu:1", b);
  const Model model({.inputs = {a, b}, .outputs = {Dense(1)(Concatenate()({left, right}))}});
  model.compile({.optimizer = SGD(), .loss = "mse"});
  g_forward.arrived = g_backward.arrived = g_forward.missed = g_backward.missed = 0;
  const Tensors x = {numbers(1, {8, 4}, DType::float32), numbers(2, {8, 4}, DType::float32)};
  model.fit(x, {numbers(3, {8, 1}, DType::float32)}, {.batch_size = 4, .epochs = 2, .verbose = 0});
  EXPECT_EQ(g_forward.arrived, 8);
  EXPECT_EQ(g_backward.arrived, 8);
  EXPECT_EQ(g_forward.missed, 0);
  EXPECT_EQ(g_backward.missed, 0);
}

TEST_F(PlacementTest, EachBranchComputesOnItsDeviceWithItsShareOfTheThreads) {
  Seen left_seen, right_seen, after_seen;
  const Tensor x = Input({4});
  Tensor left, right;
  {
    const auto on = device("cpu:3");
    left = make_layer<WitnessNode>(left_seen)(x);
  }
  {
    const auto on = device("ghost:1");
    right = make_layer<WitnessNode>(right_seen)(x);
  }
  const Tensor other = make_layer<WitnessNode>(after_seen)(x);
  const Model model(x, Add()({left, right, other}));
  const ScopedValue<int> team(thread_context().compute_threads, 4);
  const Tensor y = model(numbers(1, {2, 4}, DType::float32));
  EXPECT_EQ(y.device(), Device("cpu:0"));
  EXPECT_EQ(left_seen.device, Device("cpu:3"));
  EXPECT_EQ(right_seen.device, Device("ghost:1"));
  EXPECT_EQ(after_seen.device, Device("cpu:0"));
  EXPECT_EQ(left_seen.threads, 2);
  EXPECT_EQ(after_seen.threads, 2);
}

TEST_F(PlacementTest, OpsInTheGraphRememberTheirDevice) {
  Tensor doubled;
  const Tensor x = Input({3});
  {
    const auto on = device("cpu:2");
    doubled = x.to("cpu:1") * 2.0;  // where a call runs is the guard's business
  }
  const Model model(x, doubled + 1.0);
  EXPECT_EQ(model(Tensor::from(std::vector<float>{1, 2, 3}, {1, 3})).to_vector<float>(),
            std::vector<float>({3, 5, 7}));
  EXPECT_EQ(model.model_node().placed_devices(), std::vector<Device>{"cpu:2"});
}

TEST_F(PlacementTest, AModelCalledUnderAGuardRunsThereUnlessItsCallsSayOtherwise) {
  Seen inner_seen, free_seen;
  const Tensor x = Input({3}, {.name = "inner"});
  Tensor placed;
  {
    const auto on = device("cpu:1");
    placed = make_layer<WitnessNode>(inner_seen)(x);
  }
  const Model inner(x, make_layer<WitnessNode>(free_seen)(placed));
  const Tensor outside = Input({3});
  Tensor y;
  {
    const auto on = device("cpu:2");
    y = inner(outside);
  }
  const Model model(outside, Add()({y, outside * 1.0}));
  const Tensor result = model(Tensor::from(std::vector<float>{1, 2, 3}, {1, 3}));
  EXPECT_EQ(inner_seen.device, Device("cpu:1"));
  EXPECT_EQ(free_seen.device, Device("cpu:2"));
  EXPECT_EQ(result.to_vector<float>(), std::vector<float>({3.25f, 6.5f, 9.75f}));
}

TEST_F(PlacementTest, NestedBranchesDoNotWaitForEachOther) {
  const auto make = [](bool with_devices) {
    fresh();
    const auto at = [with_devices](const char* place) { return with_devices ? place : nullptr; };
    const Tensor x = Input({4}, {.name = "x"});
    const Tensor a = traced(at("cpu:1"), [&] { return Dense(3, {.name = "a"})(x); });
    const Tensor b = traced(at("cpu:2"), [&] { return Dense(3, {.name = "b"})(x); });
    const Model inner(x, Add({.name = "sum"})({a, b}), {.name = "inner"});
    const Tensor p = Input({4}, {.name = "p"}), q = Input({4}, {.name = "q"});
    const Tensor left = traced(at("cpu:1"), [&] { return inner(p); });
    const Tensor right = traced(at("cpu:2"), [&] { return inner(q); });
    Model model({.inputs = {p, q}, .outputs = {Dense(2, {.name = "end"})(Concatenate()({left, right}))}});
    model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse", .metrics = {"mae"}});
    return model;
  };
  const auto fit = [](const Model& model) {
    const Tensors x = {numbers(1, {20, 4}, DType::float32), numbers(2, {20, 4}, DType::float32)};
    const History history =
        model.fit(x, {numbers(3, {20, 2}, DType::float32)}, {.batch_size = 8, .epochs = 2, .verbose = 0});
    return Trained{history["loss"], history["mae"], model.get_weights(),
                   model.predict_all(x, {.verbose = 0})[0]};
  };
  expect_equal(fit(make(true)), fit(make(false)), 1e-6);
}

TEST_F(PlacementTest, GradientTapesSeeThroughBranches) {
  const Tensor a = numbers(1, {5, 6}, DType::float32), b = numbers(2, {5, 6}, DType::float32);
  const auto gradients = [&](const Model& model) {
    GradientTape tape({.persistent = true});
    const Tensor watched = tape.watch(a);
    const Tensor loss = ops::sum(ops::square(model({watched, b})));
    Tensors all = tape.gradient(loss, model.trainable_variables());
    all.push_back(tape.gradient(loss, watched));
    all.push_back(tape.gradient(loss, watched));
    return all;
  };
  const Tensors plain = gradients(two_branches({})), placed = gradients(two_branches({"cpu:1", "ghost:0"}));
  ASSERT_EQ(plain.size(), placed.size());
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(placed[i].device(), Device("cpu:0"));
    expect_close(placed[i], plain[i], 2e-6);
  }
}

TEST_F(PlacementTest, FilesHoldNoDevice) {
  const std::string path = ::testing::TempDir() + "placed.weights.h5";
  const Model placed = two_branches({"cpu:1", "cpu:2"});
  const Trained expected = trained(placed, DType::float32);
  placed.save_weights(path);
  for (const Places& places : {Places{}, Places{"cpu:3", "ghost:0", "cpu:1"}}) {
    const Model other = two_branches(places);
    other.load_weights(path);
    const Tensors x = {numbers(1, {50, 6}, DType::float32), numbers(2, {50, 6}, DType::float32)};
    expect_close(other.predict_all(x, {.verbose = 0})[0], expected.predictions, 1e-6);
  }
  std::filesystem::remove(path);
}

TEST_F(PlacementTest, EvaluateAgreesWithFitsMetrics) {
  const Model placed = two_branches({"cpu:1", "cpu:2"}), plain = two_branches({});
  const Tensors x = {numbers(1, {30, 6}, DType::float32), numbers(2, {30, 6}, DType::float32)};
  const Tensors y = {numbers(3, {30, 2}, DType::float32)};
  EXPECT_NEAR(placed.evaluate(x, y, {.verbose = 0})["loss"], plain.evaluate(x, y, {.verbose = 0})["loss"],
              1e-6);
}

TEST_F(PlacementTest, WithSeveralReplicasTheReplicasDeviceWins) {
  Seen seen;
  const auto make = [&](bool with_devices) {
    fresh();
    const Tensor x = Input({4}, {.name = "x"});
    const Tensor a = traced(with_devices ? "cpu:3" : nullptr,
                            [&] { return make_layer<WitnessNode>(seen)(Dense(3, {.name = "a"})(x)); });
    const Tensor b = traced(with_devices ? "cpu:2" : nullptr, [&] { return Dense(3, {.name = "b"})(x); });
    Model model(x, Add({.name = "sum"})({a, b}));
    model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse"});
    return model;
  };
  const auto fit = [](const Model& model) {
    model.fit(numbers(1, {20, 4}, DType::float32), numbers(2, {20, 3}, DType::float32),
              {.batch_size = 8, .epochs = 2, .verbose = 0});
    return model.get_weights();
  };
  const Tensors plain = fit(make(false));
  const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  const Tensors mirrored = fit(strategy.scope([&] { return make(true); }));
  EXPECT_NE(seen.device, Device("cpu:3"));
  for (size_t i = 0; i < plain.size(); ++i) expect_close(mirrored[i], plain[i], 1e-6);
}

TEST_F(PlacementTest, OneDeviceStrategiesKeepTheBranches) {
  const Trained plain = trained(two_branches({}), DType::float32);
  for (const char* home : {"cpu:2", "ghost:1"}) {
    const OneDeviceStrategy strategy(home);
    expect_equal(trained(strategy.scope([&] {
                   return two_branches({"cpu:1", "cpu:3"});
                 }),
                         DType::float32),
                 plain, 1e-6);
  }
}

TEST_F(PlacementTest, SeveralThreadsPredictAtOnce) {
  const Model model = two_branches({"cpu:1", "cpu:2"});
  const Tensors x = {numbers(1, {9, 6}, DType::float32), numbers(2, {9, 6}, DType::float32)};
  const std::vector<float> expected = model.predict_all(x, {.verbose = 0})[0].to_vector<float>();
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i)
        wrong[t] += model.predict_all(x, {.verbose = 0})[0].to_vector<float>() != expected;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST_F(PlacementTest, AnErrorInABranchNamesItsLayerAndLeavesTheModelUsable) {
  const auto throwing = std::make_shared<ThrowingNode>();
  finish_layer(throwing, {"unlucky", true, "float32"});
  const Tensor x = Input({3});
  const Tensor left = traced("cpu:1", [&] { return Dense(2)(x); });
  const Tensor right = traced("cpu:2", [&] { return Layer(throwing)(Dense(2)(x)); });
  const Model model(x, Add()({left, right}));
  model.compile({.optimizer = SGD(), .loss = "mse"});
  const Tensor data = numbers(1, {4, 3}, DType::float32), target = numbers(2, {4, 2}, DType::float32);
  model.train_on_batch(data, target);
  throwing->fails = true;
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { model.train_on_batch(data, target); }),
              AllOf(HasSubstr("unlucky"), HasSubstr("no luck today")));
  throwing->fails = false;
  EXPECT_TRUE(std::isfinite(model.train_on_batch(data, target)["loss"]));
}

TEST_F(PlacementTest, AnIndexThatABranchCannotReadIsReported) {
  const Tensor x = Input({4});
  const Tensor left = traced("cpu:1", [&] { return Flatten()(Embedding(10, 3)(x)); });
  const Tensor right = traced("cpu:2", [&] { return Dense(12)(x); });
  const Model model(x, Add()({left, right}));
  model.compile({.optimizer = SGD(), .loss = "mse"});
  const auto fit = [&](float index) {
    model.fit(Tensor::full({6, 4}, index), Tensor::zeros({6, 12}), {.verbose = 0});
  };
  EXPECT_NO_THROW(fit(3));
  EXPECT_THAT(error_text<NumericError>([&] { fit(99); }), AllOf(HasSubstr("cpu:1"), HasSubstr("99")));
  EXPECT_NO_THROW(fit(3));
}

TEST_F(PlacementTest, AnEagerGuardRunsALayerElsewhereAndFetchesItsWeights) {
  const Dense layer(2, {.kernel_initializer = "ones"});
  const Tensor x = numbers(1, {4, 3}, DType::float32);
  const Tensor here = layer(x);
  const auto on = device("cpu:2");
  const Tensor there = layer(x);
  EXPECT_EQ(here.device(), Device("cpu:0"));
  EXPECT_EQ(there.device(), Device("cpu:2"));
  expect_close(there, here, 0.0);
}

TEST_F(PlacementTest, AWarmStepTakesNoMemoryFromTheSystem) {
  const Model model = two_branches({"cpu:0", "cpu:1"});
  const Tensors x = {numbers(1, {16, 6}, DType::float32), numbers(2, {16, 6}, DType::float32)};
  const Batch batch{x, {numbers(3, {16, 2}, DType::float32)}, {}};
  for (int i = 0; i < 5; ++i) model.train_on_batch(batch);
  const auto taken = [] {
    uint64_t sum = 0;
    for (const Device device : list_logical_devices("cpu")) sum += allocator_stats(device).system_allocations;
    return sum;
  };
  const uint64_t before = taken();
  for (int i = 0; i < 20; ++i) model.train_on_batch(batch);
  EXPECT_LE(taken() - before, 4u);
}

}  // namespace

}  // namespace nyala::placement_test
