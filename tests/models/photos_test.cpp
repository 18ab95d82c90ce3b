// What pretrained networks see in photographs, from the folder of large test data, which holds the five best
// classes that an independent implementation found. Skips without it.
#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include <nyala/api/saving/arrays/numpy.h>
#include <nyala/backend/ops/all.h>
#include <nyala/datasets/image/load_img.h>
#include <nyala/files/json/strict_json.h>
#include <nyala/models/all.h>
#include <nyala/tests/datasets/test_files.h>
#include <nyala/tests/models/folded_weights.h>

namespace nyala {
namespace {

class Photos : public testing::Test {
 protected:
  void SetUp() override {
    if (datasets::test_data().empty()) GTEST_SKIP() << "no folder of large test data";
    clear_session();
    const datasets::Bytes text = datasets::read_file(data("imagenet/expected_top5.json"));
    expected_ = parse_json({reinterpret_cast<const char*>(text.data()), text.size()}, "expected_top5.json");
    crops_ = load_npz(data("imagenet/expected_outputs.npz"), {"input_224"}).at(0).second;
  }
  static std::string data(const std::string& name) { return (datasets::test_data() / name).string(); }

  /// The photos in the order of the recorded crops.
  static std::vector<std::string> names() {
    return {"bird.bmp",
            "cat.bmp",
            "cat_720p.jpg",
            "dragonfly.bmp",
            "grace_hopper.bmp",
            "hot_dog.jpg",
            "owl.jpg",
            "parrot.jpg",
            "pets.jpg",
            "sunflower.bmp",
            "samoyed_256.bmp",
            "cat_test_0.bmp",
            "dog_test_0.bmp",
            "hotdog_train_0.bmp",
            "hotdog_test_0.bmp",
            "caffe_cat.jpg",
            "caffe_fish_bike.jpg"};
  }
  static Model mobilenet_v1() {
    return applications::MobileNet(
        {.alpha = 0.25, .weights = data("weights/mobilenet_v1_0.25_224_imagenet_keras2.8.h5")});
  }
  static Model mobilenet_v2() {
    const Model model = applications::MobileNetV2({.weights = "none", .classes = 1001});
    set_folded_weights(model, data("weights/derived_mobilenet_v2_1.0_224_imagenet_folded.npz"));
    return model;
  }
  struct Expectation {
    std::string key;   // in the file of expected classes
    int64_t first;     // the column of the first class: 1 where column 0 is "background"
    double tolerance;  // of a score
  };
  /// The five best classes of every photo in their order; two whose scores are as near as `tolerance` may
  /// change places.
  void expect_top5(const Model& model, const Tensor& images, const Expectation& expectation) const {
    const Tensor scores = model.predict(applications::preprocess_input(images, "tf"), {.verbose = 0});
    const int64_t columns = scores.shape()[1], classes = columns - expectation.first;
    for (size_t row = 0; row < names().size(); ++row) {
      const float* of_row =
          scores.data<float>().data() + static_cast<int64_t>(row) * columns + expectation.first;
      std::vector<int64_t> order(static_cast<size_t>(classes));
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + 5, order.end(),
                        [&](int64_t a, int64_t b) { return of_row[a] > of_row[b]; });
      const Json& wanted = expected_.at(names()[row]).at(expectation.key);
      ASSERT_EQ(wanted.size(), 5u);
      for (size_t i = 0; i < 5; ++i) {
        SCOPED_TRACE(names()[row] + ", " + expectation.key + ", place " + std::to_string(i + 1));
        const auto label = wanted[i][0].get<int64_t>();
        EXPECT_NEAR(of_row[label], wanted[i][2].get<double>(), expectation.tolerance);
        if (order[i] != label) {
          EXPECT_NEAR(of_row[order[i]], of_row[label], expectation.tolerance);
        }
      }
    }
  }

  Json expected_;
  Tensor crops_;
};

// The recorded crops, byte for byte. Scores are recorded with four digits.
TEST_F(Photos, MobileNetSeesWhatWasRecorded) {
  expect_top5(mobilenet_v1(), crops_, {.key = "v1_025", .first = 0, .tolerance = 1e-4});
}

TEST_F(Photos, MobileNetV2SeesWhatWasRecorded) {
  expect_top5(mobilenet_v2(), crops_, {.key = "v2_100", .first = 1, .tolerance = 1e-4});
}

/// The files themselves, decoded and resized here: the middle of the picture, bilinear.
TEST_F(Photos, FromTheirFilesTheyAreTheSame) {
  Tensors images;
  for (const std::string& name : names())
    images.push_back(
        load_img(data("imagenet/photos/" + name),
                 {.target_size = {224, 224}, .interpolation = "bilinear", .keep_aspect_ratio = true}));
  const Tensor all = ops::stack(images, 0);
  const double difference = ops::mean(ops::abs(all - ops::cast(crops_, DType::float32))).item();
  EXPECT_LT(difference, 0.05);  // of 255: decoders of JPEG differ by a rounding here and there
  expect_top5(mobilenet_v1(), all, {.key = "v1_025", .first = 0, .tolerance = 2e-2});
  expect_top5(mobilenet_v2(), all, {.key = "v2_100", .first = 1, .tolerance = 2e-2});
}

}  // namespace
}  // namespace nyala
