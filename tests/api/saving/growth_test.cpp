// Files of many small things, and models of many layers, are read right and take time in proportion to their
// size. Time is that of this thread's instructions, which a busy machine does not stretch.
#include <ctime>

#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include <nyala/api/callbacks/base/history.h>
#include <nyala/api/layers/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/model/sequential.h>
#include <nyala/api/saving/arrays/numpy.h>
#include <nyala/api/saving/arrays/safetensors.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/api/utils/progress_bar.h>
#include <nyala/backend/core/error.h>
#include <nyala/files/json/strict_json.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

/// The seconds that this thread computes.
double cost_of(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  work();
  return now() - start;
}

/// `make(n)` gives what is timed. Linear work takes 8 times as long for 8 times the size, quadratic 64 times.
/// Even this thread's own seconds grow where neighbours take the caches, so one of a few pairs of them
/// has to show what the work is: of quadratic work none does.
void expect_no_square(int64_t n, const std::function<std::function<void()>(int64_t)>& make) {
  constexpr int kPairs = 8;
  const std::function<void()> small = make(n / 8), large = make(n);
  std::ostringstream seen;
  for (int i = 0; i < kPairs; ++i) {
    const double few = cost_of(small), many = cost_of(large);
    if (many < 28 * few) return;
    seen << "\n" << few << " s for " << n / 8 << ", " << many << " s for " << n;
  }
  ADD_FAILURE() << "time grows faster than the size:" << seen.str();
}

class Growth : public testing::Test {
 protected:
  ScratchFolder folder_{"growth"};
};

std::string many_keys(int64_t n) {
  std::string text = "{";
  for (int64_t i = 0; i < n; ++i) text += "\"key" + std::to_string(i) + "\": " + std::to_string(i) + ", ";
  return text + "\"key0\": -1}";
}

TEST_F(Growth, ManyKeysAndManyEmptyLists) {
  const Json json = parse_json(many_keys(160'000), "text");
  ASSERT_EQ(json.size(), 160'000u);
  EXPECT_EQ(json["key159999"], 159'999);
  expect_no_square(160'000, [](int64_t n) { return [text = many_keys(n)] { parse_json(text, "text"); }; });
  expect_no_square(160'000, [](int64_t n) {
    std::string text = "[{}";
    for (int64_t i = 1; i < n; ++i) text += ",{}";
    return [text = text + "]"] { EXPECT_EQ(parse_json(text, "text").back(), Json::object()); };
  });
}

NamedArrays many_arrays(int64_t n) {
  NamedArrays arrays;
  for (int64_t i = 0; i < n; ++i) arrays.emplace_back("t" + std::to_string(i), Tensor(static_cast<float>(i)));
  return arrays;
}

TEST_F(Growth, SafetensorsAndNpzOfManyArrays) {
  const auto check = [](const NamedArrays& arrays, size_t n) {
    ASSERT_EQ(arrays.size(), n);
    EXPECT_EQ(arrays.back().first, "t" + std::to_string(n - 1));
    EXPECT_EQ(arrays.back().second.to_vector<float>()[0], static_cast<float>(n - 1));
  };
  expect_no_square(80'000, [&](int64_t n) {
    const std::string path = folder_.file(std::to_string(n) + ".safetensors");
    save_safetensors(path, many_arrays(n));
    return [=] { check(load_safetensors(path), static_cast<size_t>(n)); };
  });
  expect_no_square(60'000, [&](int64_t n) {
    const std::string path = folder_.file(std::to_string(n) + ".npz");
    save_npz(path, many_arrays(n));
    return [=] { check(load_npz(path), static_cast<size_t>(n)); };
  });
}

std::vector<Layer> chain(int64_t n) {
  std::vector<Layer> layers = {Input({2})};
  for (int64_t i = 0; i < n; ++i)
    layers.push_back(Dense(2, {.use_bias = false, .kernel_initializer = "identity"}));
  return layers;
}

Model functional(int64_t n) {
  const Tensor input = Input({2});
  Tensor x = input;
  for (int64_t i = 0; i < n; ++i) x = Dense(2, {.use_bias = false, .kernel_initializer = "identity"})(x);
  return Model(input, x);
}

void expect_identity(const Model& model, size_t layers) {
  EXPECT_EQ(model.layers().size(), layers);
  const Tensor x = Tensor::full({1, 2}, 3.0);
  EXPECT_EQ(model.predict(x, {.verbose = 0}).to_vector<float>(), x.to_vector<float>());
}

TEST_F(Growth, SequentialThatIsAddedTo) {
  expect_no_square(2'000, [](int64_t n) {
    return [n] {
      const Sequential model;
      for (const Layer& layer : chain(n)) model.add(layer);
      expect_identity(model, static_cast<size_t>(n));
      for (int64_t i = 0; i < n / 2; ++i) model.pop();
      model.add(Dense(2, {.use_bias = false, .kernel_initializer = "identity"}));
      expect_identity(model, static_cast<size_t>(n - n / 2 + 1));
    };
  });
}

TEST_F(Growth, FilesOfManyLayers) {
  for (const bool is_chain : {true, false})
    expect_no_square(2'400, [&](int64_t n) {
      const std::string path = folder_.file(std::to_string(n) + ".keras");
      (is_chain ? Model(Sequential(chain(n))) : functional(n)).save(path);
      return [=] { expect_identity(load_model(path), static_cast<size_t>(is_chain ? n : n + 1)); };
    });
}

