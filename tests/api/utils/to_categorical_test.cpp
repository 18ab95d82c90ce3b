#include <cmath>

#include <gtest/gtest.h>

#include <nyala/api/utils/to_categorical.h>
#include <nyala/backend/core/error.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {
namespace {

TEST(ToCategorical, RowsAreOneHot) {
  const Tensor rows = to_categorical(Tensor::from(std::vector<int64_t>{0, 2}, {2, 1}));
  EXPECT_EQ(rows.shape(), (Shape{2, 3}));
  EXPECT_EQ(rows.to_vector<float>(), (std::vector<float>{1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(to_categorical(Tensor({1.0, 0.0}), 4).shape(), (Shape{2, 4}));
}

TEST(ToCategorical, SaysWhichLabelIsNone) {
  const auto text = [](const Tensor& labels, int64_t classes = 0) {
    return error_text<NumericError>([&] { to_categorical(labels, classes); });
  };
  for (const int64_t classes : {0, 3}) {
    EXPECT_EQ(
        text(Tensor({0.0, -1.0}), classes),
        "to_categorical: expected class numbers, whole and not below 0, received label -1 at position 1");
    EXPECT_EQ(
        text(Tensor({1.5}), classes),
        "to_categorical: expected class numbers, whole and not below 0, received label 1.5 at position 0");
    EXPECT_NE(text(Tensor({0.0, NAN}), classes).find("label nan at position 1"), std::string::npos);
  }
  EXPECT_EQ(text(Tensor({0.0, 3.0}), 3),
            "to_categorical: label 3 at position 1 is outside [0, 3), the given num_classes");
  for (const double huge : {1e18, 1e300, static_cast<double>(INFINITY)})
    EXPECT_NE(text(Tensor({0.0, huge})).find("at position 1 would make as many classes"), std::string::npos)
        << huge;
  expect_error([] { to_categorical(Tensor({0.0}), -2); }, {"num_classes >= 1", "received -2"});
}

}  // namespace
}  // namespace nyala
