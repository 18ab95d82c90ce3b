#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/shape.h>

namespace nyala {

using namespace nyala::detail;

namespace {

TEST(ShapeTest, PrintsAsKeras) {
  EXPECT_EQ(Shape({None, 28, 28, 1}).to_string(), "(None, 28, 28, 1)");
  EXPECT_EQ(Shape({10}).to_string(), "(10,)");
  EXPECT_EQ(Shape().to_string(), "()");
}

TEST(ShapeTest, AxesCountFromBothEnds) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape[-1], 4);
  EXPECT_EQ(shape[-3], 2);
  EXPECT_THROW(shape[3], ShapeError);
  EXPECT_THROW(shape[-4], ShapeError);
  EXPECT_THROW(Shape()[0], ShapeError);
}

TEST(ShapeTest, CountsElements) {
  EXPECT_EQ(Shape().num_elements(), 1);
  EXPECT_EQ(Shape({3, 0, 5}).num_elements(), 0);
  EXPECT_EQ(Shape({3, 4}).num_elements(), 12);
  EXPECT_THROW(Shape({None, 3}).num_elements(), ShapeError);
  EXPECT_THROW(Shape({int64_t{1} << 40, int64_t{1} << 40}).num_elements(), ShapeError);
}

TEST(ShapeTest, RefusesImpossibleSizes) {
  EXPECT_THROW(Shape({-2}), ShapeError);
  EXPECT_THROW(Shape({1, 1, 1, 1, 1, 1, 1, 1, 1}), ShapeError);
  EXPECT_EQ(Shape({1, 1, 1, 1, 1, 1, 1, 1}).rank(), 8);
}

TEST(ShapeTest, Edits) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.without(1), Shape({2, 4}));
  EXPECT_EQ(shape.without(-1), Shape({2, 3}));
  EXPECT_EQ(shape.with(-1, None), Shape({2, 3, None}));
  EXPECT_EQ(shape.slice(1, 3), Shape({3, 4}));
  EXPECT_EQ(shape.slice(1, 1), Shape());
  EXPECT_TRUE(shape.is_known());
  EXPECT_FALSE(shape.with(0, None).is_known());
}

TEST(ShapeTest, EqualityLooksAtRankAndSizes) {
  EXPECT_EQ(Shape({2, 3}), Shape({2, 3}));
  EXPECT_NE(Shape({2, 3}), Shape({3, 2}));
  EXPECT_NE(Shape({2}), Shape({2, 1}));
  EXPECT_NE(Shape({None}), Shape({1}));
}

TEST(ShapeTest, BroadcastsAsNumPy) {
  EXPECT_EQ(broadcast({3, 1}, {1, 4}, "add"), Shape({3, 4}));
  EXPECT_EQ(broadcast({}, {2, 2}, "add"), Shape({2, 2}));
  EXPECT_EQ(broadcast({5, 1, 2}, {4, 1}, "add"), Shape({5, 4, 2}));
  EXPECT_EQ(broadcast({0}, {1}, "add"), Shape({0}));
  EXPECT_EQ(broadcast({None, 3}, {1}, "add"), Shape({None, 3}));
  EXPECT_EQ(broadcast({None}, {7}, "add"), Shape({7}));
  EXPECT_EQ(broadcast({None, 1}, {None, 4}, "add"), Shape({None, 4}));
  try {
    broadcast({2, 3}, {4}, "add");
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "add: shapes (2, 3) and (4,) do not broadcast (axis -1: 3 and 4)");
  }
  EXPECT_THROW(broadcast({0}, {2}, "add"), ShapeError);
}

TEST(ShapeTest, NoneMatchesAnySize) {
  EXPECT_TRUE(matches({32, 10}, {None, 10}));
  EXPECT_FALSE(matches({32, 10}, {None, 11}));
  EXPECT_FALSE(matches({32, 10}, {None}));
}

}  // namespace

}  // namespace nyala
