#include <nyala/tests/conformance/strategies/recurrent_cases.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/optimizers/all.h>

namespace nyala {

namespace {

constexpr int64_t kWords = 11, kSteps = 7, kClasses = 3;

/// Rows of words, of which word 0 is padding.
CaseData words(int64_t rows, int64_t batch) {
  CaseData data;
  data.x = {random_labels(31, rows * kSteps, kWords).with_shape({rows, kSteps})};
  data.y = {random_labels(32, rows, kClasses)};
  data.fit.batch_size = batch;
  data.fit.epochs = 3;
  data.fit.verbose = 0;
  return data;
}

Model compiled(const Model& model) {
  model.compile({.optimizer = Adam({.learning_rate = 0.02}),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  return model;
}

PromiseCase text() {
  const auto make = [](const std::string& dtype) {
    return compiled(Sequential(
        {Input({kSteps}, {.dtype = "int64"}), Embedding(kWords, 5, {.mask_zero = true, .dtype = dtype}),
         LSTM(6, {.dropout = 0.3, .seed = 5, .dtype = dtype}), Dropout(0.25, {.seed = 6, .dtype = dtype}),
         Dense(kClasses, {.dtype = dtype})}));
  };
  return {"Embedding, LSTM, dropout", make, [](DType) { return words(43, 8); }};
}

PromiseCase tagged() {
  const auto make = [](const std::string& dtype) {
    return compiled(Sequential(
        {Input({kSteps}, {.dtype = "int64"}), Embedding(kWords, 4, {.mask_zero = true, .dtype = dtype}),
         Bidirectional(
             GRU(3, {.recurrent_dropout = 0.3, .seed = 7, .return_sequences = true, .dtype = dtype}),
             {.dtype = dtype}),
         LSTM(4, {.recurrent_dropout = 0.2, .seed = 8, .return_sequences = true, .dtype = dtype}),
         TimeDistributed(Dense(kClasses, {.dtype = dtype}), {.dtype = dtype})}));
  };
  const auto data = [](DType) {
    CaseData out = words(21, 8);
    out.y = {random_labels(33, 21 * kSteps, kClasses).with_shape({21, kSteps})};
    return out;
  };
  return {"masked sequences, recurrent dropout", make, data};
}

PromiseCase stateful() {
  const auto make = [](const std::string& dtype) {
    return compiled(
        Sequential({Input({kSteps, 2}, {.batch_size = 6, .dtype = input_dtype(dtype)}),
                    LSTM(4, {.stateful = true, .dtype = dtype}), Dense(kClasses, {.dtype = dtype})}));
  };
  const auto data = [](DType dtype) {
    CaseData out = words(24, 6);
    out.x = {random_numbers(34, {24, kSteps, 2}, dtype)};
    out.fit.shuffle = false;
    return out;
  };
  return {"stateful LSTM", make, data};
}

}  // namespace

std::vector<PromiseCase> recurrent_cases() { return {text(), tagged(), stateful()}; }

}  // namespace nyala
