// Models whose weights files the script tests/golden/check_weights_with_keras.py exchanges with Keras.
//   weights_models save <folder>   trains each model a little and writes <name>.weights.h5,
//   <name>.safetensors,
//                                  <name>.data.h5 (inputs and predictions) and, but for subclassed ones, the
//                                  whole model as <name>.keras and <name>.h5
//   weights_models load <folder>   reads the same files, written by Keras, and prints for each model and file
//   the
//                                  largest difference of the predictions and the optimizer's iterations
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/api/schedules/all.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/files/hdf5/file.h>
#include <nyala/files/hdf5/writer.h>

namespace {

using namespace nyala::detail;

using namespace nyala;

constexpr int64_t kRows = 12;

struct Block final : LayerNode {
  Dense first = track("steps", Dense(4, {.activation = "tanh"}));
  Dense second = track("steps", Dense(4, {.activation = "tanh"}));
  BatchNormalization norm = track("norm", BatchNormalization());
  Dense gate = track("_gate", Dense(4, {.activation = "sigmoid"}));
  std::string class_name() const override { return "Block"; }
  Tensor call(Call& c, const Tensor& x) const override { return gate(c, norm(c, second(c, first(c, x)))); }
};

struct Net final : ModelNode {
  Dense wide = track("wide", Dense(4, {.activation = "relu"}));
  Layer block = track("block", make_layer<Block>());
  Dense chain_first = track("chain", Dense(4, {.activation = "tanh"}));
  Layer chain_second = track("chain", make_layer<Block>());
  Dense chain_third = track("chain", Dense(5));
  Dense out = track("out", Dense(3));
  std::string class_name() const override { return "Net"; }
  Tensor call(Call& c, const Tensor& x) const override {
    const Tensor blocked = block(c, wide(c, x));
    return out(c, chain_third(c, chain_second(c, chain_first(c, blocked))));
  }
};

Model mlp() { return Sequential({Input({6}), Dense(8, {.activation = "relu"}), Dropout(0.25), Dense(3)}); }

Model conv_bn() {
  const Tensor x = Input({8, 8, 2});
  const Tensor a = BatchNormalization()(Conv2D(4, 3, {.padding = "same", .use_bias = false})(x));
  const Tensor b = Conv2D(4, 3, {.padding = "same", .activation = "relu"})(a);
  const Tensor sum = Add()({a, b});
  const Tensor pooled = MaxPooling2D()(ReLU()(sum));
  const Tensor wide = Concatenate()({pooled, Conv2D(3, 1)(pooled)});
  return Model(x, Dense(3)(GlobalAveragePooling2D()(BatchNormalization({.scale = false})(wide))));
}

Model nested() {
  const Tensor inner_x = Input({5});
  const Model functional(inner_x,
                         Dense(4, {.activation = "tanh"})(Dense(6, {.activation = "relu"})(inner_x)));
  const Sequential chain({Input({4}), Dense(4, {.activation = "relu"}), BatchNormalization(),
                          Sequential({Input({4}), Dense(3, {.activation = "tanh"})})});
  const Tensor x = Input({5});
  return Model(x, Dense(3)(chain(functional(x))));
}

Model shared() {
  const Tensor p = Input({4}), q = Input({4});
  const Dense twin(4, {.activation = "tanh"});
  const Sequential inner({Input({4}), Dense(5, {.activation = "relu"}), Dense(4)});
  const Tensor left = twin(p), right = inner(twin(q));
  return Model({.inputs = {p, q}, .outputs = {Dense(3)(inner(Add()({left, right})))}});
}

Model frozen() {
  const Sequential model({Input({6}), Dense(8, {.activation = "relu", .trainable = false}),
                          BatchNormalization(), Dense(5, {.activation = "tanh"}), Dense(3)});
  model.layers()[1].set_trainable(false);
  return model;
}

Model subclassed() {
  const Model model = make_model<Net>();
  model.build({None, 6});
  return model;
}

struct Entry {
  std::function<Model()> make;
  Shapes inputs;
  std::function<Optimizer()> optimizer;
};

const std::map<std::string, Entry>& entries() {
  static const std::map<std::string, Entry> all = {
      {"mlp", {mlp, {{6}}, [] { return Adam({.learning_rate = 0.02}); }}},
      {"conv_bn", {conv_bn, {{8, 8, 2}}, [] { return SGD({.learning_rate = 0.05, .momentum = 0.9}); }}},
      {"nested",
       {nested,
        {{5}},
        [] {
          return RMSprop(
              {.learning_rate = ExponentialDecay(0.01, 4, 0.5), .momentum = 0.3, .centered = true});
        }}},
      {"shared",
       {shared,
        {{4}, {4}},
        [] { return Adam({.amsgrad = true, .use_ema = true, .gradient_accumulation_steps = 2}); }}},
      {"frozen", {frozen, {{6}}, [] { return Adam(); }}},
      {"subclassed", {subclassed, {{6}}, [] { return Adam(); }}},
  };
  return all;
}

Model compiled(const Entry& entry) {
  const Model model = entry.make();
  model.compile(
      {.optimizer = entry.optimizer(), .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  return model;
}

Tensor random_tensor(DrawStream& generator, const Shape& row) {
  Shape shape{kRows};
  for (int64_t size : row) shape.append(size);
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (float& value : values) value = static_cast<float>(generator.normal());
  return Tensor::from(values, shape);
}

void write(hdf5::Writer& writer, const std::string& name, const Tensor& value) {
  writer.write_dataset<float>(name, value.shape(), value.data<float>());
}

Tensor read(const hdf5::Group& root, const std::string& name) {
  const hdf5::Dataset dataset = root.dataset(name);
  return Tensor::from(dataset.values<float>(), dataset.shape());
}

void save(const std::string& folder, const std::string& name, const Entry& entry) {
  DrawStream generator(mix_key(17, name));
  const Model model = compiled(entry);
  hdf5::Writer data;
  Tensors x;
  for (const Shape& shape : entry.inputs) {
    x.push_back(random_tensor(generator, shape));
    write(data, "x" + std::to_string(x.size() - 1), x.back());
  }
  std::vector<int64_t> labels;
  for (int64_t row = 0; row < kRows; ++row) labels.push_back(static_cast<int64_t>(generator.below(3)));
  model.fit(x, {Tensor::from(labels)}, {.batch_size = 4, .epochs = 2, .verbose = 0});
  write(data, "prediction", model.predict_all(x, {.verbose = 0}).at(0));
  for (const char* suffix : {".weights.h5", ".safetensors"}) model.save_weights(folder + "/" + name + suffix);
  if (name != "subclassed")
    for (const char* suffix : {".keras", ".h5"}) model.save(folder + "/" + name + suffix);
  data.save(folder + "/" + name + ".data.h5");
}

/// Prints how far the model's predictions are from those in the folder.
void compare(const std::string& folder, const std::string& name, const Entry& entry, const Model& model) {
  const hdf5::File file = hdf5::File::open(folder + "/" + name + ".data.h5");
  Tensors x;
  for (size_t i = 0; i < entry.inputs.size(); ++i) x.push_back(read(file.root(), "x" + std::to_string(i)));
  const Tensor got = model.predict_all(x, {.verbose = 0}).at(0), expected = read(file.root(), "prediction");
  double difference = got.shape() == expected.shape() ? 0.0 : HUGE_VAL;
  for (size_t i = 0; i < static_cast<size_t>(expected.num_elements()) && std::isfinite(difference); ++i)
    difference =
        std::max(difference, std::abs(static_cast<double>(got.data<float>()[i]) - expected.data<float>()[i]));
  std::printf("%s %.3g %lld\n", name.c_str(), difference,
              static_cast<long long>(model.optimizer().iterations()));
}

void load(const std::string& folder, const std::string& name, const Entry& entry) {
  const Model model = compiled(entry);
  model.load_weights(folder + "/" + name + ".weights.h5");
  compare(folder, name, entry, model);
  if (name == "subclassed") return;
  for (const char* suffix : {".keras", ".h5"})
    compare(folder, name, entry, load_model(folder + "/" + name + suffix));
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count == 3 ? arguments[1] : "";
  if (mode != "save" && mode != "load") {
    std::fprintf(stderr, "usage: weights_models save|load <folder>\n");
    return 2;
  }
  try {
    for (const auto& [name, entry] : entries()) (mode == "save" ? save : load)(arguments[2], name, entry);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
