// How time grows with the size of small files and of models of many small layers. For each case one JSON
// line: the sizes, the seconds of each and the exponent of the fit t = c n^e by least squares of the
// logarithms. Work that is linear has 1, n log n about 1.1, and what is above --limit is named at the end,
// with exit code 1.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <nyala/files/hdf5/file.h>
#include <nyala/files/hdf5/writer.h>
#include <nyala/files/zip/archive.h>
#include <nyala/files/zip/archive_writer.h>
#include <nyala/nyala.h>

using namespace nyala;
using Clock = std::chrono::steady_clock;

namespace {

/// What a case times; made for one size, untimed.
using Work = std::function<void()>;

struct Case {
  std::string name;
  int64_t largest;
  std::function<Work(int64_t n, const std::string& folder)> prepare;
};

std::string numbered(const std::string& name, int64_t i) { return name + std::to_string(i); }

void write_keras(const std::string& path, const std::string& config, const Model& weights_of) {
  weights_of.save_weights(path + ".weights.h5");
  std::ifstream file(path + ".weights.h5", std::ios::binary);
  const std::string weights{std::istreambuf_iterator<char>(file), {}};
  zip::ArchiveWriter archive(path);
  archive.add("metadata.json", std::string("{}"));
  archive.add("config.json", config);
  archive.add("model.weights.h5", weights);
  archive.commit();
}

Model small_model() { return Sequential({Input({2}), Dense(1)}); }

Model chain(int64_t n) {
  std::vector<Layer> layers = {Input({2})};
  for (int64_t i = 0; i < n; ++i) layers.push_back(Dense(2));
  return Sequential(layers);
}

Model functional(int64_t n) {
  const Tensor input = Input({2});
  Tensor x = input;
  for (int64_t i = 0; i < n; ++i) x = Dense(2)(x);
  return Model(input, x);
}

/// A layer called n times.
Model shared_layer(int64_t n) {
  const Tensor input = Input({2});
  const Dense dense(2);
  Tensor x = input;
  for (int64_t i = 0; i < n; ++i) x = dense(x);
  return Model(input, x);
}

Model wide(int64_t n) {
  const Tensor input = Input({2});
  Tensors all;
  for (int64_t i = 0; i < n; ++i) all.push_back(Dense(2)(input));
  return Model(input, Add()(all));
}

Model of_ops(int64_t n) {
  const Tensor input = Input({2});
  Tensor x = input;
  for (int64_t i = 0; i < n; ++i) x = x + 1.0;
  return Model(input, x);
}

class ManyNode final : public ModelNode {
 public:
  explicit ManyNode(int64_t n) {
    for (int64_t i = 0; i < n; ++i) layers_.push_back(track(numbered("d", i), Dense(2)));
  }
  Tensor call(Call& c, const Tensor& input) const override {
    Tensor x = input;
    for (const Layer& layer : layers_) x = layer(c, x);
    return x;
  }

