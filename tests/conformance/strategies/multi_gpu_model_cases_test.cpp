// Case 47: what Keras 2 tested of multi_gpu_model.
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

class Case47MultiGpuModel : public ::testing::Test {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 8); }
  void TearDown() override { configure_logical_devices("cpu", 1); }

  static Model dense_model() {
    clear_session();
    return Sequential({Input({10}), Dense(4), Dropout(0.5), Dense(3)});
  }
  static std::vector<float> predicted(const Model& model, const Tensor& x) {
    return model.predict(x, {.verbose = 0}).to_vector<float>();
  }
};

TEST_F(Case47MultiGpuModel, CountsAndListsOfDevices) {
  const Tensor x = ops::random_normal({33, 10}, 0.0, 1.0, {.key = 1}), y = Tensor::zeros({33, 3});
  for (const GpuSelection& gpus : {GpuSelection(8), GpuSelection({0, 2, 4})}) {
    const Model model = dense_model(), parallel = multi_gpu_model(model, {.gpus = gpus});
    parallel.compile({.optimizer = "rmsprop", .loss = "mse"});
    parallel.fit(x, y, {.batch_size = 16, .epochs = 2, .verbose = 0});
    EXPECT_EQ(parallel.predict(x, {.verbose = 0}).shape(), (Shape{33, 3}));
  }
}

TEST_F(Case47MultiGpuModel, InvalidSelections) {
  const Model model = dense_model();
  EXPECT_THROW(multi_gpu_model(model, {.gpus = 10}), DeviceNotFoundError);
  EXPECT_THROW(multi_gpu_model(model, {.gpus = {0, 2, 4, 6, 8}}), DeviceNotFoundError);
  EXPECT_THROW(multi_gpu_model(model, {.gpus = 1}), InvalidArgumentError);
  EXPECT_THROW(multi_gpu_model(model, {.gpus = {0}}), InvalidArgumentError);
}

TEST_F(Case47MultiGpuModel, SavedAndLoadedItPredictsTheSame) {
  const ScratchFolder folder("case_47");
  const Tensor x = ops::random_normal({33, 10}, 0.0, 1.0, {.key = 1});
  std::vector<float> expected;
  {
    const Model parallel = multi_gpu_model(dense_model(), {.gpus = 8});
    parallel.compile({.optimizer = "rmsprop", .loss = "mse"});
    parallel.fit(x, Tensor::zeros({33, 3}), {.verbose = 0});
    expected = predicted(parallel, x);
    parallel.save_weights(folder.file("parallel.weights.h5"));
  }
  for (int gpus : {8, 2}) {
    const Model loaded = multi_gpu_model(dense_model(), {.gpus = gpus});
    loaded.load_weights(folder.file("parallel.weights.h5"));
    const std::vector<float> received = predicted(loaded, x);
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(received[i], expected[i], 1e-5) << gpus << " devices";
  }
}

TEST_F(Case47MultiGpuModel, SiameseNames) {
  const Sequential nested({Input({3}), Dense(3)}, {.name = "nested"});
  const Tensor a = Input({3}), b = Input({3});
  const Tensor first = nested(a), second = nested(b);
  const Model siamese({.inputs = {a, b}, .outputs = {Add({.name = "add"})({first, second}), first, second}});
  const Model parallel = multi_gpu_model(siamese, {.gpus = 2});
  EXPECT_EQ(parallel.model_node().output_names(3), (std::vector<std::string>{"add", "nested_1", "nested_2"}));
}

}  // namespace
}  // namespace nyala
