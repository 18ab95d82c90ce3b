#include <nyala/tests/attack/hostile_files.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <typeinfo>

#include <nyala/api/saving/arrays/safetensors.h>
#include <nyala/api/saving/checkpoint.h>
#include <nyala/datasets/cifar_files.h>
#include <nyala/datasets/idx_arrays.h>
#include <nyala/nyala.h>

namespace nyala::attack {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

Model small_model() {
  const Sequential model({Input({4}), Dense(3, {.activation = "relu"}), BatchNormalization(), Dense(2)});
  model.compile({.optimizer = Adam(), .loss = "mse"});
  return model;
}

void make_files(const fs::path& folder) {
  const auto at = [&](const char* name) { return (folder / name).string(); };
  const Model model = small_model();
  model.train_on_batch(Tensor::ones({2, 4}), Tensor::ones({2, 2}));
  model.save_weights(at("own.weights.h5"));
  model.save_weights(at("own.safetensors"));
  model.save_weights(at("own.npz"));
  model.save(at("own.keras"));
  model.save(at("own.h5"));
  write(at("own.json"), model.to_json());
  Checkpoint(model).save(at("own.checkpoint"), {.epoch = 3});
  save_npy(at("own.npy"), Tensor::ones({3, 4}));
  write(at("own.csv"), "1,2,3\n4,5.5,6\n-1e3,nan,0\n");
  write(at("own.idx3"),
        std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x03\0\0\0\x02", 16) + std::string(12, '\x07'));
  const Tensor x = Tensor::ones({2, 3});
  const Tensor in = Input({2, 3});
  const Tensor attended = MultiHeadAttention(2, 2)(in, in);
  const Model functional(in, Dense(1)(Flatten()(attended + in * 2.0)));
  functional.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
  functional.save(at("graph.keras"));
}

namespace {

bool is_model(const std::string& name) { return name.ends_with(".keras") || name.ends_with(".h5"); }

}  // namespace

std::vector<Sample> collect(const fs::path& made) {
  std::vector<Sample> samples;
  const auto add = [&](const fs::path& path, const std::string& name) {
    if (std::string content = content_of(path); !content.empty() && content.size() < 300'000)
      samples.push_back({name, std::move(content)});
  };
  for (const auto& entry : fs::directory_iterator(made)) add(entry.path(), entry.path().filename());
  const fs::path source(NYALA_SOURCE_DIR);
  for (const auto& entry : fs::directory_iterator(source / "tests/golden/data"))
    if (const std::string name = entry.path().filename(); is_model(name) && !name.ends_with(".weights.h5"))
      add(entry.path(), name);
  for (const auto& [folder, ending] : {std::pair{"image", ""}, {"pickle", ".pickle"}, {"npy", ".npy"}})
    for (const auto& entry : fs::directory_iterator(source / "tests/fuzz/corpus" / folder))
      add(entry.path(), entry.path().filename().string() + ending);
  std::sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.name < b.name; });
  return samples;
}

namespace {

Tensors inputs_for(const Model& model) {
  Tensors x;
  for (Shape shape : model.model_node().input_shapes()) {
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (shape[axis] == None) shape = shape.with(axis, 2);
    if (shape.rank() == 0 || shape.num_elements() > 1'000'000) return {};
    x.push_back(Tensor::ones(shape.with(0, 2)));
  }
  return x;
}

}  // namespace

void use(const Model& model) {
  const Tensors x = inputs_for(model);
  if (x.empty()) return;
  const Tensors y = model.predict_all(x, {.verbose = 0});
  if (model.compiled()) model.fit(x, y, {.batch_size = 2, .epochs = 1, .verbose = 0});
}

namespace {

void check_finite(const Model& model) {
  for (const Variable& weight : model.weights()) {
    if (!is_floating(weight.dtype())) continue;
    for (const double value : ops::cast(weight.value(), DType::float64).to_vector<double>())
      if (!std::isfinite(value)) throw std::logic_error("a weight is not finite: " + weight.path());
  }
}

}  // namespace

void read(const std::string& path, const std::string& name, bool weights_are_whole) {
  if (name.ends_with(".weights.h5") || name == "own.npz" || name == "own.safetensors") {
    const Model model = small_model();
    model.load_weights(path, {.skip_mismatch = name.size() % 2 == 0});
    use(model);
    if (name == "own.npz") load_npz(path);
    if (name == "own.safetensors") load_safetensors(path);
  } else if (name.ends_with(".checkpoint")) {
    const Model model = small_model();
    Checkpoint(model).restore(path);
    use(model);
  } else if (is_model(name)) {
    const Model model = load_model(path);
    if (weights_are_whole) check_finite(model);
    use(model);
    (void)model.summary_text();
    model.save(path + ".again.keras");
  } else if (name.ends_with(".json")) {
    model_from_json(content_of(path));
  } else if (name.ends_with(".npy")) {
    load_npy(path);
  } else if (name.ends_with(".csv")) {
    load_csv(path);
  } else if (name.ends_with(".idx3")) {
    datasets::detail::load_idx_arrays(path, path);
  } else if (name.ends_with(".pickle")) {
    datasets::read_cifar_batch({.label_key = "labels"}, path);
  } else {
    load_img(path);
  }
}

std::string defect_of(const std::exception& error, const std::string& path, const std::string& name) {
  const std::string text = error.what();
  if (!dynamic_cast<const Error*>(&error))
    return std::string("no nyala::Error: ") + typeid(error).name() + ": " + printable(text);
  const std::string who = name.ends_with(".json") ? "model_from_json" : path;
  if (text.find(who) == std::string::npos) return "does not name the file: " + printable(text);
  if (printable(text, true) != text) return "raw text: " + printable(text);
  if (text.find('\n') != std::string::npos) return "several lines: " + printable(text);
  return "";
}

}  // namespace nyala::attack