/// A file may list layers before those whose results they take.
TEST_F(Growth, LayersInReversedOrder) {
  const auto reversed = [](const Model& model) {
    Json config = parse_json(model.to_json(), "model");
    std::vector<Json> layers = config["config"]["layers"].as_array();
    std::reverse(layers.begin(), layers.end());
    config["config"]["layers"] = layers;
    return config.dump();
  };
  expect_no_square(2'400, [&](int64_t n) {
    return [=, text = reversed(functional(n))] {
      expect_identity(model_from_json(text), static_cast<size_t>(n + 1));
    };
  });
  expect_no_square(2'400, [&](int64_t n) {
    const Tensor input = Input({2});
    Tensors all;
    for (int64_t i = 0; i < n; ++i) all.push_back(Dense(2)(input));
    return [n, text = reversed(Model(input, Add()(all)))] {
      EXPECT_EQ(model_from_json(text).layers().size(), static_cast<size_t>(n + 2));
    };
  });
}

TEST_F(Growth, SummaryOfAGraph) {
  expect_no_square(2'400, [](int64_t n) {
    return [model = functional(n)] { EXPECT_GT(model.summary_text().size(), 1000u); };
  });
}

/// One layer called n times.
TEST_F(Growth, ASharedLayer) {
  expect_no_square(16000, [](int64_t n) {
    return [n] {
      const Tensor input = Input({2});
      const Dense dense(2);
      Tensor x = input;
      for (int64_t i = 0; i < n; ++i) x = dense(x);
      const Model model(input, x);
    };
  });
}

class ManyLayers final : public ModelNode {
 public:
  explicit ManyLayers(int64_t n) {
    for (int64_t i = 0; i < n; ++i) layers_.push_back(track("d" + std::to_string(i), Dense(2)));
  }
  Tensor call(Call& c, const Tensor& input) const override {
    Tensor x = input;
    for (const Layer& layer : layers_) x = layer(c, x);
    return x;
  }

 private:
  std::vector<Layer> layers_;
};

TEST_F(Growth, ASubclassedModelOfManyLayers) {
  expect_no_square(16000, [](int64_t n) { return [n] { make_model<ManyLayers>(n).build({None, 2}); }; });
}

/// All have one name and get numbers behind it.
TEST_F(Growth, ManyMetrics) {
  const Tensor x = Tensor::ones({4, 2});
  expect_no_square(4'000, [&](int64_t n) {
    return [n, x] {
      const Sequential model(chain(1));
      model.compile({.loss = "mse", .metrics = std::vector<Metric>(static_cast<size_t>(n), "mae")});
      const Logs logs = model.evaluate(x, x, {.verbose = 0});
      ASSERT_EQ(std::ssize(logs), n + 1);
      EXPECT_EQ(logs["mae_" + std::to_string(n - 1)], 0.0);
    };
  });
  // What keeps and shows them.
  const auto many_logs = [](int64_t n) {
    Logs logs;
    for (int64_t i = 0; i < n; ++i) logs.set("a_metric_of_a_long_name_" + std::to_string(i), 0.5);
    return logs;
  };
  expect_no_square(40'000, [&](int64_t n) {
    return [n, &many_logs] {
      Logs logs = many_logs(n);
      History history;
      history.on_epoch_end(0, logs);
      history.on_epoch_end(1, logs);
      EXPECT_EQ(std::ssize(history.history()), n);
      EXPECT_EQ(history["a_metric_of_a_long_name_1"], (History::Values{0.5, 0.5}));
      std::ostringstream out;
      ProgressBar bar({.target = 1, .verbose = 2, .stream = &out});
      bar.update(1, std::vector<ProgressBar::Value>(logs.begin(), logs.end()));
    };
  });
}

}  // namespace
}  // namespace nyala
