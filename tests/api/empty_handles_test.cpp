// Every public member of every kind of handle that can be empty, called on an empty one: StateError naming
// what is empty. (Tensors: tests/backend/core.) What has an answer for an empty handle is named as such.
#include <functional>
#include <sstream>
#include <type_traits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/callbacks/base/callback.h>
#include <nyala/api/callbacks/lambda_callback.h>
#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/metrics/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/parallel/all.h>
#include <nyala/api/saving/checkpoint.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/api/utils/gradient_tape.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/datasets/base/dataset.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/strategies/strategy.h>

namespace nyala {

namespace {

struct Member {
  const char* name;
  std::function<void()> call;
};

void expect_state_errors(const std::string& kind, const std::vector<Member>& members) {
  for (const Member& member : members) try {
      member.call();
      ADD_FAILURE() << kind << "::" << member.name << " threw nothing";
    } catch (const StateError& error) {
      EXPECT_THAT(error.what(), ::testing::AllOf(::testing::HasSubstr(kind), ::testing::HasSubstr("empty")))
          << kind << "::" << member.name;
    } catch (const std::exception& error) {
      ADD_FAILURE() << kind << "::" << member.name << " threw something else: " << error.what();
    }
}

const Tensor kX = Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2});

std::vector<Member> members_of(const Layer& m) {
  return {{"operator()", [=] { m(kX); }},
          {"operator()(list)",
           [=] {
             m({kX, kX});
           }},
          {"operator()(Call&)",
           [=] {
             Call c;
             m(c, kX);
           }},
          {"operator()(Call&, list)",
           [=] {
             Call c;
             const Tensors inputs{kX};
             m(c, Inputs(inputs));
           }},
          {"operator()(symbolic)", [=] { m(Input({2}).tensor()); }},
          {"call_all", [=] { m.call_all({kX}); }},
          {"name", [=] { m.name(); }},
          {"class_name", [=] { m.class_name(); }},
          {"built", [=] { m.built(); }},
          {"trainable", [=] { m.trainable(); }},
          {"set_trainable", [=] { m.set_trainable(false); }},
          {"weights", [=] { m.weights(); }},
          {"trainable_weights", [=] { m.trainable_weights(); }},
          {"non_trainable_weights", [=] { m.non_trainable_weights(); }},
          {"trainable_variables", [=] { m.trainable_variables(); }},
          {"get_weights", [=] { m.get_weights(); }},
          {"set_weights", [=] { m.set_weights({}); }},
          {"count_params", [=] { m.count_params(); }},
          {"input", [=] { m.input(); }},
          {"output", [=] { m.output(); }},
          {"inputs", [=] { m.inputs(); }},
          {"outputs", [=] { m.outputs(); }},
          {"output(0)", [=] { m.output(0); }},
          {"compute_output_shape",
           [=] {
             m.compute_output_shape({None, 2});
           }},
          {"compute_output_shapes",
           [=] {
             m.compute_output_shapes({{None, 2}});
           }},
          {"losses", [=] { m.losses(); }},
          {"get_config", [=] { m.get_config(); }},
          {"node", [=] { m.node(); }}};
}

TEST(EmptyHandles, Layer) {
  const Layer empty;
  EXPECT_FALSE(empty);
  EXPECT_EQ(empty.shared(), nullptr);
  EXPECT_EQ(empty, Layer());
  expect_state_errors("Layer", members_of(empty));
}

std::vector<Member> training_members(const Model& m) {
  const Dataset data = Dataset::from_tensor_slices(kX, kX).batch(2);
  return {{"compile", [=] { m.compile(); }},
          {"fit(x, y)", [=] { m.fit(kX, kX); }},
          {"fit(lists)", [=] { m.fit(Tensors{kX}, Tensors{kX}); }},
          {"fit(arrays)",
           [=] {
             m.fit(Arrays{kX, kX});
           }},
          {"fit(dataset)", [=] { m.fit(data); }},
          {"evaluate(x, y)", [=] { m.evaluate(kX, kX); }},
          {"evaluate(lists)", [=] { m.evaluate(Tensors{kX}, Tensors{kX}); }},
          {"evaluate(arrays)",
           [=] {
             m.evaluate(Arrays{kX, kX});
           }},
          {"evaluate(dataset)", [=] { m.evaluate(data); }},
          {"predict", [=] { m.predict(kX); }},
          {"predict(dataset)", [=] { m.predict(data); }},
          {"predict_all", [=] { m.predict_all({kX}); }},
          {"predict_all(dataset)", [=] { m.predict_all(data); }},
          {"train_on_batch", [=] { m.train_on_batch(kX, kX); }},
          {"train_on_batch(batch)", [=] { m.train_on_batch(Batch{.x = {kX}, .y = {kX}}); }},
          {"test_on_batch", [=] { m.test_on_batch(kX, kX); }},
          {"test_on_batch(batch)", [=] { m.test_on_batch(Batch{.x = {kX}, .y = {kX}}); }},
          {"predict_on_batch", [=] { m.predict_on_batch(kX); }},
          {"reset_metrics", [=] { m.reset_metrics(); }},
          {"metrics", [=] { m.metrics(); }},
          {"optimizer", [=] { m.optimizer(); }},
          {"compiled", [=] { m.compiled(); }},
          {"set_stop_training", [=] { m.set_stop_training(true); }},
          {"stop_training", [=] { m.stop_training(); }}};
}

