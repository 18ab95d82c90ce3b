// multi_gpu_model: what Keras 2 tested of it, and what its users asked for.
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::multi_gpu_model_test {
namespace {

Tensor random_rows(const Shape& shape, uint64_t key) {
  return ops::random_normal(shape, 0.0, 1.0, {.key = key});
}

Model small_model() { return Sequential({Input({10}), Dense(4, {.activation = "relu"}), Dense(3)}); }

CompileConfig adam() {
  return {.optimizer = Adam({.learning_rate = 1e-2}), .loss = "mse", .metrics = {"mae"}};
}

TEST(MultiGpuModel, ASimpleModelRunsOnManyDevices) {
  configure_logical_devices("cpu", 8);
  const Tensor x = random_rows({50, 10}, 1), y = random_rows({50, 3}, 2);
  const std::vector<GpuSelection> selections = {8, {0, 2, 4}, {}};
  for (const GpuSelection& gpus : selections) {
    const Model model = small_model();
    const Model parallel = multi_gpu_model(model, {.gpus = gpus});
    parallel.compile(adam());
    parallel.fit(x, y, {.batch_size = 50, .epochs = 2, .verbose = 0});
    EXPECT_EQ(parallel.predict(x, {.verbose = 0}).shape(), (Shape{50, 3}));
  }
}

TEST(MultiGpuModel, SeveralInputsAndOutputs) {
  configure_logical_devices("cpu", 8);
  const Tensor a = Input({10}), b = Input({6});
  const Tensor left = Dense(4)(a), right = Dense(5)(b);
  const Model model({.inputs = {a, b}, .outputs = {Dense(3, {.name = "first"})(left), right}});
  const Model parallel = multi_gpu_model(model, {.gpus = {0, 2, 4}});
  const Tensors x = {random_rows({20, 10}, 1), random_rows({20, 6}, 2)};
  const Tensors whole = model.predict_all(x, {.verbose = 0}),
                sliced = parallel.predict_all(x, {.verbose = 0});
  ASSERT_EQ(sliced.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(sliced[i].shape(), whole[i].shape());
    const auto expected = whole[i].to_vector<float>(), received = sliced[i].to_vector<float>();
    for (size_t k = 0; k < expected.size(); ++k) EXPECT_NEAR(received[k], expected[k], 1e-5);
  }
  parallel.compile({.optimizer = "sgd", .loss = "mse"});
  const History history = parallel.fit(x, {random_rows({20, 3}, 3), random_rows({20, 5}, 4)}, {.verbose = 0});
  EXPECT_EQ(history["first_loss"].size(), 1u);
}

TEST(MultiGpuModel, InvalidDevicesAreRefused) {
  configure_logical_devices("cpu", 8);
  const Model model = small_model();
  EXPECT_THROW(multi_gpu_model(model, {.gpus = 10}), DeviceNotFoundError);
  EXPECT_THROW(multi_gpu_model(model, {.gpus = {0, 2, 4, 6, 8}}), DeviceNotFoundError);
  EXPECT_THROW(multi_gpu_model(model, {.gpus = 1}), InvalidArgumentError);
  EXPECT_THROW(multi_gpu_model(model, {.gpus = 0}), InvalidArgumentError);
  EXPECT_THROW(multi_gpu_model(model, {.gpus = {0}}), InvalidArgumentError);
  EXPECT_THROW(multi_gpu_model(model, {.gpus = {1, 1}}), InvalidArgumentError);
  EXPECT_NE(error_text<Error>([&] {
              multi_gpu_model(model, {.gpus = {0, 9}});
            }).find("'cpu:7'"),
            std::string::npos);
  EXPECT_NE(error_text<Error>([&] { multi_gpu_model(model, {.gpus = 1}); }).find("gpus >= 2"),
            std::string::npos);
  configure_logical_devices("cpu", 1);
  EXPECT_THROW(multi_gpu_model(model), InvalidArgumentError) << "there is only one device";
}

TEST(MultiGpuModel, AModelOfAStrategyWithReplicasIsRefused) {
  configure_logical_devices("cpu", 2);
  const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  const Model model = strategy.scope(small_model);
  EXPECT_THROW(multi_gpu_model(model, {.gpus = 2}), StateError);
}

TEST(MultiGpuModel, OutputsOfASiameseModelGetNumberedNames) {
  configure_logical_devices("cpu", 2);
  const Sequential nested({Input({3}), Dense(3)}, {.name = "nested"});
  const Tensor a = Input({3}), b = Input({3});
  const Tensor left = nested(a), right = nested(b);
  const Tensor sum = Add({.name = "add"})({left, right});
  const Model siamese({.inputs = {a, b}, .outputs = {sum, left, right}, .name = "siamese"});
  const Model parallel = multi_gpu_model(siamese, {.gpus = 2});
  EXPECT_EQ(parallel.model_node().output_names(3), (std::vector<std::string>{"add", "nested_1", "nested_2"}));
}

TEST(MultiGpuModel, WeightsAreTheTemplates) {
  configure_logical_devices("cpu", 3);
  const Model model = small_model(), parallel = multi_gpu_model(model, {.gpus = 3});
  EXPECT_EQ(parallel.weights(), model.weights());
  EXPECT_EQ(parallel.layers().size(), 1u);
  EXPECT_TRUE(parallel.layers()[0] == static_cast<const Layer&>(model));
  parallel.compile(adam());
  const Tensor x = random_rows({12, 10}, 1), y = random_rows({12, 3}, 2);
  const std::vector<float> before = model.predict(x, {.verbose = 0}).to_vector<float>();
  parallel.fit(x, y, {.verbose = 0});
  const std::vector<float> after = model.predict(x, {.verbose = 0}).to_vector<float>();
  EXPECT_NE(before, after) << "training the parallel model trains the template";
  const Logs by_template = model.evaluate(x, y, {.verbose = 0}),
             by_parallel = parallel.evaluate(x, y, {.verbose = 0});
  EXPECT_NEAR(by_template["loss"], by_parallel["loss"], 1e-6);
  EXPECT_NEAR(by_template["mae"], by_parallel["mae"], 1e-6);
}

TEST(MultiGpuModel, TheTemplateSavesWeightsAndOptimizer) {
  configure_logical_devices("cpu", 2);
  const ScratchFolder folder("multi_gpu_model");
  const Tensor x = random_rows({20, 10}, 1), y = random_rows({20, 3}, 2);
  const Model model = small_model(), parallel = multi_gpu_model(model, {.gpus = 2});
  parallel.compile(adam());
  parallel.fit(x, y, {.batch_size = 5, .verbose = 0, .shuffle = false});
  model.save_weights(folder.file("template.weights.h5"));
  parallel.save_weights(folder.file("parallel.weights.h5"));
  const Logs next = parallel.train_on_batch(x, y);
  for (const char* file : {"template.weights.h5", "parallel.weights.h5"}) {
    const Model plain = small_model();
    plain.compile(adam());
    plain.train_on_batch(x, y);  // the optimizer has state to be replaced
    plain.load_weights(folder.file(file));
    EXPECT_EQ(plain.optimizer().iterations(), 4);
    EXPECT_NEAR(plain.train_on_batch(x, y)["loss"], next["loss"], 1e-6) << file;
    const Tensors received = plain.get_weights(), expected = model.get_weights();
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto a = received[i].to_vector<float>(), b = expected[i].to_vector<float>();
      for (size_t k = 0; k < b.size(); ++k) EXPECT_NEAR(a[k], b[k], 2e-6) << file << ", weight " << i;
    }
  }
}

TEST(MultiGpuModel, CallbacksSaveTheTemplateAndStopEarly) {
  configure_logical_devices("cpu", 2);
  const ScratchFolder folder("multi_gpu_callbacks");
  const Tensor x = random_rows({20, 10}, 1), y = random_rows({20, 3}, 2);
  const Model model = small_model(), parallel = multi_gpu_model(model, {.gpus = 2});
  parallel.compile({.optimizer = SGD({.learning_rate = 0.0}), .loss = "mse"});
  const History history = parallel.fit(
      x, y,
      {.epochs = 9,
       .verbose = 0,
       .callbacks = {
           EarlyStopping({.monitor = "loss", .min_delta = 1e-6, .patience = 2}),
           ModelCheckpoint(folder.file("plain.weights.h5"), {.save_weights_only = true}),
           ParallelModelCheckpoint(model, folder.file("parallel.weights.h5"), {.save_weights_only = true})}});
  EXPECT_EQ(history["loss"].size(), 3u);
  for (const char* file : {"plain.weights.h5", "parallel.weights.h5"}) {
    const Model plain = small_model();
    plain.load_weights(folder.file(file));
    EXPECT_EQ(plain.predict(x, {.verbose = 0}).to_vector<float>(),
              model.predict(x, {.verbose = 0}).to_vector<float>());
  }
}

TEST(MultiGpuModel, TheSummaryShowsTheTemplateAndItsDevices) {
  configure_logical_devices("cpu", 2);
  const Model model = small_model(), parallel = multi_gpu_model(model, {.gpus = 2});
  EXPECT_EQ(parallel.summary_text(),
            model.summary_text() + " multi_gpu_model: 2 replicas on cpu:0, cpu:1, outputs on cpu:0\n");
}

TEST(MultiGpuModel, OutputsAreMergedWhereAsked) {
  configure_logical_devices("cpu", 3);
  const Model model = small_model();
  const Tensor x = random_rows({5, 10}, 1);
  EXPECT_EQ(multi_gpu_model(model, {.gpus = {1, 2}})(x).device(), Device("cpu:0"));
  EXPECT_EQ(multi_gpu_model(model, {.gpus = {1, 2}, .cpu_merge = false})(x).device(), Device("cpu:1"));
}

TEST(MultiGpuModel, FitWorksWhereverOutputsAreMerged) {
  configure_logical_devices("cpu", 3);
  const Model model = small_model(), parallel = multi_gpu_model(model, {.gpus = {1, 2}, .cpu_merge = false});
  parallel.compile(adam());
  const Tensor x = random_rows({12, 10}, 1), y = random_rows({12, 3}, 2);
  const double before = parallel.evaluate(x, y, {.verbose = 0})["loss"];
  parallel.fit(x, y, {.epochs = 5, .verbose = 0});
  EXPECT_LT(parallel.evaluate(x, y, {.verbose = 0})["loss"], before);
}

TEST(MultiGpuModel, AModelThatHasMovedAwayIsRefused) {
  configure_logical_devices("cpu", 2);
  const Model model = small_model(), parallel = multi_gpu_model(model, {.gpus = 2});
  OneDeviceStrategy("cpu:1").adopt(model);
  EXPECT_THROW(parallel.predict(random_rows({4, 10}, 1), {.verbose = 0}), StateError);
}

TEST(MultiGpuModel, AdoptingTheParallelModelTakesTheTemplateAlong) {
  configure_logical_devices("cpu", 2);
  const Tensor x = random_rows({12, 10}, 1), y = random_rows({12, 3}, 2);
  const Model model = small_model(), parallel = multi_gpu_model(model, {.gpus = 2});
  parallel.compile(adam());
  parallel.fit(x, y, {.verbose = 0});
  const std::vector<float> before = parallel.predict(x, {.verbose = 0}).to_vector<float>();
  OneDeviceStrategy("cpu:1").adopt(parallel);
  EXPECT_EQ(model.weights()[0].value().device(), Device("cpu:1"));
  EXPECT_EQ(parallel.predict(x, {.verbose = 0}).to_vector<float>(), before);
  EXPECT_EQ(parallel.optimizer().iterations(), 1);
  parallel.fit(x, y, {.verbose = 0});
  EXPECT_EQ(model.predict(x, {.verbose = 0}).to_vector<float>(),
            parallel.predict(x, {.verbose = 0}).to_vector<float>());
}

TEST(MultiGpuModel, AModelWithATrainingStepOfItsOwnIsRefused) {
  struct Own : ModelNode {
    Dense dense = track("dense", Dense(1));
    Tensor call(Call& c, const Tensor& x) const override { return dense(c, x); }
    void train_step(ReplicaStep&, const Batch&) override {}
  };
  configure_logical_devices("cpu", 2);
  EXPECT_THROW(multi_gpu_model(make_model<Own>(), {.gpus = 2}), InvalidArgumentError);
}

TEST(MultiGpuModel, RelocationKeepsTheTemplatesVariables) {
  configure_logical_devices("cpu", 3);
  const Model model = OneDeviceStrategy("cpu:2").scope(small_model);
  const Variables before = model.weights();
  ASSERT_EQ(before[0].value().device(), Device("cpu:2"));
  const std::vector<float> values = before[0].value().to_vector<float>();
  const Model parallel = multi_gpu_model(model, {.gpus = 2, .cpu_relocation = true});
  EXPECT_EQ(model.weights(), before) << "the same variables";
  EXPECT_EQ(model.weights()[0].value().device(), Device("cpu:0"));
  EXPECT_EQ(model.weights()[0].value().to_vector<float>(), values);
  parallel.compile(adam());
  parallel.fit(random_rows({12, 10}, 1), random_rows({12, 3}, 2), {.verbose = 0});
  EXPECT_NE(model.weights()[0].value().to_vector<float>(), values);
}

}  // namespace
}  // namespace nyala::multi_gpu_model_test
