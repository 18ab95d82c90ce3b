#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/initializers/constant.h>
#include <nyala/api/layers/all.h>
#include <nyala/api/model/model.h>
#include <nyala/backend/core/error.h>

namespace nyala::shape_layers_test {
namespace {

Tensor counted(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return Tensor::from(values, shape);
}

TEST(CroppingLayers, LeaveOutEdges) {
  const Tensor x = counted({1, 5, 1});
  EXPECT_EQ(Cropping1D()(x).to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(Cropping1D({0, 3})(x).to_vector<float>(), (std::vector<float>{0, 1}));
  EXPECT_EQ(Cropping2D({{1, 0}, {0, 2}})(counted({1, 2, 3, 1})).to_vector<float>(), (std::vector<float>{3}));
  EXPECT_EQ(Cropping3D({1, 2, 0})(counted({2, 4, 5, 6, 3})).shape(), (Shape{2, 2, 1, 6, 3}));
  EXPECT_EQ(Cropping1D()(Tensor::zeros({0, 4, 2})).shape(), (Shape{0, 2, 2}));
}

TEST(CroppingLayers, OpenSizesStayOpen) {
  const Sequential model({Input({None, 3}), Cropping1D({1, 2})});
  EXPECT_EQ(model.predict(counted({2, 6, 3}), {.verbose = 0}).shape(), (Shape{2, 3, 3}));
  EXPECT_THROW(model.predict(counted({2, 3, 3}), {.verbose = 0}), ShapeError);
}

TEST(CroppingLayers, RefuseWhatDoesNotFit) {
  EXPECT_THROW(Cropping1D(-1), InvalidArgumentError);
  EXPECT_THROW(Cropping2D({.cropping = 1, .data_format = "channels_middle"}), InvalidArgumentError);
  EXPECT_THROW(Cropping1D(2)(counted({1, 4, 1})), ShapeError);
  EXPECT_THROW(Cropping1D()(counted({1, 4})), ShapeError);
  EXPECT_THROW(Cropping3D(3)(counted({1, 4, 9, 9, 1})), ShapeError);
}

TEST(ZeroPaddingLayers, AddZeros) {
  EXPECT_EQ(ZeroPadding1D({1, 2})(counted({1, 2, 1})).to_vector<float>(),
            (std::vector<float>{0, 0, 1, 0, 0}));
  EXPECT_EQ(ZeroPadding3D({1, 0, 2})(counted({1, 2, 2, 2, 1})).shape(), (Shape{1, 4, 2, 6, 1}));
  EXPECT_THROW(ZeroPadding1D(-1), InvalidArgumentError);
  EXPECT_THROW(ZeroPadding3D()(counted({1, 2, 2, 1})), ShapeError);
}

TEST(UpSamplingLayers, RepeatOrBlend) {
  EXPECT_EQ(UpSampling1D(2)(counted({1, 2, 1})).to_vector<float>(), (std::vector<float>{0, 0, 1, 1}));
  EXPECT_EQ(UpSampling2D({1, 2})(counted({1, 1, 2, 1})).to_vector<float>(), (std::vector<float>{0, 0, 1, 1}));
  EXPECT_EQ(UpSampling2D({1, 2}, {.interpolation = "bilinear"})(counted({1, 1, 2, 1})).to_vector<float>(),
            (std::vector<float>{0, 0.25f, 0.75f, 1}));
  EXPECT_EQ(UpSampling3D({2, 1, 3})(counted({1, 2, 2, 2, 1})).shape(), (Shape{1, 4, 2, 6, 1}));
  const Sequential model({Input({None, 4, 1}), UpSampling2D(2, {.interpolation = "bicubic"})});
  EXPECT_EQ(model.predict(counted({1, 3, 4, 1}), {.verbose = 0}).shape(), (Shape{1, 6, 8, 1}));
  EXPECT_THROW(UpSampling1D(0), InvalidArgumentError);
  EXPECT_THROW(UpSampling2D({.interpolation = "cubic"}), InvalidArgumentError);
  EXPECT_THROW(UpSampling2D()(counted({1, 2, 2})), ShapeError);
}

TEST(PermuteLayer, CountsAxesFromOne) {
  EXPECT_EQ(Permute({2, 1})(counted({1, 2, 3})).to_vector<float>(), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(Permute({3, 1, 2})(counted({5, 2, 3, 4})).shape(), (Shape{5, 4, 2, 3}));
  EXPECT_THROW(Permute({0, 1}), InvalidArgumentError);
  EXPECT_THROW(Permute({1, 3}), InvalidArgumentError);
  EXPECT_THROW(Permute({1, 1}), InvalidArgumentError);
  EXPECT_THROW(Permute({2, 1})(counted({1, 2})), ShapeError);
}

TEST(RepeatVectorLayer, MakesASequence) {
  EXPECT_EQ(RepeatVector(2)(counted({2, 2})).to_vector<float>(),
            (std::vector<float>{0, 1, 0, 1, 2, 3, 2, 3}));
  EXPECT_THROW(RepeatVector(0), InvalidArgumentError);
  EXPECT_THROW(RepeatVector(2)(counted({1, 2, 2})), ShapeError);
}

TEST(RectifierLayers, HaveTheirSlopes) {
  const Tensor x = Tensor::from(std::vector<float>{-2, -1, 0, 3}, {1, 4});
  EXPECT_EQ(LeakyReLU(0.5)(x).to_vector<float>(), (std::vector<float>{-1, -0.5f, 0, 3}));
  EXPECT_FLOAT_EQ(ELU(0.5)(x).to_vector<float>()[1], 0.5f * (std::exp(-1.0f) - 1));
  EXPECT_THROW(LeakyReLU(-0.1), InvalidArgumentError);
  const PReLU layer({.alpha_initializer = Constant(0.25), .shared_axes = {1}});
  EXPECT_EQ(layer(x).to_vector<float>(), (std::vector<float>{-0.5f, -0.25f, 0, 3}));
  EXPECT_EQ(layer.weights()[0].shape(), Shape{1});
  EXPECT_THROW(PReLU({.shared_axes = {2}})(x), ShapeError);
  EXPECT_THROW(PReLU().node().ensure_built({Shape({None, None, 3})}), ShapeError);
}

}  // namespace
}  // namespace nyala::shape_layers_test