std::vector<Member> other_members(const Model& m) {
  return {{"build",
           [=] {
             m.build(Shape{None, 2});
           }},
          {"build(shapes)",
           [=] {
             m.build(Shapes{{None, 2}});
           }},
          {"layers", [=] { m.layers(); }},
          {"get_layer(name)", [=] { m.get_layer("a"); }},
          {"get_layer(index)", [=] { m.get_layer(0); }},
          {"summary_text", [=] { m.summary_text(); }},
          {"summary", [=] { m.summary(); }},
          {"save_weights", [=] { m.save_weights("/tmp/nyala_never.weights.h5"); }},
          {"load_weights", [=] { m.load_weights("/tmp/nyala_never.weights.h5"); }},
          {"save", [=] { m.save("/tmp/nyala_never.keras"); }},
          {"to_json", [=] { m.to_json(); }},
          {"model_node", [=] { m.model_node(); }},
          {"clone_model", [=] { clone_model(m); }},
          {"multi_gpu_model", [=] { multi_gpu_model(m, {.gpus = 2}); }},
          {"strategy.adopt", [=] { get_strategy().adopt(m); }}};
}

TEST(EmptyHandles, Model) {
  const Model empty;
  EXPECT_FALSE(empty);
  expect_state_errors("Model", training_members(empty));
  expect_state_errors("Model", other_members(empty));
  std::vector<Member> inherited = members_of(empty);
  expect_state_errors("Layer", inherited);
  expect_state_errors("Layer", {{"Model(Layer())", [] { Model{Layer()}; }},
                                {"Sequential::add", [] { Sequential().add(Layer()); }},
                                {"Sequential", [] {
                                   Sequential({Dense(2), Layer()});
                                 }}});
}

TEST(EmptyHandles, Variable) {
  const Variable v;
  EXPECT_FALSE(v);
  EXPECT_EQ(v, Variable());
  const Tensor i = Tensor::from(std::vector<int32_t>{0});
  expect_state_errors("Variable",
                      {{"name", [=] { v.name(); }},
                       {"path", [=] { v.path(); }},
                       {"shape", [=] { v.shape(); }},
                       {"dtype", [=] { v.dtype(); }},
                       {"trainable", [=] { v.trainable(); }},
                       {"set_trainable", [] { Variable().set_trainable(true); }},
                       {"synchronization", [=] { v.synchronization(); }},
                       {"aggregation", [=] { v.aggregation(); }},
                       {"value", [=] { v.value(); }},
                       {"num_copies", [=] { v.num_copies(); }},
                       {"value(replica)", [=] { v.value(0); }},
                       {"assign", [=] { v.assign(kX); }},
                       {"assign_add", [=] { v.assign_add(kX); }},
                       {"assign_sub", [=] { v.assign_sub(kX); }},
                       {"assign(number)", [=] { v.assign(1.0); }},
                       {"assign_add(number)", [=] { v.assign_add(1.0); }},
                       {"assign_sub(number)", [=] { v.assign_sub(1.0); }},
                       {"scatter_add", [=] { v.scatter_add(i, kX); }},
                       {"scatter_sub", [=] { v.scatter_sub(i, kX); }},
                       {"scatter_mul", [=] { v.scatter_mul(i, kX); }},
                       {"scatter_div", [=] { v.scatter_div(i, kX); }},
                       {"scatter_min", [=] { v.scatter_min(i, kX); }},
                       {"scatter_max", [=] { v.scatter_max(i, kX); }},
                       {"scatter_update", [=] { v.scatter_update(i, kX); }},
                       {"node", [=] { v.node(); }},
                       {"Call::operator[]", [=] { Call()[v]; }},
                       {"Call::assign", [=] { Call().assign(v, kX); }},
                       {"GradientTape::watch", [=] { GradientTape().watch(Variables{v}); }},
                       {"GradientTape::gradient",
                        [=] {
                          GradientTape tape;
                          const Tensor x = tape.watch(kX);
                          tape.gradient(x, v);
                        }},
                       {"apply_gradients", [=] { Optimizer("sgd").apply_gradients({kX}, {v}); }},
                       {"Strategy::update", [=] { get_strategy().update(v, [](const Tensor&) {}); }}});
}

