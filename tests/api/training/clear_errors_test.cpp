// What is easily wrong when a model is trained, and what the errors say.
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>
#include <nyala/tests/api/training/fit_support.h>

namespace nyala::clear_errors_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Tensor square(const Tensor& y_true, const Tensor& y_pred) { return ops::square(y_true - y_pred); }

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const Tensor kX = Tensor::ones({6, 3}), kY = Tensor::ones({6, 4});

Sequential small(const CompileConfig& config) {
  Sequential model({Input({3}), Dense(4)}, {.name = "small"});
  model.compile(config);
  return model;
}

TEST(ClearErrors, WeightsThatDoNotFitALossOfTheWholeBatch) {
  const Sequential model =
      small({.optimizer = "sgd", .loss = Loss(square, {.name = "own", .rows_are_independent = false})});
  EXPECT_THAT(
      error_text<ShapeError>(
          [&] { model.fit(kX, kY, {.batch_size = 6, .verbose = 0, .sample_weight = Tensor::ones({6})}); }),
      AllOf(HasSubstr("loss 'own': expected sample weights that broadcast to its values of shape (6, 4)"),
            HasSubstr("received shape (6,)"), HasSubstr("a value per row")));
  EXPECT_NO_THROW(model.fit(kX, kY, {.batch_size = 6, .verbose = 0, .sample_weight = Tensor::ones({6, 1})}));
}

TEST(ClearErrors, AnEmptyTensorIsNoShape) {
  const Sequential model = small({.optimizer = "sgd", .loss = "mse"});
  const std::string empty = "received an empty one, which was never made";
  EXPECT_THAT(error_text<StateError>([&] { model.fit(Tensor(), kY, {.verbose = 0}); }),
              AllOf(HasSubstr("model 'small', input 0"), HasSubstr(empty)));
  EXPECT_THAT(error_text<StateError>([&] { model.predict(Tensor(), {.verbose = 0}); }), HasSubstr(empty));
  EXPECT_THAT(error_text<StateError>([&] { model.train_on_batch(Tensor(), kY); }), HasSubstr(empty));
  EXPECT_THAT(error_text<StateError>([&] { model.evaluate(Tensor(), kY, {.verbose = 0}); }),
              HasSubstr(empty));
  EXPECT_THAT(error_text<StateError>([] { Dense(2, {.name = "d"})(Tensor()); }),
              AllOf(HasSubstr("layer 'd'"), HasSubstr(empty)));
}

TEST(ClearErrors, AModelWithoutLayers) {  // as in Keras
  const Sequential model;
  const auto none = HasSubstr("it has no layers; call model.add(layer)");
  EXPECT_THAT(error_text<StateError>([&] { model.predict(kX, {.verbose = 0}); }), none);
  EXPECT_THAT(error_text<StateError>([&] { model(kX); }), none);
  EXPECT_THAT(error_text<StateError>([&] { model.build({None, 3}); }), none);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_THAT(error_text<StateError>([&] { model.fit(kX, kY, {.verbose = 0}); }), none);
  model.add(Dense(4));
  EXPECT_NO_THROW(model.fit(kX, kY, {.verbose = 0}));
}

TEST(ClearErrors, AFileWithoutALossSaysWhy) {
  const ScratchFolder folder("clear_errors");
  const auto fit = [&](const Model& model) { model.fit(kX, kY, {.verbose = 0}); };
  const Sequential model({Input({3}), Dense(4)});
  const std::string file = folder.file("m.keras");
  model.save(file);
  EXPECT_THAT(
      error_text<StateError>([&] { fit(load_model(file)); }),
      AllOf(HasSubstr("call compile() before fit()"), HasSubstr("holds a model that was not compiled")));

  model.compile({.optimizer = "sgd", .loss = Loss(square)});
  model.save(file);
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { fit(load_model(file)); }),
              AllOf(HasSubstr("no loss to compute"), HasSubstr("m.keras names no loss"),
                    HasSubstr("register_serializable()")));
  EXPECT_THAT(error_text<StateError>([&] { fit(load_model(file, {.compile = false})); }),
              HasSubstr(".compile = false"));

  const Model loaded = load_model(file);
  loaded.compile({.optimizer = "sgd"});
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { fit(loaded); }), Not(HasSubstr("names no loss")));
  loaded.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_NO_THROW(fit(loaded));
}

