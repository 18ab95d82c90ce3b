#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/model/model.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {
namespace {

TEST(ConstantsInGraphs, AreOperandsOfOps) {
  const Input input({3});
  const Tensor x = input;
  const Model model(x, (x / 4.0 + Tensor::from(std::vector<float>{1, 2, 3})) * 2.0);
  const std::vector<float> expected = {4, 5, 6, 2.5, 3.5, 4.5};
  EXPECT_EQ(model.predict(Tensor::from(std::vector<float>{4, 2, 0, 1, -1, -3}, {2, 3}))
                .to_vector<float>(),
            expected);
  EXPECT_NE(model.summary_text().find("true_divide"), std::string::npos);
}

}  // namespace
}  // namespace nyala
