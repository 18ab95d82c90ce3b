#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include <nyala/api/saving/load_model.h>
#include <nyala/tests/golden/golden_data.h>

namespace nyala::golden::wrapped_optimizers_test {
namespace {

const Tolerance kTolerance = {.absolute = 5e-6, .relative = 2e-5};

void expect_state(const Model& model, const Json& expected, const std::string& what) {
  const std::vector<OptimizerVariable> state = model.optimizer().node().variables_for_file();
  ASSERT_EQ(state.size(), expected.size()) << what;
  for (size_t i = 0; i < state.size(); ++i) {
    const std::string path = expected.at(i).at("path").as_string(),
                      name = expected.at(i).at("name").as_string();
    EXPECT_TRUE(state[i].name.ends_with(name)) << what << ": " << state[i].name << ", Keras " << path;
    EXPECT_EQ(name_of(state[i].value.dtype()), expected.at(i).value("dtype", "float32")) << what << path;
    expect_close(state[i].value, expected.at(i), what + path, kTolerance);
  }
}

void expect_weights(const Model& model, const Json& expected, const std::string& what) {
  const Tensors weights = model.get_weights();
  ASSERT_EQ(weights.size(), expected.size());
  for (size_t i = 0; i < weights.size(); ++i)
    expect_close(weights[i], expected.at(i), what + "weight " + std::to_string(i), kTolerance);
}

/// Trains on the batches from `first` on and holds each step against Keras'.
void go_on(const Model& model, const Json& entry, size_t first) {
  for (size_t batch = first; batch < entry.at("x").size(); ++batch) {
    model.train_on_batch(
        Batch{.x = {tensor(entry.at("x").at(batch))}, .y = {tensor(entry.at("y").at(batch))}});
    const std::string what =
        entry.at("name").get<std::string>() + " after batch " + std::to_string(batch) + ": ";
    expect_weights(model, entry.at("steps").at(batch).at("weights"), what);
    expect_state(model, entry.at("steps").at(batch).at("state"), what);
  }
}

TEST(GoldenWrappedOptimizers, TrainingGoesOnFromFiles) {
  const Json golden = load("wrapped_optimizers.json");
  ASSERT_EQ(golden.at("cases").size(), 4u);
  for (const Json& entry : golden.at("cases")) {
    const std::string name = entry.at("name").as_string();
    const size_t saved_after = entry.at("saved_after").get<size_t>();
    const Model model = load_model((directory() / (name + ".keras")).string());
    expect_state(model, entry.at("steps").at(saved_after - 1).at("state"), name + " as saved: ");
    for (const char* extension : {".keras", ".h5"}) {
      const std::string path = testing::TempDir() + name + "_again" + extension;
      model.save(path);
      const Model again = load_model(path);
      std::filesystem::remove(path);
      EXPECT_EQ(again.optimizer().node().class_name(), model.optimizer().node().class_name());
      go_on(again, entry, saved_after);
    }
    go_on(model, entry, saved_after);
  }
}

}  // namespace
}  // namespace nyala::golden::wrapped_optimizers_test