/// A function that somebody else registered, of whom this program knows nothing.
TEST(ClearErrors, ALegacyFileWhoseLossIsUnknownSaysWhy) {
  register_serializable("clear_errors", "squares_here", square);
  const ScratchFolder folder("clear_errors_legacy");
  const Sequential model({Input({3}), Dense(4)});
  model.compile({.optimizer = "sgd", .loss = "squares_here"});
  model.save(folder.file("m.h5"));
  std::string bytes = bytes_of(folder.file("m.h5"));
  for (size_t at = bytes.find("squares_here"); at != std::string::npos; at = bytes.find("squares_here", at))
    bytes.replace(at, 12, "squares_gone");
  std::ofstream(folder.file("m.h5"), std::ios::binary) << bytes;
  const Model loaded = load_model(folder.file("m.h5"));
  EXPECT_THAT(error_text<StateError>([&] { loaded.fit(kX, kY, {.verbose = 0}); }),
              AllOf(HasSubstr("call compile() before fit()"), HasSubstr("could not be restored"),
                    HasSubstr("squares_gone")));
}

TEST(ClearErrors, AMisspelledMonitorOfACheckpoint) {
  const ScratchFolder folder("clear_errors_monitor");
  const Sequential model = small({.optimizer = "sgd", .loss = "mse", .metrics = {"accuracy"}});
  const auto expected = [](const char* name) {
    return AllOf(HasSubstr(name), HasSubstr("the logs have no 'val_acc' (did you mean 'val_accuracy'?)"),
                 HasSubstr("Available metrics are: accuracy,loss,val_accuracy,val_loss"));
  };
  ModelCheckpoint checkpoint(folder.file("c.keras"), {.monitor = "val_acc", .save_best_only = true});
  EXPECT_THAT(
      error_text<InvalidArgumentError>([&] {
        model.fit(kX, kY, {.verbose = 0, .callbacks = {checkpoint}, .validation_data = Arrays{kX, kY}});
      }),
      expected("ModelCheckpoint"));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                model.fit(kX, kY,
                          {.verbose = 0,
                           .callbacks = {EarlyStopping({.monitor = "val_acc"})},
                           .validation_data = Arrays{kX, kY}});
              }),
              expected("EarlyStopping"));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                model.fit(kX, kY,
                          {.verbose = 0,
                           .callbacks = {ReduceLROnPlateau({.monitor = "val_acc"})},
                           .validation_data = Arrays{kX, kY}});
              }),
              expected("ReduceLROnPlateau"));
}

TEST(Conveniences, ShapesAndTheLastNumber) {
  const Sequential model = small({.optimizer = "sgd", .loss = "mse"});
  EXPECT_EQ(model.input_shape(), (Shape{None, 3}));
  EXPECT_EQ(model.output_shape(), (Shape{None, 4}));
  EXPECT_EQ(model.get_layer(0).input_shape(), (Shape{None, 3}));
  EXPECT_EQ(model.get_layer(0).output_shape(), (Shape{None, 4}));
  const Dense alone(2);
  EXPECT_THAT(error_text<StateError>([&] { alone.input_shape(); }), HasSubstr("before it is built"));
  alone(kX);
  EXPECT_EQ(alone.input_shape(), (Shape{None, 3}));
  EXPECT_EQ(alone.output_shape(), (Shape{None, 2}));
  const Input a({3}), b({2});
  const Model two({.inputs = {a, b}, .outputs = {Concatenate()({a, b})}});
  EXPECT_EQ(two.input_shapes(), (Shapes{{None, 3}, {None, 2}}));
  EXPECT_EQ(two.output_shape(), (Shape{None, 5}));
  EXPECT_THAT(error_text<StateError>([&] { two.input_shape(); }), HasSubstr("use input_shapes()"));

  const History history = model.fit(kX, kY, {.epochs = 2, .verbose = 0});
  EXPECT_EQ(history.last("loss"), history["loss"][1]);
  EXPECT_THROW(history.last("los"), NotFoundError);
}

}  // namespace
}  // namespace nyala::clear_errors_test
