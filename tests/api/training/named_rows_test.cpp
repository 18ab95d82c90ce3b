// Errors of labels and indices name the row that was given, whatever the order of the batches.
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala::named_rows_test {
namespace {

using testing::HasSubstr;

Model classifier() {
  const Model model = Sequential({Input({3}), Dense(4, {.activation = "softmax"})});
  model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
  return model;
}

Tensor labels_with(int64_t wrong, const Shape& shape = {40}) {
  std::vector<int64_t> labels(40, 1);
  labels[17] = wrong;
  return Tensor::from(labels, shape);
}

const Tensor kX = Tensor::ones({40, 3});

TEST(NamedRows, OfShuffledLabels) {
  const Model model = classifier();
  for (const bool shuffle : {false, true})
    for (const int64_t label : {int64_t{7}, (int64_t{1} << 40) + 3, int64_t{-1} << 33}) {
      const std::string wanted = "label " + std::to_string(label) + " in row 17 is outside [0, 4)";
      EXPECT_THAT(error_text<NumericError>([&] {
                    model.fit(kX, labels_with(label), {.batch_size = 8, .verbose = 0, .shuffle = shuffle});
                  }),
                  HasSubstr(wanted));
      EXPECT_THAT(error_text<NumericError>(
                      [&] { model.evaluate(kX, labels_with(label), {.batch_size = 8, .verbose = 0}); }),
                  HasSubstr(wanted));
    }
  EXPECT_THAT(error_text<NumericError>([&] {
                model.fit(kX, labels_with(7, {40, 1}), {.batch_size = 8, .verbose = 0});
              }),
              HasSubstr("label 7 in row 17 is"));
}

TEST(NamedRows, OfValidationData) {
  const Model model = classifier();
  EXPECT_THAT(error_text<NumericError>([&] {
                model.fit(kX, labels_with(1),
                          {.batch_size = 8, .verbose = 0, .validation_data = {{kX, labels_with(9)}}});
              }),
              HasSubstr("validation data: model 'sequential"));
}

TEST(NamedRows, OfDatasetsAreCountedWithinTheirBatch) {
  const Model model = classifier();
  const Dataset batches = Dataset::from_tensor_slices(kX, labels_with(7)).batch(8);
  EXPECT_THAT(error_text<NumericError>([&] { model.fit(batches, {.verbose = 0}); }),
              HasSubstr("label 7 in row 1 is outside [0, 4) (counted within its batch)"));
}

TEST(NamedRows, OnTwoReplicas) {
  configure_logical_devices("cpu", 2);
  const Strategy strategy = MirroredStrategy({.devices = {"cpu:0", "cpu:1"}});
  const Model model = strategy.scope(classifier);
  EXPECT_THAT(
      error_text<NumericError>([&] { model.fit(kX, labels_with(7), {.batch_size = 8, .verbose = 0}); }),
      HasSubstr("label 7 in row 17 is outside [0, 4)"));
}

TEST(NamedRows, OfIndicesGivenToPredict) {
  const Model model = Sequential({Input({2}), Embedding(10, 3), Flatten()});
  std::vector<int64_t> ids(80, 1);
  ids[51] = (int64_t{1} << 32) + 1;
  EXPECT_THAT(error_text<NumericError>([&] {
                model.predict(Tensor::from(ids, Shape{40, 2}), {.batch_size = 8, .verbose = 0});
              }),
              HasSubstr("index 4294967297 at (25, 1) is outside [0, 10)"));
}

TEST(NamedRows, WhatNoIntegerHoldsIsSaid) {
  std::vector<float> labels(40, 1);
  labels[17] = std::nanf("");
  EXPECT_THAT(
      error_text<NumericError>([&] {
        classifier().fit(kX, Tensor::from(labels, Shape{40}),
                         {.batch_size = 8, .verbose = 0, .shuffle = false});
      }),
      HasSubstr(
          "label NaN, or at the ends of 64 bits or beyond, in row 1 is outside [0, 4) (counted within its"));
  const Model model = Sequential({Input({2}), Embedding(10, 3), Flatten()});
  std::vector<float> ids(80, 1);
  ids[51] = 1e30f;
  EXPECT_THAT(
      error_text<NumericError>([&] {
        model.predict(Tensor::from(ids, Shape{40, 2}), {.batch_size = 8, .verbose = 0});
      }),
      HasSubstr("index NaN, or at the ends of 64 bits or beyond, at (1, 1) is outside [0, 10) (counted"));
}

}  // namespace
}  // namespace nyala::named_rows_test
