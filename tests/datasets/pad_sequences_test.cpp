#include <cmath>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/pad_sequences.h>

namespace nyala {
namespace {

TEST(PadSequencesTest, BracesAreSequencesOfIntegers) {
  const Tensor out = pad_sequences({{1}, {2, 3}, {4, 5, 6}});
  EXPECT_EQ(out.dtype(), DType::int32);
  EXPECT_EQ(out.shape(), (Shape{3, 3}));
  EXPECT_EQ(out.to_vector<int32_t>(), (std::vector<int32_t>{0, 0, 1, 0, 2, 3, 4, 5, 6}));
}

TEST(PadSequencesTest, EmptySequencesAreAllValue) {
  EXPECT_EQ(
      pad_sequences<float>({{}, {}}, {.maxlen = 2, .dtype = "float32", .value = 1.5}).to_vector<float>(),
      (std::vector<float>{1.5, 1.5, 1.5, 1.5}));
  EXPECT_EQ(pad_sequences<int>({{}, {}}).shape(), (Shape{2, 0}));
  EXPECT_EQ(pad_sequences<int>({}, {.maxlen = 4}).shape(), (Shape{0, 4}));
  EXPECT_THROW(pad_sequences<int>({}), InvalidArgumentError);
}

TEST(PadSequencesTest, StepsMayBeVectorsOfOneShape) {
  const Tensor two = Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2});
  const Tensor none = Tensor::zeros({0});
  const Tensor out = pad_tensor_sequences({none, two}, {.maxlen = 3, .dtype = "float64", .padding = "post"});
  EXPECT_EQ(out.shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(out.to_vector<double>(), (std::vector<double>{0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0}));
  EXPECT_THROW(pad_tensor_sequences({two, Tensor::zeros({2, 3})}), ShapeError);
  EXPECT_THROW(pad_tensor_sequences({Tensor::scalar(1.0f)}), ShapeError);
}

TEST(PadSequencesTest, ValuesThatDoNotFitAreErrors) {
  EXPECT_THROW(pad_sequences<int64_t>({{int64_t{1} << 31}}), InvalidArgumentError);
  EXPECT_EQ(pad_sequences<int64_t>({{(int64_t{1} << 31) - 1}}).to_vector<int32_t>(),
            (std::vector<int32_t>{2147483647}));
  EXPECT_THROW(pad_sequences<double>({{1e10}}), InvalidArgumentError);
  EXPECT_THROW(pad_sequences<double>({{std::nan("")}}), InvalidArgumentError);
  EXPECT_THROW(pad_sequences({{1}}, {.dtype = "uint8", .value = -1}), InvalidArgumentError);
  EXPECT_EQ(pad_sequences<double>({{-1.9, 1.9}}).to_vector<int32_t>(), (std::vector<int32_t>{-1, 1}));
}

TEST(PadSequencesTest, UnknownWordsAreErrors) {
  EXPECT_THROW(pad_sequences({{1}}, {.padding = "before"}), InvalidArgumentError);
  EXPECT_THROW(pad_sequences({{1}}, {.truncating = ""}), InvalidArgumentError);
  EXPECT_THROW(pad_sequences({{1}}, {.dtype = "int16"}), InvalidArgumentError);
  EXPECT_THROW(pad_sequences({{1}}, {.maxlen = 0}), InvalidArgumentError);
}

}  // namespace
}  // namespace nyala
