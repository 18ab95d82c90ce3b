// A configuration in braces alone, with one field named: g++ took it for a list where a class that begins
// with a list stands in the other constructor.
#include <gtest/gtest.h>

#include <nyala/nyala.h>

namespace nyala {

namespace {

TEST(Braces, OneNamedFieldIsAConfiguration) {
  EXPECT_EQ(Softmax({.axis = 1}).name().rfind("softmax", 0), 0u);
  EXPECT_EQ(Softmax({.axis = {1, 2}}).class_name(), "Softmax");
  EXPECT_EQ(Softmax({.name = "s"}).name(), "s");
  EXPECT_EQ(Softmax({1, 2}, {.name = "s"}).name(), "s");
  EXPECT_EQ(Input({.shape = {3}}).tensor().shape(), Shape({None, 3}));
  EXPECT_EQ(Input({.shape = {3, 2}}).tensor().shape(), Shape({None, 3, 2}));
  EXPECT_EQ(Input({3}, {.dtype = "int32"}).tensor().dtype(), DType::int32);
  EXPECT_EQ(Reshape({.target_shape = {6}})(Tensor::zeros({2, 3, 2})).shape(), Shape({2, 6}));
  EXPECT_EQ(Reshape({6})(Tensor::zeros({2, 3, 2})).shape(), Shape({2, 6}));
  EXPECT_EQ(Permute({.dims = {1}})(Tensor::zeros({2, 3})).shape(), Shape({2, 3}));
  EXPECT_EQ(Permute({2, 1})(Tensor::zeros({2, 3, 4})).shape(), Shape({2, 4, 3}));
  EXPECT_EQ(RNN({.cell = StackedRNNCells({.cells = {SimpleRNNCell(2)}})})(Tensor::zeros({1, 2, 3})).shape(),
            Shape({1, 2}));
  EXPECT_EQ(RNN({SimpleRNNCell(2), SimpleRNNCell(3)})(Tensor::zeros({1, 2, 3})).shape(), Shape({1, 3}));
}

/// Constructors that were never in doubt, one of each kind.
TEST(Braces, OtherLayersTakeThemToo) {
  EXPECT_NO_THROW(LayerNormalization({.axis = 1}));
  EXPECT_NO_THROW(LayerNormalization({.axis = {1, 2}}));
  EXPECT_NO_THROW(BatchNormalization({.axis = 1}));
  EXPECT_NO_THROW(UnitNormalization({.axis = 1}));
  EXPECT_NO_THROW(Normalization({.axis = 1}));
  EXPECT_NO_THROW(Dot({.axes = 1}));
  EXPECT_NO_THROW(Concatenate({.axis = 1}));
  EXPECT_NO_THROW(Flatten({.name = "f"}));
  EXPECT_NO_THROW(RandomZoom({.height_factor = 0.1}));
  EXPECT_NO_THROW(Activation({.activation = "relu"}));
  EXPECT_NO_THROW(Rescaling({.scale = 0.5}));
  EXPECT_NO_THROW(Dropout({.rate = 0.5}));
  EXPECT_NO_THROW(MaxPooling2D({.pool_size = 2}));
  EXPECT_NO_THROW(TimeDistributed({.layer = Dense(1)}));
  EXPECT_NO_THROW(LossScaleOptimizer({.inner_optimizer = Adam(0.1)}));
  EXPECT_NO_THROW(Adam({.learning_rate = 0.1}));
}

}  // namespace

}  // namespace nyala