struct Forgetful final : LayerNode {
  Variable kernel;
  std::string class_name() const override { return "Forgetful"; }
  Tensor call(Call& c, const Tensor& x) const override { return ops::matmul(x, c[kernel]); }
};

TEST(EmptyHandles, AWeightThatWasNeverMade) {
  expect_state_errors("Forgetful", {{"call", [] { make_layer<Forgetful>()(kX); }},
                                    {"fit", [] {
                                       const Sequential model({make_layer<Forgetful>()});
                                       model.compile({.loss = "mse"});
                                       model.fit(kX, kX, {.verbose = 0});
                                     }}});
}

TEST(EmptyHandles, Optimizer) {
  const Optimizer o;
  EXPECT_FALSE(o);
  expect_state_errors("Optimizer", {{"node", [=] { o.node(); }},
                                    {"iterations", [=] { o.iterations(); }},
                                    {"learning_rate", [=] { o.learning_rate(); }},
                                    {"set_learning_rate", [=] { o.set_learning_rate(0.1); }},
                                    {"scale_loss", [=] { o.scale_loss(kX); }},
                                    {"apply_gradients", [=] { o.apply_gradients({kX}, {Variable(kX)}); }}});
}

TEST(EmptyHandles, LossAndMetric) {
  const Loss loss;
  const Metric metric;
  EXPECT_FALSE(loss);
  EXPECT_FALSE(metric);
  EXPECT_FALSE(metric.is_pending());
  expect_state_errors("Loss", {{"node", [=] { loss.node(); }},
                               {"name", [=] { loss.name(); }},
                               {"operator()", [=] { loss(kX, kX); }},
                               {"Metric(Loss())", [=] { Metric{loss}; }}});
  expect_state_errors("Metric", {{"node", [=] { metric.node(); }},
                                 {"name", [=] { metric.name(); }},
                                 {"resolved",
                                  [=] {
                                    metric.resolved({2, 2}, {2, 2});
                                  }},
                                 {"renamed", [=] { metric.renamed("a"); }},
                                 {"with_sums", [=] { metric.with_sums({1}); }},
                                 {"update_state", [=] { metric.update_state(kX, kX); }},
                                 {"update_state(values)", [=] { metric.update_state(kX); }},
                                 {"result", [=] { metric.result(); }},
                                 {"results", [=] { metric.results(); }},
                                 {"reset_state", [=] { metric.reset_state(); }},
                                 {"compile", [=] {
                                    const Sequential model({Input({2}), Dense(2)});
                                    model.compile({.loss = "mse", .metrics = {Metric()}});
                                    model.fit(kX, kX, {.verbose = 0});
                                  }}});
}

TEST(EmptyHandles, OfLayersOptions) {
  const Initializer initializer;
  const Regularizer regularizer;
  const Constraint constraint;
  EXPECT_FALSE(initializer);
  EXPECT_FALSE(regularizer);
  EXPECT_FALSE(constraint);
  expect_state_errors("Initializer",
                      {{"node", [=] { initializer.node(); }}, {"operator()", [=] { initializer(kX); }}});
  expect_state_errors("Initializer",
                      {{"of a weight", [=] { Dense(2, {.kernel_initializer = Initializer()})(kX); }}});
  expect_state_errors("Regularizer",
                      {{"node", [=] { regularizer.node(); }}, {"operator()", [=] { regularizer(kX); }}});
  expect_state_errors("Constraint",
                      {{"node", [=] { constraint.node(); }}, {"operator()", [=] { constraint(kX); }}});
  EXPECT_TRUE(ActivationArgument().is_linear());  // documented: empty is linear
  EXPECT_EQ(ActivationArgument()(kX).to_vector<float>(), kX.to_vector<float>());
}

