#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/saving/load_model.h>
#include <nyala/tests/golden/golden_data.h>
#include <nyala/tests/golden/on_devices.h>

namespace nyala::golden {
namespace {

const Tolerance kPrediction = {.absolute = 1e-5, .relative = 1e-5};
const Tolerance kTrained = {.absolute = 2e-5, .relative = 1e-4};

constexpr int kSteps = 3;

struct Case {
  Json entry;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.entry.at("family").get<std::string>(); }

std::vector<Case> cases() {
  std::vector<Case> result;
  const Json golden = load("layer_models.json");
  for (const Json& entry : golden.at("cases")) result.push_back({entry});
  return result;
}

class GoldenLayerModel : public testing::TestWithParam<Case> {
 protected:
  const Json& entry() const { return GetParam().entry; }
  std::string name() const { return entry().at("file").as_string(); }
  std::string path() const { return (directory() / (name() + ".keras")).string(); }

  void expect_outputs(const Model& model, const char* key, const Tolerance& tolerance) const {
    const Tensors outputs = model.predict_all(tensors(entry().at("x")), {.verbose = 0});
    const Json& expected = entry().at(key);
    ASSERT_EQ(outputs.size(), expected.size());
    for (size_t i = 0; i < outputs.size(); ++i)
      expect_close(outputs[i], expected.at(i), std::string(key) + " of output " + std::to_string(i),
                   tolerance);
  }

  void train(const Model& model) const {
    const Tensors x = tensors(entry().at("x")), y = tensors(entry().at("y"));
    for (int step = 0; step < kSteps; ++step) {
      const bool whole = step < kSteps - 1 || entry().contains("whole");
      const int64_t rows = x[0].shape()[0] - (whole ? 0 : 1);
      model.train_on_batch(Batch{.x = first(x, rows), .y = first(y, rows)});
    }
  }

  void expect_weights(const Model& model) const {
    size_t found = 0;
    for (const Json& expected : entry().at("weights"))
      for (const Variable& weight : model.weights())
        if (weight.path() == expected.at("path").get<std::string>()) {
          expect_close(weight.value(), expected, weight.path(), kTrained);
          ++found;
          break;
        }
    EXPECT_EQ(found, entry().at("weights").size()) << "weights whose path is Keras'";
  }

 private:
  static Tensors first(Tensors values, int64_t rows) {
    for (Tensor& value : values) value = value.rows(0, rows);
    return values;
  }
};

TEST_P(GoldenLayerModel, PredictsTrainsAndComesBackAsInKeras) {
  const Model model = load_model(path());
  expect_outputs(model, "prediction", kPrediction);
  const std::string written = testing::TempDir() + name() + "_layers.keras";
  model.save(written);
  train(model);
  expect_outputs(model, "trained", kTrained);
  expect_weights(model);
  const Model again = load_model(written);
  std::filesystem::remove(written);
  expect_outputs(again, "prediction", kPrediction);
  train(again);
  expect_outputs(again, "trained", kTrained);
}

TEST_P(GoldenLayerModel, TrainsOnSeveralDevicesAsKerasDoesOnOne) {
  if (name() == "op_shapes") GTEST_SKIP() << "one of its ops takes the rows of the whole batch together";
  if (name() == "constant_operations_on_rows") GTEST_SKIP() << "its ops have a constant for each row";
  for (const int count : {2, 3}) {
    SCOPED_TRACE(count);
    const OnDevices devices(count);
    const Model model = devices.strategy().scope([&] { return load_model(path()); });
    train(model);
    expect_outputs(model, "trained", kTrained);
    expect_weights(model);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenLayerModel, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& info) {
                           return info.param.entry.at("file").get<std::string>();
                         });

}  // namespace
}  // namespace nyala::golden
