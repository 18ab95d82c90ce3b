// Mistakes of users, answered as Keras 3.15 answers them: an error where it has one.
#include <filesystem>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::users_mistakes_test {
namespace {

using ::testing::HasSubstr;

const Tensor kX = Tensor::arange(20).astype("float32").reshape({10, 2}) / 20.0;
const Tensor kA = kX(slice(), slice(0, 1)), kB = kX(slice(), slice(1, 2));

History fitted(const PerOutput<Loss>& loss, const Tensors& y) {
  const Tensor x = Input({2});
  const Model model(x, {Dense(1, {.name = "a"})(x), Dense(1, {.name = "b"})(x)});
  model.compile({.optimizer = SGD(0.01), .loss = loss});
  return model.fit({kX}, y, {.verbose = 0});
}

using Named = std::map<std::string, Loss>;

TEST(UsersMistakes, ALossThatIsMissingInADictionary) {
  EXPECT_THAT(error_text<InvalidArgumentError>([] {
                fitted(Named{{"a", "mse"}}, {kA, kB});
              }),
              HasSubstr("none for output 'b'"));
  EXPECT_THAT(error_text<InvalidArgumentError>([] {
                fitted(Named{{"a", "mse"}, {"c", "mse"}}, {kA, kB});
              }),
              HasSubstr("no output of that name"));
  EXPECT_NO_THROW(fitted(Named{{"a", "mse"}, {"b", Loss()}}, {kA, kB}));
}

/// Nobody can know: Keras trains, too.
TEST(UsersMistakes, SwappedTargetsOfOneShape) { EXPECT_NO_THROW(fitted("mse", {kB, kA})); }

TEST(UsersMistakes, SwappedInputsAndTargets) {
  const Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_THAT(error_text<ShapeError>([&] { model.fit(kA, kX, {.verbose = 0}); }),
              HasSubstr("expected shape (None, 2), received (10, 1)"));
}

TEST(UsersMistakes, WeightsWithAnAxisOfOne) {
  const Tensor weights = Tensor::arange(10).astype("float32") / 3.0;
  const auto trained = [](const Tensor& sample_weight, int64_t units) {
    const Sequential model({Input({2}), Dense(units, {.kernel_initializer = "ones"})});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    return model
        .fit(kX, ops::repeat(kA, static_cast<int>(units), 1), {.verbose = 0, .sample_weight = sample_weight})
        .last("loss");
  };
  for (const int64_t units : {1, 3}) {
    EXPECT_EQ(trained(weights.reshape({10, 1}), units), trained(weights, units));
    EXPECT_THROW(trained(ops::repeat(weights.reshape({10, 1}), 2, 1), units), ShapeError);
  }
}

TEST(UsersMistakes, ArraysOfDifferentRowsAreNamed) {
  EXPECT_THAT(error_text<InvalidArgumentError>([] {
                fitted("mse", {kA(slice(0, 9)), kB});
              }),
              HasSubstr("x[0] (10, 2), y[0] (9, 1), y[1] (10, 1)"));
  EXPECT_THAT(error_text<ShapeError>([] { Dataset::from_tensor_slices(kX, kA(slice(0, 9))); }),
              HasSubstr("received x[0] (10, 2), y[0] (9, 1)"));
}

/// ModelCheckpoint makes its folder, save and CSVLogger do not.
TEST(UsersMistakes, AFolderThatDoesNotExist) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "users_mistakes";
  std::filesystem::remove_all(folder);
  const Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const std::string in_it = (folder / "m.keras").string(), weights = (folder / "m.weights.h5").string();
  EXPECT_THAT(error_text<IoError>([&] { model.save(in_it); }), HasSubstr("does not exist"));
  EXPECT_THAT(error_text<IoError>([&] { model.save_weights(weights); }), HasSubstr("does not exist"));
  EXPECT_THROW(model.fit(kX, kA, {.verbose = 0, .callbacks = {CSVLogger((folder / "m.csv").string())}}),
               IoError);
  EXPECT_THAT(error_text<IoError>([&] { load_model(in_it); }), HasSubstr("cannot open"));
  model.fit(kX, kA, {.verbose = 0, .callbacks = {ModelCheckpoint(in_it)}});
  EXPECT_TRUE(std::filesystem::exists(in_it));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace nyala::users_mistakes_test
