// Models go through files as those of Keras do: weights from a path, whole models with Keras' private layers.
#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/models/all.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

using namespace applications;

class ApplicationFiles : public testing::Test {
 protected:
  void SetUp() override {
    clear_session();
    set_random_seed(3);
  }
  std::string file(const std::string& name) const { return folder_.file(name); }

  static Tensor image(int64_t size) {
    const Tensor x = Tensor::empty({1, size, size, 3});
    DrawStream random(7);
    for (float& value : x.data<float>()) value = static_cast<float>(random.uniform(-1.0, 1.0));
    return x;
  }
  static void expect_same(const Model& a, const Model& b, int64_t size) {
    const std::vector<float> first = a.predict(image(size), {.verbose = 0}).to_vector<float>();
    const std::vector<float> second = b.predict(image(size), {.verbose = 0}).to_vector<float>();
    EXPECT_EQ(first, second);
  }

  ScratchFolder folder_{"applications"};
};

const ApplicationConfig kTiny = {
    .input_shape = {32, 32, 3}, .alpha = 0.35, .include_top = false, .weights = "none", .pooling = "avg"};

TEST_F(ApplicationFiles, WeightsFromAPath) {
  const Model model = MobileNetV2(kTiny);
  for (const char* name : {"w.weights.h5", "w.safetensors", "whole.h5", "whole.keras"}) {
    SCOPED_TRACE(name);
    const std::string path = file(name);
    std::string(name).starts_with("whole") ? model.save(path) : model.save_weights(path);
    clear_session();
    ApplicationConfig config = kTiny;
    config.weights = path;
    expect_same(model, MobileNetV2(config), 32);
  }
}

TEST_F(ApplicationFiles, WeightsOfAnotherArchitectureAreRefused) {
  MobileNetV2(kTiny).save_weights(file("w.weights.h5"));
  ApplicationConfig config = kTiny;
  config.weights = file("w.weights.h5");
  config.alpha = 0.5;
  EXPECT_THROW(MobileNetV2(config), Error);
}

TEST_F(ApplicationFiles, AfterAFileRandomWeightsAreRandomAgain) {
  MobileNetV2(kTiny).save_weights(file("w.weights.h5"));
  ApplicationConfig config = kTiny;
  config.weights = file("absent.weights.h5");
  EXPECT_THROW(MobileNetV2(config), NotFoundError);
  config.weights = file("w.weights.h5");
  MobileNetV2(config);
  const std::vector<float> kernel = Dense(3)(Tensor::zeros({1, 4})).to_vector<float>();
  EXPECT_EQ(kernel.size(), 3u);
  const Model fresh = MobileNetV2(kTiny);
  const std::vector<float> values = fresh.weights()[0].value().to_vector<float>();
  EXPECT_NE(values[0], 0.0f);
}

TEST_F(ApplicationFiles, WholeModelsWithLayersThatKerasKeepsToItself) {
  const Tensor in = Input({8, 8, 3});
  Tensor x = LayerScale(0.25, 3)(in);
  x = StochasticDepth(0.5)(x);
  x = CustomScaleLayer(0.17)({in, x});
  x = Rescaling({.scale = {1.0, 2.0, 3.0}, .offset = -1.0})(x);
  const Model model(in, x);
  model.save(file("private.keras"));
  const Model loaded = load_model(file("private.keras"));
  expect_same(model, loaded, 8);
  const std::string json = model.to_json();
  for (const char* part : {"keras.src.applications.convnext", "keras.src.applications.inception_resnet_v2",
                           R"("registered_name":"LayerScale")", R"("drop_path_rate":0.5)",
                           R"("scale":[1.0,2.0,3.0])", R"("offset":-1.0)"})
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
}

TEST_F(ApplicationFiles, AWholeConvNeXt) {
  const Model model = ConvNeXtTiny({.input_shape = {32, 32, 3}, .weights = "none", .classes = 4});
  model.save(file("c.keras"));
  clear_session();
  expect_same(model, load_model(file("c.keras")), 32);
}

TEST(LayerScale, Refuses) {
  EXPECT_THROW(LayerScale(1.0, 0), InvalidArgumentError);
  EXPECT_THROW(LayerScale(1.0, 4)(Tensor::zeros({2, 3})), ShapeError);
}

TEST(StochasticDepth, DropsWholeRows) {
  set_random_seed(1);
  const Tensor in = Input({5, 5, 2});
  const Model model(in, StochasticDepth(0.5)(in));
  const Layer layer = model.layers().back();
  Call call({.training = true, .rows = 64, .global_rows = 64, .step = {}});
  const std::vector<float> y = layer(call, Tensor::full({64, 5, 5, 2}, 1.0)).to_vector<float>();
  int kept = 0;
  for (size_t row = 0; row < 64; ++row) {
    const float first = y[row * 50];
    EXPECT_TRUE(first == 0.0f || first == 2.0f);
    kept += first != 0.0f;
    for (size_t i = 0; i < 50; ++i) EXPECT_EQ(y[row * 50 + i], first);
  }
  EXPECT_GT(kept, 16);
  EXPECT_LT(kept, 48);
  EXPECT_THROW(StochasticDepth(1.5), InvalidArgumentError);
}

TEST(CustomScaleLayer, AddsTheScaledSecond) {
  const Tensor y = CustomScaleLayer(0.5)({Tensor::full({2, 3}, 1.0), Tensor::full({2, 3}, 4.0)});
  for (const float value : y.to_vector<float>()) EXPECT_EQ(value, 3.0f);
  EXPECT_THROW(CustomScaleLayer(0.5)(Tensor::zeros({2, 3})), InvalidArgumentError);
}

TEST(RescalingLayer, OfChannels) {
  const Tensor y = Rescaling({.scale = {1.0, 10.0}, .offset = {0.0, 1.0}})(Tensor::full({1, 2, 2}, 3.0));
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{3, 31, 3, 31}));
  EXPECT_THROW(Rescaling({.scale = {1.0, 10.0}})(Tensor::zeros({1, 3})), ShapeError);
  EXPECT_THROW(Rescaling({.scale = ChannelNumbers(std::vector<double>{})}), InvalidArgumentError);
}

}  // namespace
}  // namespace nyala