 private:
  std::vector<Layer> layers_;
};

Model subclassed(int64_t n) {
  Model model = make_model<ManyNode>(n);
  model.build({None, 2});
  return model;
}

/// The model's config with its list of layers turned around: a reader that waits for what is not traced yet
/// must not look at all of them again and again.
std::string reversed_layers(const std::string& json) {
  const std::string key = "\"layers\":[";
  const size_t begin = json.find(key) + key.size();
  std::string layers;
  size_t from = begin, end = begin;
  for (int depth = 0; depth >= 0; ++end) {
    const char c = json[end];
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    if (depth != 0 || c != '}') continue;
    layers = json.substr(from, end + 1 - from) + (layers.empty() ? "" : ",") + layers;
    from = end + 2;
  }
  return json.substr(0, begin) + layers + json.substr(end - 1);
}

/// An object with n keys in the place of the first layer's config.
std::string many_keys(int64_t n) {
  std::string json = small_model().to_json(), keys;
  for (int64_t i = 0; i < n; ++i) keys += "\"" + numbered("key", i) + "\": 1, ";
  const std::string place = "\"units\":";
  return json.insert(json.find(place), keys);
}

template <class Make>
Case of_model(const std::string& name, int64_t largest, Make make,
              std::function<void(const Model&, const std::string&)> use) {
  return {name, largest, [make, use](int64_t n, const std::string& folder) -> Work {
            const Model model = make(n);
            return [=] { use(model, folder); };
          }};
}

template <class Make>
Case making(const std::string& name, int64_t largest, Make make) {
  return {name, largest, [make](int64_t n, const std::string&) -> Work { return [=] { make(n); }; }};
}

template <class Make>
Case loading(const std::string& name, int64_t largest, Make make) {
  return {name, largest, [make](int64_t n, const std::string& folder) -> Work {
            const std::string path = folder + "/m.keras";
            make(n).save(path);
            return [=] { load_model(path); };
          }};
}

void many_arrays(std::vector<Case>& cases) {
  const auto arrays = [](int64_t n) {
    NamedArrays all;
    for (int64_t i = 0; i < n; ++i) all.emplace_back(numbered("t", i), Tensor::full({1}, 1.0));
    return all;
  };
  for (const std::string ending : {"safetensors", "npz"}) {
    const bool npz = ending == "npz";
    const int64_t most = npz ? 60'000 : 80'000;
    const auto save = [=](const std::string& path, const NamedArrays& all) {
      npz ? save_npz(path, all) : save_safetensors(path, all);
    };
    cases.push_back({"save " + ending, most, [=](int64_t n, const std::string& folder) -> Work {
                       return [=, all = arrays(n)] { save(folder + "/a." + ending, all); };
                     }});
    cases.push_back({"load " + ending, most, [=](int64_t n, const std::string& folder) -> Work {
                       const std::string path = folder + "/a." + ending;
                       save(path, arrays(n));
                       return [=] { npz ? load_npz(path) : load_safetensors(path); };
                     }});
  }
}

void write_hdf5(const std::string& what, int64_t n, const std::string& path) {
  hdf5::Writer writer;
  const Tensor one = Tensor::full({1}, 1.0);
  if (what == "attributes") writer.create_group("a");
  for (int64_t i = 0; i < n; ++i) {
    if (what == "datasets") writer.write_dataset(numbered("g/d", i), one);
    if (what == "groups") writer.write_dataset(numbered("g", i) + "/d", one);
    if (what == "attributes") writer.set_attribute("a", numbered("key", i), "v");
  }
  writer.save(path);
}

void read_hdf5(const std::string& path) {
  const hdf5::File file = hdf5::File::open(path);
  for (const std::string& dataset : file.root().dataset_paths()) file.root().dataset(dataset).values<float>();
  if (!file.root().has_group("a")) return;
  const hdf5::Attributes attributes = file.root().group("a").attributes();
  for (const std::string& name : attributes.names()) attributes.get(name).string();
}

void many_objects(std::vector<Case>& cases) {
  for (const std::string what : {"datasets", "groups", "attributes"}) {
    const int64_t most = what == "attributes" ? 1'000 : 20'000;
    cases.push_back({"write hdf5 " + what, most, [=](int64_t n, const std::string& folder) -> Work {
                       return [=] { write_hdf5(what, n, folder + "/h.h5"); };
                     }});
    cases.push_back({"read hdf5 " + what, most, [=](int64_t n, const std::string& folder) -> Work {
                       write_hdf5(what, n, folder + "/h.h5");
                       return [=] { read_hdf5(folder + "/h.h5"); };
                     }});
  }
}

void many_layers(std::vector<Case>& cases) {
  cases.push_back(making("make sequential", 4'000, chain));
  cases.push_back(making("add to sequential", 4'000, [](int64_t n) {
    Sequential model({Input({2})});
    for (int64_t i = 0; i < n; ++i) model.add(Dense(2));
    model.predict(Tensor::full({1, 2}, 1.0), {.verbose = 0});
  }));
  cases.push_back(making("make functional", 4'000, functional));
  cases.push_back(making("make shared layer", 4'000, shared_layer));
  cases.push_back(making("make wide", 4'000, wide));
  cases.push_back(making("make of ops", 4'000, of_ops));
  cases.push_back(making("make subclassed", 4'000, subclassed));
  const std::pair<std::string, std::function<Model(int64_t)>> kinds[] = {
      {"sequential", chain}, {"functional", functional}, {"shared layer", shared_layer},
      {"wide", wide},        {"of ops", of_ops},         {"subclassed", subclassed}};
  for (const auto& [kind, make] : kinds) {
    const bool own = kind == "subclassed";
    cases.push_back(of_model("summary " + kind, 4'000, make,
                             [](const Model& m, const std::string&) { m.summary_text(); }));
    cases.push_back(of_model("compile, fit " + kind, 2'000, make, [](const Model& m, const std::string&) {
      m.compile({.optimizer = "sgd", .loss = "mse"});
      m.fit(Tensor::full({1, 2}, 1.0), Tensor::full({1, 2}, 1.0), {.verbose = 0});
    }));
    cases.push_back(of_model(
        "save_weights " + kind, 4'000, make,
        [](const Model& m, const std::string& folder) { m.save_weights(folder + "/m.weights.h5"); }));
    cases.push_back(
        of_model("save and load_weights " + kind, 4'000, make, [](const Model& m, const std::string& folder) {
          m.save_weights(folder + "/m.weights.h5");
          m.load_weights(folder + "/m.weights.h5");
        }));
    if (own) continue;
    cases.push_back(of_model("save keras " + kind, 4'000, make,
                             [](const Model& m, const std::string& folder) { m.save(folder + "/m.keras"); }));
    cases.push_back(loading("load keras " + kind, 4'000, make));
    cases.push_back(
        of_model("save and load h5 " + kind, 4'000, make, [](const Model& m, const std::string& folder) {
          m.save(folder + "/m.h5");
          load_model(folder + "/m.h5");
        }));
  }
  cases.push_back({"load reversed functional", 4'000, [](int64_t n, const std::string&) -> Work {
                     return [json = reversed_layers(functional(n).to_json())] { model_from_json(json); };
                   }});
}

void many_values(std::vector<Case>& cases) {
  cases.push_back({"load keys", 160'000, [](int64_t n, const std::string& folder) -> Work {
                     const std::string path = folder + "/keys.keras";
                     write_keras(path, many_keys(n), small_model());
                     return [=] { load_model(path); };
                   }});
  cases.push_back({"read zip", 60'000, [](int64_t n, const std::string& folder) -> Work {
                     const std::string path = folder + "/a.zip";
                     zip::ArchiveWriter archive(path);
                     for (int64_t i = 0; i < n; ++i) archive.add(numbered("m", i), std::string("x"));
                     archive.commit();
                     return [=] {
                       const zip::Archive opened(FileBytes::open(path));
                       for (const zip::Member& member : opened.members()) opened.read(member.name);
                     };
                   }});
}

double seconds_of(const Work& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The slope of log t over log n.
double exponent(const std::vector<int64_t>& sizes, const std::vector<double>& seconds) {
  double x = 0, y = 0, xx = 0, xy = 0;
  const auto count = static_cast<double>(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const double a = std::log(static_cast<double>(sizes[i])), b = std::log(seconds[i]);
    x += a, y += b, xx += a * a, xy += a * b;
  }
  return (count * xy - x * y) / (count * xx - x * x);
}

/// Prints the line; the exponent.
double measure(const Case& c, const std::string& folder, int64_t shrink) {
  std::vector<int64_t> sizes;
  std::vector<double> seconds;
  for (int64_t part = 8; part > 0; part /= 2) {
    sizes.push_back(std::max<int64_t>(c.largest / shrink / part, 1));
    const Work work = c.prepare(sizes.back(), folder);
    seconds.push_back(seconds_of(work));
    for (int again = 0; again < 2 && seconds.back() < 0.2; ++again)
      seconds.back() = std::min(seconds.back(), seconds_of(work));
  }
  const double e = exponent(sizes, seconds);
  std::printf("{\"case\": \"%s\", \"n\": [", c.name.c_str());
  for (const int64_t n : sizes) std::printf("%s%lld", n == sizes[0] ? "" : ", ", static_cast<long long>(n));
  std::printf("], \"s\": [");
  for (size_t i = 0; i < seconds.size(); ++i) std::printf("%s%.4f", i == 0 ? "" : ", ", seconds[i]);
  std::printf("], \"exponent\": %.2f}\n", e);
  std::fflush(stdout);
  return e;
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = std::filesystem::temp_directory_path().string(), only;
  int64_t shrink = 1;
  double limit = 1.4;
  CLI::App app("How time grows with the size of files and models");
  app.add_option("--folder", folder, "where files are written");
  app.add_option("--only", only, "cases whose name contains it");
  app.add_option("--shrink", shrink, "divides all sizes")->check(CLI::PositiveNumber);
  app.add_option("--limit", limit, "the largest exponent that is fine");
  CLI11_PARSE(app, argc, argv);
  std::vector<Case> cases;
  many_values(cases);
  many_arrays(cases);
  many_objects(cases);
  many_layers(cases);
  std::string slow;
  for (const Case& c : cases)
    if (c.name.find(only) != std::string::npos && measure(c, folder, shrink) > limit) slow += "\n  " + c.name;
  if (!slow.empty()) std::printf("above %.2f:%s\n", limit, slow.c_str());
  return slow.empty() ? 0 : 1;
}
