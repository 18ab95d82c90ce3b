// Numbers between layers: symbolic tensors treat them as others do, and files bring them back with their
// dtypes.
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

constexpr int64_t kOdd = 9'007'199'254'740'993;  // no double

class LiteralsInGraphs : public ::testing::Test {
 protected:
  /// What a model of `trace` gives for x, after it went through a file.
  template <class T>
  std::vector<T> reread(const Tensor& x, Tensor (*trace)(const Tensor&)) {
    clear_session();
    const Input input({x.shape()[1]}, {.dtype = std::string(name_of(x.dtype()))});
    const Model traced(input, trace(input));
    traced.save(folder_.file("m.keras"));
    const Model loaded = load_model(folder_.file("m.keras"));
    const Tensor eager = trace(x), before = traced(x), after = loaded(x);
    EXPECT_EQ(before.dtype(), eager.dtype());
    EXPECT_EQ(after.dtype(), eager.dtype());
    EXPECT_EQ(before.to_vector<T>(), eager.to_vector<T>());
    EXPECT_EQ(after.to_vector<T>(), eager.to_vector<T>());
    return after.to_vector<T>();
  }
  const ScratchFolder folder_{"literals"};
  const Tensor long_ = Tensor::from(std::vector<int64_t>{kOdd, -kOdd, 3}, {1, 3});
  const Tensor double_ = Tensor::from(std::vector<double>{0.3, -0.3, 0.1}, {1, 3});
};

TEST_F(LiteralsInGraphs, IntegersStayExact) {
  using Values = std::vector<int64_t>;
  EXPECT_EQ(reread<int64_t>(long_, [](const Tensor& x) { return ops::maximum(x, 0) + kOdd; }),
            (Values{2 * kOdd, kOdd, kOdd + 3}));
  EXPECT_EQ(reread<int64_t>(long_, [](const Tensor& x) { return 1 - ops::where(x > 3, x * 2, -kOdd); }),
            (Values{1 - 2 * kOdd, 1 + kOdd, 1 + kOdd}));
  EXPECT_EQ(reread<int64_t>(long_, [](const Tensor& x) { return ops::mod(x, 10) & 6; }), (Values{2, 6, 2}));
  EXPECT_EQ(reread<int64_t>(Tensor::from(std::vector<int64_t>{2, 3, -5}, {1, 3}),
                            [](const Tensor& x) { return -ops::power(x, 3); }),
            (Values{-8, -27, 125}));
  EXPECT_EQ(reread<int64_t>(long_, [](const Tensor& x) { return ops::full_like(x, kOdd); }),
            (Values{kOdd, kOdd, kOdd}));
}

TEST_F(LiteralsInGraphs, FractionsAndSmallIntegers) {
  const Tensor bytes = Tensor::from(std::vector<uint8_t>{0, 5, 250}, {1, 3});
  EXPECT_EQ(reread<int32_t>(bytes, [](const Tensor& x) { return x + 10; }),
            (std::vector<int32_t>{10, 15, 260}));
  EXPECT_EQ(reread<uint8_t>(bytes, [](const Tensor& x) { return ops::minimum(x, 9); }),
            (std::vector<uint8_t>{0, 5, 9}));
  EXPECT_EQ(reread<float>(bytes, [](const Tensor& x) { return x * 2.0; }), (std::vector<float>{0, 10, 500}));
  EXPECT_EQ(reread<int32_t>(bytes, [](const Tensor& x) { return ops::where(~(x > 2) | (x == 250), 1, 0); }),
            (std::vector<int32_t>{1, 0, 1}));
}

TEST_F(LiteralsInGraphs, BesideAConstantCondition) {
  const Tensor x = Tensor::from(std::vector<int64_t>{kOdd, 2, 3}, {1, 3});
  EXPECT_EQ(reread<int64_t>(x, [](const Tensor& t) { return ops::where(Tensor({1, 0, 1}) > 0, t, -1); }),
            (std::vector<int64_t>{kOdd, -1, 3}));
}

TEST_F(LiteralsInGraphs, DoublesKeepTheirBits) {
  EXPECT_EQ(reread<double>(double_, [](const Tensor& x) { return ops::maximum(x, 0.1) + 0.7; }),
            (std::vector<double>{0.3 + 0.7, 0.1 + 0.7, 0.1 + 0.7}));
  EXPECT_EQ(reread<double>(double_, [](const Tensor& x) { return ops::where(x != 0.1, x * 0.7, 0.2); }),
            (std::vector<double>{0.3 * 0.7, -0.3 * 0.7, 0.2}));
}

}  // namespace
}  // namespace nyala
