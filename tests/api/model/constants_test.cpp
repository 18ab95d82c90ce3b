#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/mirrored.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::constants_test {
namespace {

using testing::HasSubstr;

TEST(ConstantsInGraphs, AreOperandsOfOps) {
  const Input input({3});
  const Tensor x = input;
  const Model model(x, (x / 4.0 + Tensor::from(std::vector<float>{1, 2, 3})) * 2.0);
  const std::vector<float> expected = {4, 5, 6, 2.5, 3.5, 4.5};
  EXPECT_EQ(model.predict(Tensor::from(std::vector<float>{4, 2, 0, 1, -1, -3}, {2, 3})).to_vector<float>(),
            expected);
  EXPECT_NE(model.summary_text().find("true_divide"), std::string::npos);
}

constexpr int64_t kRows = 5;

/// 1, 2, 3 ... of `shape`, times `scale`.
Tensor counted(const Shape& shape, float scale = 1.0f) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = scale * static_cast<float>(i + 1);
  return Tensor::from(values, shape);
}

using Body = std::function<Tensor(const Tensor& x)>;

/// What the model of input (5,) predicts, its losses in fit and the one in evaluate, on so many devices.
std::vector<float> numbers_on(int devices, const Body& body, bool from_file) {
  configure_logical_devices("cpu", devices);
  const ScratchFolder folder("constants");
  const auto made = [&] {
    const Input input({kRows});
    const Tensor y = body(Dense(kRows, {.kernel_initializer = Identity(), .name = "dense"})(input));
    return Model(input, y);
  };
  Model model = mirrored(devices).scope(made);
  if (from_file) {
    model.save(folder.file("m.keras"));
    model = mirrored(devices).scope([&] { return load_model(folder.file("m.keras")); });
  }
  const Tensor x = counted({kRows, kRows});
  std::vector<float> numbers = model.predict(x, {.batch_size = kRows, .verbose = 0}).to_vector<float>();
  model.compile({.optimizer = SGD(1e-4), .loss = "mse"});
  Tensor y = model.predict(x, {.batch_size = kRows, .verbose = 0});
  y = y * 0.5;
  const History history = model.fit(x, y, {.batch_size = kRows, .epochs = 2, .verbose = 0, .shuffle = false});
  for (const double loss : history["loss"]) numbers.push_back(static_cast<float>(loss));
  numbers.push_back(static_cast<float>(model.evaluate(x, y, {.batch_size = kRows, .verbose = 0}).at("loss")));
  configure_logical_devices("cpu", 1);
  return numbers;
}

TEST(ConstantsInGraphs, OfOpsGiveOneDevicesNumbersOnAnyNumber) {
  const Tensor by_rows = counted({kRows, 1}), table = counted({kRows, kRows}, 0.5f);
  const std::vector<std::pair<std::string, Body>> bodies = {
      {"a constant per row", [&](const Tensor& x) { return x + by_rows; }},
      {"on the left", [&](const Tensor& x) { return by_rows - x; }},
      {"of all sizes", [&](const Tensor& x) { return x * table; }},
      {"a bias as long as the batch", [&](const Tensor& x) { return x + counted({kRows}); }},
      {"a kernel as high as the batch", [&](const Tensor& x) { return ops::matmul(x, table); }},
      {"a product per row",
       [&](const Tensor& x) {
         return ops::matmul(ops::expand_dims(x, 1), counted({kRows, kRows, 2}, 0.1f));
       }},
      {"an einsum per row",
       [&](const Tensor& x) {
         return ops::einsum("bi,bij->bj", {x, counted({kRows, kRows, 2}, 0.1f)});
       }},
      {"side by side",
       [&](const Tensor& x) {
         return ops::concatenate({x, by_rows}, 1);
       }},
      {"a condition per row and a bias",
       [&](const Tensor& x) {
         const Tensor condition = Tensor::from(std::vector<float>{1, 0, 1, 0, 0}, {kRows, 1});
         return ops::where(ops::cast(condition, DType::bool_), x, counted({kRows}));
       }},
      {"behind another constant",
       [&](const Tensor& x) {
         return ops::relu(x + by_rows) * by_rows + counted({1, kRows});
       }},
  };
  for (const auto& [name, body] : bodies)
    for (const bool from_file : {false, true}) {
      const std::vector<float> expected = numbers_on(1, body, from_file);
      for (const int devices : {2, 3, 5}) {
        SCOPED_TRACE(name + (from_file ? ", from a file, " : ", ") + std::to_string(devices));
        std::vector<float> received;
        ASSERT_NO_THROW(received = numbers_on(devices, body, from_file));
        ASSERT_EQ(received.size(), expected.size());
        for (size_t i = 0; i < expected.size(); ++i)
          EXPECT_NEAR(received[i], expected[i], 1e-4 * (1 + std::abs(expected[i]))) << i;
      }
    }
}

/// Its function may mean a row of each or all of them.
TEST(ConstantsInGraphs, OfLambdasWithTheRowsOfTheBatchAreRefused) {
  const auto times_mean = [](const Shape& shape) {
    return [shape](const Tensor& x) {
      return Lambda([](const Tensors& in) { return in[0] * ops::mean(in[1]); },
                    {.name = "mean"})({x, counted(shape)});
    };
  };
  const Body alone = times_mean({1, kRows}), as_the_batch = times_mean({kRows, 1});
  const std::vector<float> expected = numbers_on(1, alone, false);
  const std::vector<float> received = numbers_on(2, alone, false);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(received.at(i), expected[i], 1e-4 * (1 + std::abs(expected[i]))) << i;
  EXPECT_EQ(numbers_on(1, as_the_batch, false).size(), expected.size());
  try {
    numbers_on(2, as_the_batch, false);
    FAIL() << "expected a ShapeError";
  } catch (const ShapeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("layer 'mean' (Lambda) is called with a constant of shape (5, 1)"));
  }
  configure_logical_devices("cpu", 1);
}

TEST(ConstantsInGraphs, ThatFitNoPartOfTheBatchAreRefused) {
  const Body body = [](const Tensor& x) {
    return ops::transpose(ops::transpose(x) * counted({kRows, kRows}));  // a column for each row
  };
  EXPECT_EQ(numbers_on(1, body, false).size(), 28u);
  for (const int devices : {2, 5}) {
    try {
      numbers_on(devices, body, false);
      FAIL() << "expected a ShapeError on " << devices;
    } catch (const ShapeError& error) {
      EXPECT_THAT(error.what(), HasSubstr("operation 'multiply"));
      EXPECT_THAT(error.what(), HasSubstr("rows it gives other numbers than on the whole batch"));
    }
    configure_logical_devices("cpu", 1);
  }
}

}  // namespace
}  // namespace nyala::constants_test
