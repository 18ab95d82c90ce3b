#include <functional>
#include <map>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/model/model.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/tests/golden/golden_data.h>

namespace nyala::golden {
namespace {

Tensor input(const Shape& shape, const std::string& name = "") {
  InputConfig config;
  config.shape = shape;
  config.name = name;
  return Input(config).tensor();
}

Model simple() {
  return Sequential({Input({28, 28, 1}), Conv2D(32, 3), MaxPooling2D(), Flatten(), Dense(10)},
                    {.name = "seq"});
}

Model lenet() {
  return Sequential({Input({28, 28, 1}), Rescaling(1 / 255.0), Conv2D(20, 3, {.activation = "relu"}),
                     AveragePooling2D(2), Conv2D(50, 5, {.activation = "relu"}), AveragePooling2D(2),
                     Flatten(), Dense(128, {.activation = "relu"}), Dense(10)});
}

Model branchy() {
  const Tensor x = input({8}, "inp");
  const Tensor left = Dense(4, {.name = "a"})(x);
  const Tensor right = Dense(4, {.name = "a_very_long_layer_name_that_does_not_fit", .trainable = false})(x);
  const Tensor total = Add({.name = "plus"})({left, right});
  return Model(x, Dense(1, {.name = "out"})(total + 1.0f), {.name = "branchy"});
}

Model nested() {
  const Tensor x = input({8, 8, 3});
  const Model base(x, BatchNormalization()(Conv2D(4, 3, {.name = "c"})(x)), {.name = "base"});
  const Tensor y = input({8, 8, 3});
  return Model(y, GlobalAveragePooling2D()(base(y)), {.name = "outer"});
}

Model two_inputs() {
  const Tensor a = input({4}, "a"), b = input({3}, "b");
  const Dense shared(5, {.name = "shared"});
  const Tensor of_a = shared(a);
  const Tensor joined = Concatenate({.name = "both"})({of_a, Dense(4)(b)});
  const Tensor again = shared(Dense(4, {.name = "to_four"})(joined));
  return Model({.inputs = {a, b},
                .outputs = {Dense(1, {.name = "y"})(again), Dense(2, {.name = "z"})(joined)},
                .name = "two"});
}

Model unbuilt() { return Sequential({Dense(4), Dense(2)}, {.name = "unbuilt"}); }

Model large() { return Sequential({Input({1000}), Dense(1000), Dense(3000)}, {.name = "big"}); }

Model not_trainable(const Model& model) {
  model.set_trainable(false);
  return model;
}

Model compiled(const Model& model, const char* optimizer) {
  model.compile({.optimizer = optimizer, .loss = "mse"});
  return model;
}

const std::map<std::string, std::function<Model()>>& models() {
  static const std::map<std::string, std::function<Model()>> all = {
      {"sequential", simple},
      {"sequential_compiled", [] { return compiled(simple(), "adam"); }},
      {"lenet", lenet},
      {"lenet_compiled_sgd", [] { return compiled(lenet(), "sgd"); }},
      {"unbuilt", unbuilt},
      {"branches", branchy},
      {"nested", nested},
      {"nested_expanded", nested},
      {"nested_trainable", [] { return not_trainable(nested()); }},
      {"line_length_60", simple},
      {"sequential_wide", simple},
      {"branches_wide", branchy},
      {"nested_trainable_wide", [] { return not_trainable(nested()); }},
      {"two_inputs", two_inputs},
      {"large", large},
  };
  return all;
}

/// Keras' width is that of the terminal less four, and at most 88, 108 or 100 columns.
int line_length(const Json& entry) {
  if (entry.at("arguments").contains("line_length"))
    return entry.at("arguments").at("line_length").get<int>();
  if (entry.at("columns") == 80) return 76;
  return entry.at("name") == "branches_wide" ? 108 : entry.at("name") == "nested_trainable_wide" ? 100 : 88;
}

TEST(GoldenSummary, TextIsThatOfKeras) {
  const Json golden = load("console.json");
  size_t count = 0;
  for (const Json& entry : golden.at("summaries")) {
    const auto make = models().find(entry.at("name").as_string());
    if (entry.at("terminal").get<bool>() || make == models().end()) continue;  // escapes, layer_range
    clear_session();
    const Json& arguments = entry.at("arguments");
    const std::string text =
        make->second().summary_text({.line_length = line_length(entry),
                                     .expand_nested = arguments.value("expand_nested", false),
                                     .show_trainable = arguments.value("show_trainable", false)});
    EXPECT_EQ(text, entry.at("text").get<std::string>()) << entry.at("name");
    ++count;
  }
  EXPECT_EQ(count, models().size());
}

}  // namespace
}  // namespace nyala::golden
