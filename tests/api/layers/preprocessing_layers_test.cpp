#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>

namespace nyala {
namespace {

Tensor words(const std::vector<int32_t>& values, const Shape& shape) { return Tensor::from(values, shape); }

TEST(CategoryEncodingLayer, ThreeWays) {
  const Tensor x = words({0, 2, 2, 1, 7, 0}, {2, 3});
  EXPECT_EQ(CategoryEncoding(3)(x).to_vector<float>(), (std::vector<float>{1, 0, 1, 1, 1, 0}));
  EXPECT_EQ(CategoryEncoding(3, {.output_mode = "count"})(x).to_vector<float>(),
            (std::vector<float>{1, 0, 2, 1, 1, 0}));
  EXPECT_EQ(CategoryEncoding(3, {.output_mode = "one_hot"})(x).shape(), (Shape{2, 3, 3}));
  EXPECT_EQ(CategoryEncoding(3, {.output_mode = "one_hot"})(words({2}, {1, 1})).to_vector<float>(),
            (std::vector<float>{0, 0, 1}));
  EXPECT_EQ(CategoryEncoding(3)(words({}, {0, 4})).shape(), (Shape{0, 3}));
}

TEST(CategoryEncodingLayer, CountsWeights) {
  const Tensor x = words({0, 2, 2}, {1, 3}), w = Tensor::from(std::vector<float>{0.5, 1, 2}, {1, 3});
  const CategoryEncoding layer(3, {.output_mode = "count"});
  EXPECT_EQ(layer({x, w}).to_vector<float>(), (std::vector<float>{0.5, 0, 3}));
  EXPECT_THROW(CategoryEncoding(3)({x, w}), InvalidArgumentError);
  EXPECT_THROW(CategoryEncoding(3, {.output_mode = "count"})({x, Tensor::zeros({1, 2})}), ShapeError);
}

TEST(CategoryEncodingLayer, RefusesWhatDoesNotFit) {
  EXPECT_THROW(CategoryEncoding(0), InvalidArgumentError);
  EXPECT_THROW(CategoryEncoding(3, {.output_mode = "onehot"}), InvalidArgumentError);
  EXPECT_THROW(CategoryEncoding(3, {.sparse = true}), InvalidArgumentError);
  EXPECT_THROW(Discretization({.bin_boundaries = {1.0}, .output_mode = "count", .sparse = true}),
               InvalidArgumentError);
}

TEST(DiscretizationLayer, Bins) {
  const Discretization layer({.bin_boundaries = {-1, 0, 2}});
  const Tensor y = layer(Tensor::from(std::vector<float>{-5, -1, 0.5, 2}, {1, 4}));
  EXPECT_EQ(y.to_vector<int32_t>(), (std::vector<int32_t>{0, 1, 2, 3}));
  const Tensor counts =
      Discretization({.bin_boundaries = {0.0}, .output_mode = "count"})(Tensor::zeros({2, 3}));
  EXPECT_EQ(counts.to_vector<float>(), (std::vector<float>{0, 3, 0, 3}));
}

TEST(DiscretizationLayer, AdaptsToQuantiles) {
  std::vector<float> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 7919) % 1000);
  const Tensor x = Tensor::from(values, {100, 10});
  const Discretization whole({.num_bins = 4}), parts({.num_bins = 4});
  whole.adapt(x);
  parts.adapt(Dataset::from_tensor_slices(x).batch(30));
  for (const Discretization& layer : {whole, parts}) {
    std::vector<int> counts(4);
    for (const int32_t bin : layer(x).to_vector<int32_t>()) ++counts.at(static_cast<size_t>(bin));
    for (const int count : counts) EXPECT_NEAR(count, 250, 25);
  }
}

TEST(DiscretizationLayer, RefusesWhatDoesNotFit) {
  EXPECT_THROW(Discretization(DiscretizationConfig{}), InvalidArgumentError);
  EXPECT_THROW(Discretization({.bin_boundaries = {1.0, 0.0}}), InvalidArgumentError);
  EXPECT_THROW(Discretization({.num_bins = 0}), InvalidArgumentError);
  EXPECT_THROW(Discretization({.num_bins = 2, .output_mode = "ints"}), InvalidArgumentError);
  EXPECT_THROW(Discretization({.num_bins = 2})(Tensor::zeros({1, 2})), StateError);
  EXPECT_THROW(Discretization({.bin_boundaries = {1.0}}).adapt(Tensor::zeros({1, 2})), StateError);
  EXPECT_THROW(Discretization({.num_bins = 2}).adapt(Tensor::zeros({0, 2})), InvalidArgumentError);
}

TEST(DiscretizationLayer, AdaptedBoundariesTravelInAFile) {
  const Discretization layer({.num_bins = 3, .output_mode = "one_hot"});
  layer.adapt(Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  const Sequential model({Input({1}), layer});
  const std::string path = testing::TempDir() + "discretization.keras";
  model.save(path);
  const Model again = load_model(path);
  std::filesystem::remove(path);
  const Tensor x = Tensor::from(std::vector<float>{0, 3.5, 5, 10}, {4, 1});
  EXPECT_EQ(again.predict(x, {.verbose = 0}).to_vector<float>(),
            model.predict(x, {.verbose = 0}).to_vector<float>());
}

TEST(ImageLayers, ShapesAndDtypes) {
  const Tensor bytes = Tensor::zeros({2, 7, 5, 3}, DType::uint8);
  EXPECT_EQ(Resizing(4, 6)(bytes).shape(), (Shape{2, 4, 6, 3}));
  EXPECT_EQ(Resizing(4, 6)(bytes).dtype(), DType::uint8);
  EXPECT_EQ(Resizing(4, 6)(Tensor::zeros({7, 5, 3})).shape(), (Shape{4, 6, 3}));
  EXPECT_EQ(CenterCrop(4, 3)(bytes).dtype(), DType::float32);
  EXPECT_EQ(CenterCrop(9, 3)(bytes).shape(), (Shape{2, 9, 3, 3}));
  const Tensor planes = Tensor::zeros({2, 3, 7, 5});
  EXPECT_EQ(CenterCrop(4, 3, {.data_format = "channels_first"})(planes).shape(), (Shape{2, 3, 4, 3}));
  const Sequential model(
      {Input({None, None, 1}), Resizing(4, 6, {.pad_to_aspect_ratio = true}), CenterCrop(2, 2)});
  EXPECT_EQ(model.predict(Tensor::zeros({3, 9, 8, 1}), {.verbose = 0}).shape(), (Shape{3, 2, 2, 1}));
}

TEST(ImageLayers, RefuseWhatDoesNotFit) {
  EXPECT_THROW(Resizing(0, 3), InvalidArgumentError);
  EXPECT_THROW(Resizing(3, 3, {.interpolation = "linear"}), InvalidArgumentError);
  EXPECT_THROW(Resizing(3, 3, {.crop_to_aspect_ratio = true, .pad_to_aspect_ratio = true}),
               InvalidArgumentError);
  EXPECT_THROW(Resizing(3, 3, {.fill_mode = "reflect"}), InvalidArgumentError);
  EXPECT_THROW(Resizing(3, 3)(Tensor::zeros({2, 2})), ShapeError);
  EXPECT_THROW(CenterCrop(3, -1), InvalidArgumentError);
}

}  // namespace
}  // namespace nyala
