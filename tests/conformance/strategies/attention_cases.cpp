#include <nyala/tests/conformance/strategies/attention_cases.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/optimizers/all.h>

namespace nyala {

namespace {

constexpr int64_t kWords = 9, kSteps = 6, kClasses = 3;

CaseData words(DType) {
  CaseData data;
  data.x = {random_labels(41, 43 * kSteps, kWords).with_shape({43, kSteps})};
  data.y = {random_labels(42, 43, kClasses)};
  data.fit.batch_size = 8;
  data.fit.epochs = 3;
  data.fit.verbose = 0;
  return data;
}

/// No optimizer that divides by the size of a gradient: that of a key's bias is 0 but for rounding.
Model compiled(const Model& model) {
  model.compile({.optimizer = SGD({.learning_rate = 0.1, .momentum = 0.9}),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  return model;
}

/// An encoder block over words, of which word 0 is padding; with dropout of scores or through the fused op.
PromiseCase encoder(const std::string& name, double dropout) {
  const auto make = [dropout](const std::string& dtype) {
    const Input input({kSteps}, {.dtype = "int64"});
    const Tensor x = Embedding(kWords, 4, {.mask_zero = true, .dtype = dtype})(input);
    const Tensor y = MultiHeadAttention(2, 3, {.dropout = dropout, .seed = 3, .dtype = dtype})(
        x, x, {.use_causal_mask = true});
    const Tensor z = Add({.dtype = dtype})({x, y});
    const Tensor kept = Attention({.use_scale = true, .dropout = dropout, .seed = 4, .dtype = dtype})({z, z});
    return compiled(Model(input, Dense(kClasses, {.dtype = dtype})(Flatten({.dtype = dtype})(kept))));
  };
  return {name, make, words};
}

}  // namespace

std::vector<PromiseCase> attention_cases() {
  return {encoder("masked attention", 0.0), encoder("masked attention, dropout of scores", 0.3)};
}

}  // namespace nyala
