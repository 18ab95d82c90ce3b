// Pretrained weights and photographs from the folder of large test data, which says what their outputs are.
// Skips without it.
#include <cmath>

#include <gtest/gtest.h>

#include <nyala/api/saving/arrays/numpy.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/reduction/arg_reduction.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/models/all.h>
#include <nyala/tests/datasets/test_files.h>
#include <nyala/tests/models/folded_weights.h>

namespace nyala {
namespace {

class RealWeights : public testing::Test {
 protected:
  void SetUp() override {
    if (datasets::test_data().empty()) GTEST_SKIP() << "no folder of large test data";
    clear_session();
  }
  static std::string data(const std::string& name) { return (datasets::test_data() / name).string(); }
  static Tensor expected(const std::string& name) {
    return load_npz(data("imagenet/expected_outputs.npz"), {name}).at(0).second;
  }
  static void expect_near(const Tensor& received, const Tensor& wanted, double tolerance) {
    ASSERT_EQ(received.shape(), wanted.shape());
    const std::vector<float> a = received.to_vector<float>(), b = wanted.to_vector<float>();
    double error = 0;
    for (size_t i = 0; i < a.size(); ++i)
      error = std::max(error, std::fabs(static_cast<double>(a[i]) - b[i]));
    EXPECT_LE(error, tolerance);
  }
};

TEST_F(RealWeights, MobileNetWithATop) {
  const Model model = applications::MobileNet(
      {.alpha = 0.25, .weights = data("weights/mobilenet_v1_0.25_224_imagenet_keras2.8.h5")});
  const Tensor images = applications::mobilenet::preprocess_input(expected("input_224"));
  expect_near(model.predict(images, {.verbose = 0}), expected("probs_mobilenet_v1_025_224"), 1e-4);
}

TEST_F(RealWeights, MobileNetV2WithoutATop) {
  const std::string weights = data("weights/derived_mobilenet_v2_0.35_128_imagenet_notop.h5");
  const Model model = applications::MobileNetV2({.input_shape = {128, 128, 3},
                                                 .alpha = 0.35,
                                                 .include_top = false,
                                                 .weights = weights,
                                                 .pooling = "avg"});
  const Tensor images = applications::mobilenet_v2::preprocess_input(expected("input_128"));
  expect_near(model.predict(images, {.verbose = 0}), expected("features_mobilenet_v2_035_128_notop"), 1e-3);
}

/// Keras 3.15 says where the largest feature of every photo is, and how large.
TEST_F(RealWeights, MobileNetV2WithoutATopAt224) {
  const std::vector<int64_t> places = {1169, 585, 585, 357, 1084, 457, 788, 214, 252,
                                       861,  461, 564, 505, 665,  355, 269, 1243};
  const std::vector<float> values = {2.37185F,  3.106268F, 3.36295F,  3.551475F, 3.642874F, 3.456473F,
                                     2.963722F, 4.156775F, 4.485355F, 4.603419F, 2.707808F, 4.041136F,
                                     3.000666F, 4.688835F, 3.155517F, 2.743047F, 4.111604F};
  const Model model =
      applications::MobileNetV2({.alpha = 0.35,
                                 .include_top = false,
                                 .weights = data("weights/derived_mobilenet_v2_0.35_224_imagenet_notop.h5"),
                                 .pooling = "avg"});
  const Tensor images = applications::mobilenet_v2::preprocess_input(expected("input_224"));
  const Tensor features = model.predict(images, {.verbose = 0});
  ASSERT_EQ(features.shape(), Shape({17, 1280}));
  EXPECT_EQ(ops::cast(ops::argmax(features, -1), DType::int64).to_vector<int64_t>(), places);
  expect_near(ops::max(features, {-1}), Tensor::from(values), 1e-4);
}

TEST_F(RealWeights, MobileNetV2OfFoldedWeights) {
  const Model model = applications::MobileNetV2({.weights = "none", .classes = 1001});
  set_folded_weights(model, data("weights/derived_mobilenet_v2_1.0_224_imagenet_folded.npz"));
  const Tensor images = applications::mobilenet_v2::preprocess_input(expected("input_224"));
  expect_near(model.predict(images, {.verbose = 0}), expected("probs_mobilenet_v2_100_224_folded_1001"),
              1e-4);
}

}  // namespace
}  // namespace nyala