TEST(EmptyHandles, Schedule) {
  EXPECT_FALSE(LearningRate(0.1).is_schedule());
  EXPECT_THROW(LearningRate(0.1).schedule(), StateError);
}

TEST(EmptyHandles, Callback) {
  // A copy of a callback as the base class would have none of its hooks.
  static_assert(!std::is_constructible_v<Callback, const LambdaCallback&>);
  const LambdaCallback callback(LambdaCallbackConfig{});
  EXPECT_THROW(callback.model(), StateError);
  EXPECT_EQ(callback.parameters().epochs, 1);
  const CallbackArgument null(std::shared_ptr<Callback>{});
  EXPECT_THROW(*null, StateError);
  EXPECT_THROW(null->parameters(), StateError);
  EXPECT_TRUE(History().history().empty());
  EXPECT_TRUE(Logs().empty());
}

TEST(EmptyHandles, Dataset) {
  const Dataset d;
  expect_state_errors("Dataset",
                      {{"map", [=] { d.map([](const Tensor& x) { return x; }); }},
                       {"filter", [=] { d.filter([](const Tensor&) { return true; }); }},
                       {"shuffle", [=] { d.shuffle(3); }},
                       {"batch", [=] { d.batch(3); }},
                       {"repeat", [=] { d.repeat(); }},
                       {"prefetch", [=] { d.prefetch(); }},
                       {"cache", [=] { d.cache(); }},
                       {"take", [=] { d.take(1); }},
                       {"skip", [=] { d.skip(1); }},
                       {"shard", [=] { d.shard(2, 0); }},
                       {"interleave", [=] { d.interleave([](const Element&) { return Dataset(); }); }},
                       {"cardinality", [=] { d.cardinality(); }},
                       {"is_index_based", [=] { d.is_index_based(); }},
                       {"is_batched", [=] { d.is_batched(); }},
                       {"iterate", [=] { d.iterate(); }},
                       {"begin", [=] { d.begin(); }},
                       {"zip",
                        [=] {
                          Dataset::zip({d, d});
                        }},
                       {"distribute", [=] { get_strategy().distribute(d); }},
                       {"fit", [=] {
                          const Sequential model({Input({2}), Dense(2)});
                          model.compile({.loss = "mse"});
                          model.fit(d, {.verbose = 0});
                        }}});
  EXPECT_EQ(d.node(), nullptr);
}

TEST(EmptyHandles, Strategy) {
  const Strategy s{std::shared_ptr<StrategyNode>()};
  EXPECT_EQ(s.shared(), nullptr);
  const Sequential model({Input({2}), Dense(2)});
  expect_state_errors(
      "Strategy", {{"scope", [=] { auto open = s.scope(); }},
                   {"scope(function)", [=] { s.scope([] {}); }},
                   {"num_replicas_in_sync", [=] { s.num_replicas_in_sync(); }},
                   {"describe", [=] { s.describe(); }},
                   {"profile", [=] { s.profile(); }},
                   {"step_times", [=] { s.step_times(); }},
                   {"run", [=] { s.run([] { return kX; }); }},
                   {"reduce",
                    [=] {
                      s.reduce("sum", PerReplica<Tensor>({kX, kX}));
                    }},
                   {"gather",
                    [=] {
                      s.gather(PerReplica<Tensor>({kX, kX}));
                    }},
                   {"distribute(dataset)", [=] { s.distribute(Dataset::from_tensor_slices(kX).batch(1)); }},
                   {"distribute(batch)", [=] { s.distribute(Batch{.x = {kX}}); }},
                   {"distribute_datasets_from_function",
                    [=] {
                      s.distribute_datasets_from_function(
                          [](const InputContext&) { return Dataset::from_tensor_slices(kX).batch(1); });
                    }},
                   {"distribute_values_from_function",
                    [=] { s.distribute_values_from_function([](const ValueContext&) { return kX; }); }},
                   {"mirror", [=] { s.mirror(kX); }},
                   {"update", [=] { s.update(Variable(kX), [](const Tensor&) {}); }},
                   {"adopt", [=] { s.adopt(model); }},
                   {"node", [=] { s.node(); }}});
  EXPECT_EQ(CrossDeviceOpsOption().get(), nullptr);  // documented: the strategy chooses
  const std::shared_ptr<const CrossDeviceOps> none;
  EXPECT_NO_THROW(MirroredStrategy({.devices = {"cpu:0"}, .cross_device_ops = none}));
}

}  // namespace

}  // namespace nyala
