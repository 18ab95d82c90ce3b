// make_parallel, with the polynomial of the tutorial shortened: see tests/examples for the whole.
#include <gtest/gtest.h>

#include <nyala/nyala.h>

namespace nyala {
namespace {

Tensor counting(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.25f * static_cast<float>(i) - 1.0f;
  return Tensor(values, shape);
}

TEST(MakeParallel, InputsComeByNameAndResultsAreJoinedInOrder) {
  configure_logical_devices("cpu", 3);
  const Tensor a = counting({7}), b = counting({7}) * 2.0;
  for (int n : {1, 2, 3}) {
    const Tensor c =
        make_parallel([](const NamedInputs& in) { return in["a"] - in["b"]; }, n, {{"b", b}, {"a", a}});
    EXPECT_EQ(c.to_vector<float>(), (a - b).to_vector<float>());
    EXPECT_EQ(c.device(), Device("cpu:0"));
  }
}

TEST(MakeParallel, ASharedLayerGetsTheGradientOfAllSlices) {
  configure_logical_devices("cpu", 3);
  set_random_seed(3);
  const Dense dense(2);
  const Tensor x = counting({7, 4});
  dense(x);
  std::vector<std::vector<float>> expected;
  for (int n : {1, 2, 3}) {
    GradientTape tape;
    const Tensor y = make_parallel([&](const NamedInputs& in) { return dense(in["x"]); }, n, {{"x", x}});
    const Tensors gradients = tape.gradient(ops::mean(ops::square(y)), dense.trainable_variables());
    ASSERT_EQ(gradients.size(), 2u);
    for (size_t i = 0; i < gradients.size(); ++i) {
      const std::vector<float> values = gradients[i].to_vector<float>();
      if (n == 1) {
        expected.push_back(values);
        EXPECT_NE(values, std::vector<float>(values.size(), 0.0f));
      }
      for (size_t k = 0; k < values.size(); ++k)
        EXPECT_NEAR(values[k], expected[i][k], 1e-5) << n << " devices";
    }
  }
}

TEST(MakeParallel, InsideASliceItIsAnError) {
  configure_logical_devices("cpu", 2);
  const Tensor x = counting({4});
  const auto inner = [](const NamedInputs& in) { return in["x"] * 2.0; };
  for (int n : {1, 2})
    try {
      make_parallel([&](const NamedInputs& in) { return make_parallel(inner, n, {{"x", in["x"]}}); }, 2,
                    {{"x", x}});
      FAIL() << "nothing was thrown";
    } catch (const StateError& error) {
      EXPECT_NE(std::string(error.what()).find("inside a slice"), std::string::npos) << error.what();
    }
  EXPECT_EQ(make_parallel(inner, 2, {{"x", x}}).to_vector<float>(), (x * 2.0).to_vector<float>());
}

TEST(MakeParallel, OneDeviceMayRunItselfInside) {
  const Tensor x = counting({4});
  const auto inner = [](const NamedInputs& in) { return in["x"] * 2.0; };
  const auto outer = [&](const NamedInputs& in) { return make_parallel(inner, 1, {{"x", in["x"]}}) + 1.0; };
  EXPECT_EQ(make_parallel(outer, 1, {{"x", x}}).to_vector<float>(), (x * 2.0 + 1.0).to_vector<float>());
}

TEST(MakeParallel, MistakesAreNamed) {
  configure_logical_devices("cpu", 2);
  const Tensor x = counting({4});
  const auto fn = [](const NamedInputs& in) { return in["x"]; };
  EXPECT_THROW(make_parallel(fn, 0, {{"x", x}}), InvalidArgumentError);
  EXPECT_THROW(make_parallel(fn, 2, {}), InvalidArgumentError);
  EXPECT_THROW(make_parallel(fn, 3, {{"x", x}}), DeviceNotFoundError);
  EXPECT_THROW(make_parallel(fn, 2, {{"x", x}, {"y", counting({3})}}), ShapeError);
  try {
    make_parallel(fn, 2, {{"xs", x}});
    FAIL() << "nothing was thrown";
  } catch (const NotFoundError& error) {
    EXPECT_NE(std::string(error.what()).find("'xs'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace nyala
