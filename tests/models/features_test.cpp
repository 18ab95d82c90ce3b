// Features of layers inside a pretrained network against the real Keras (make_features.py), and the network
// cut in the middle. Skips without the folder of large test data.
#include <cmath>

#include <gtest/gtest.h>

#include <nyala/api/saving/load_model.h>
#include <nyala/models/all.h>
#include <nyala/tests/datasets/test_files.h>

namespace nyala {
namespace {

class Features : public testing::Test {
 protected:
  void SetUp() override {
    if (datasets::test_data().empty()) GTEST_SKIP() << "no folder of large test data";
    clear_session();
  }
  static Tensor pictures() {
    std::vector<float> values;
    for (int64_t i = 0; i < 2 * 128 * 128 * 3; ++i)
      values.push_back(static_cast<float>(static_cast<double>(i * 7 % 11) / 11.0 - 0.4));
    return Tensor::from(values, {2, 128, 128, 3});
  }
  static double mean(const Tensor& x) {
    double sum = 0;
    for (const float value : x.to_vector<float>()) sum += value;
    return sum / static_cast<double>(x.num_elements());
  }
};

TEST_F(Features, OfMobileNetV2AreThoseOfKeras) {
  const Model base = applications::MobileNetV2(
      {.input_shape = {128, 128, 3},
       .alpha = 0.35,
       .include_top = false,
       .weights =
           (datasets::test_data() / "weights/derived_mobilenet_v2_0.35_128_imagenet_notop.h5").string()});
  const Model features(base.input(), {base.get_layer("block_6_expand").output(),
                                      base.get_layer("block_13_expand_relu").output(), base.output()});
  const Tensors out = features.predict_all({pictures()}, {.verbose = 0});
  EXPECT_NEAR(mean(out[0]), -0.5015464, 1e-4);
  EXPECT_NEAR(mean(out[1]), 0.1967427, 1e-4);
  EXPECT_NEAR(mean(out[2]), 0.2288332, 1e-4);
  const std::vector<float> values = out[0].to_vector<float>();
  const float expected[] = {7.6839f, -1.13687f, -14.96677f, -6.10707f, -0.53071f, -19.9545f};
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(values[((16 + 3) * 16 + 2) * 96 + i], expected[i], 2e-3) << i;
  const Model rest(base.get_layer("block_6_expand").output(), base.output());
  const std::vector<float> behind = rest.predict(out[0], {.verbose = 0}).to_vector<float>(),
                           whole = out[2].to_vector<float>();
  for (size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(behind[i], whole[i], 1e-3) << i;
}

TEST_F(Features, OfAKeras2FileThatWasLoaded) {
  const Model net = load_model((datasets::test_data() / "keras_models/mlperf_resnet8_cifar10.h5").string(),
                               {.compile = false});
  const Layer middle = net.layers().at(net.layers().size() / 2);
  const Model features(net.input(), {middle.output(), net.output()});
  const Tensor x = Tensor::full({2, 32, 32, 3}, 100.0);
  const Tensors out = features.predict_all({x}, {.verbose = 0});
  EXPECT_EQ(out[0].shape().rank(), 4);
  EXPECT_EQ(out[1].to_vector<float>(), net.predict(x, {.verbose = 0}).to_vector<float>());
}

}  // namespace
}  // namespace nyala
