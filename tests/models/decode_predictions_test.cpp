#include <nyala/models/decode_predictions.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/imagenet_classes.h>
#include <nyala/models/preprocess_input.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

TEST(ImagenetClasses, OfAFile) {
  const ScratchFolder folder("imagenet_classes");
  const auto write = [&](int count, const std::string& last) {
    std::ofstream file(folder.file("index.json"));
    file << "{";
    for (int i = 0; i + 1 < count; ++i)
      file << "\"" << i << "\": [\"n" << i << "\", \"class_" << i << "\"], ";
    file << "\"" << count - 1 << "\": " << last << "}";
  };
  write(1000, R"(["n999", "caf\u00e9"])");
  const auto classes = datasets::read_imagenet_classes(folder.file("index.json"));
  ASSERT_EQ(classes.size(), 1000u);
  EXPECT_EQ(classes[17].id, "n17");
  EXPECT_EQ(classes[999].name, "caf\u00e9");
  for (const char* bad : {R"("n999")", R"(["n999"])", R"(["n999", 1])", "[]", "null"}) {
    write(1000, bad);
    EXPECT_THROW(datasets::read_imagenet_classes(folder.file("index.json")), FileFormatError) << bad;
  }
  write(999, R"(["n998", "last"])");
  EXPECT_THROW(datasets::read_imagenet_classes(folder.file("index.json")), FileFormatError);
  EXPECT_THROW(datasets::read_imagenet_classes(folder.file("absent.json")), IoError);
}

// Expected values by the formulas, in double.
TEST(PreprocessInput, OfEachMode) {
  const Tensor image = Tensor::from(std::vector<float>{0, 127.5, 255, 10, 20, 30}, {1, 1, 2, 3});
  const auto expect = [&](const std::string& mode, const std::vector<double>& expected) {
    const std::vector<float> received = applications::preprocess_input(image, mode).to_vector<float>();
    ASSERT_EQ(received.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(received[i], expected[i], 2e-5) << mode << " " << i;
  };
  expect("tf", {-1, 0, 1, 10 / 127.5 - 1, 20 / 127.5 - 1, 30 / 127.5 - 1});
  expect("caffe", {255 - 103.939, 127.5 - 116.779, 0 - 123.68, 30 - 103.939, 20 - 116.779, 10 - 123.68});
  expect("torch", {-0.485 / 0.229, (0.5 - 0.456) / 0.224, (1 - 0.406) / 0.225, (10 / 255.0 - 0.485) / 0.229,
                   (20 / 255.0 - 0.456) / 0.224, (30 / 255.0 - 0.406) / 0.225});
  expect("none", {0, 127.5, 255, 10, 20, 30});
}

TEST(PreprocessInput, TakesIntegersAndSingleImages) {
  const Tensor image = Tensor::from(std::vector<uint8_t>{0, 51, 255}, {1, 1, 3});
  const Tensor x = applications::preprocess_input(image, "tf");
  EXPECT_EQ(x.dtype(), DType::float32);
  EXPECT_EQ(x.shape(), (Shape{1, 1, 3}));
  EXPECT_NEAR(x.to_vector<float>()[1], 51 / 127.5 - 1, 1e-6);
}

TEST(PreprocessInput, Refuses) {
  EXPECT_THROW(applications::preprocess_input(Tensor::zeros({1, 2, 2, 3}), "cafe"), InvalidArgumentError);
  EXPECT_THROW(applications::preprocess_input(Tensor::zeros({1, 2, 2, 1}), "caffe"), ShapeError);
  EXPECT_THROW(applications::preprocess_input(Tensor::zeros({3}), "torch"), ShapeError);
}

/// Needs the folder of large test data, which says so by its path.
TEST(DecodePredictions, NamesTheLikeliestClasses) {
  const char* chosen = std::getenv("NYALA_TEST_DATA");
  const std::filesystem::path index =
      std::filesystem::path(chosen ? chosen : NYALA_TEST_DATA) / "imagenet/imagenet_class_index.json";
  if (!std::filesystem::exists(index)) GTEST_SKIP() << "no " << index;
  const ScratchFolder folder("decode_predictions");
  std::filesystem::create_directories(folder.path() / "models");
  std::filesystem::copy_file(index, folder.path() / "models/imagenet_class_index.json");
  setenv("NYALA_HOME", folder.path().c_str(), 1);
  const Tensor scores = Tensor::zeros({2, 1000});
  scores.data<float>()[281] = 0.7f;
  scores.data<float>()[282] = 0.2f;
  scores.data<float>()[1000 + 0] = 1.0f;
  const auto guesses = applications::decode_predictions(scores, 2);
  unsetenv("NYALA_HOME");
  ASSERT_EQ(guesses.size(), 2u);
  ASSERT_EQ(guesses[0].size(), 2u);
  EXPECT_EQ(guesses[0][0].class_name, "n02123045");
  EXPECT_EQ(guesses[0][0].class_description, "tabby");
  EXPECT_FLOAT_EQ(static_cast<float>(guesses[0][0].score), 0.7f);
  EXPECT_EQ(guesses[0][1].class_description, "tiger_cat");
  EXPECT_EQ(guesses[1][0].class_description, "tench");
}

}  // namespace
}  // namespace nyala
