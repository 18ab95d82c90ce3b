// Models that Keras wrote under mixed_bfloat16. Two programs that round at other places differ by about as
// much as each of them differs from float32, which is in the golden data, too: that difference is the measure
// here. Each rounding is 2^-9 of a value, so that it is also bounded outright.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/saving/load_model.h>
#include <nyala/tests/golden/golden_data.h>
#include <nyala/tests/golden/on_devices.h>

namespace nyala::golden::mixed_precision_test {
namespace {

constexpr int kSteps = 3;
/// Of numbers that Keras' own roundings move by 1: how far ours may lie from Keras' and from float32's.
constexpr double kOfKerasRounding = 2.0;
/// ... and no further than this many units of bfloat16's last place, relative to the whole tensor.
constexpr double kMost = 8.0 / 256.0;

std::vector<Json> cases() {
  std::vector<Json> found;
  const Json golden = load("mixed_precision.json");
  for (const Json& entry : golden.at("cases")) found.push_back(entry);
  return found;
}

std::string path_of(const std::string& file) { return (directory() / file).string(); }

double norm_of_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

double norm(const std::vector<double>& a) { return norm_of_difference(a, std::vector<double>(a.size())); }

void expect_near_keras(const std::vector<double>& got, const std::vector<double>& mixed,
                       const std::vector<double>& whole, const std::string& what) {
  ASSERT_EQ(got.size(), mixed.size()) << what;
  const double rounding = norm_of_difference(mixed, whole), size = norm(whole);
  EXPECT_GT(rounding, 0.0) << what << ": the policy must matter";
  const double allowed = std::min(kOfKerasRounding * rounding, kMost * size);
  EXPECT_LE(norm_of_difference(got, mixed), allowed) << what << " of size " << size;
  EXPECT_LE(norm_of_difference(got, whole), allowed) << what << " of size " << size;
}

std::vector<double> predicted(const Model& model, const Json& entry) {
  const Tensor y = model.predict(tensor(entry.at("x").at(0)), {.verbose = 0});
  EXPECT_EQ(std::string(name_of(y.dtype())), entry.at("mixed").at("dtype").get<std::string>());
  return to_doubles(y.astype("float32"));
}

void expect_prediction(const Model& model, const Json& entry, const char* key) {
  const auto of_keras = [&](const char* policy) {
    return to_doubles(tensor(entry.at(policy).at(key).at(0)));
  };
  expect_near_keras(predicted(model, entry), of_keras("mixed"), of_keras("float32"), key);
}

std::vector<double> trained(const Model& model, const Json& entry) {
  const Tensor x = tensor(entry.at("x").at(0)), y = tensor(entry.at("y").at(0));
  std::vector<double> losses;
  for (int step = 0; step < kSteps; ++step) {
    const int64_t rows = x.shape()[0] - (step < kSteps - 1 ? 0 : 1);
    losses.push_back(model.train_on_batch(x.rows(0, rows), y.rows(0, rows)).at("loss"));
  }
  return losses;
}

void expect_weights(const Model& model, const Json& entry) {
  size_t found = 0;
  for (size_t i = 0; i < entry.at("mixed").at("weights").size(); ++i) {
    const Json& mixed = entry.at("mixed").at("weights").at(i);
    const Json& whole = entry.at("float32").at("weights").at(i);
    for (const Variable& weight : model.weights()) {
      if (weight.path() != mixed.at("path").get<std::string>()) continue;
      ++found;
      EXPECT_EQ(weight.dtype(), DType::float32) << weight.path();
      const std::vector<double> of_mixed = to_doubles(tensor(mixed)), of_whole = to_doubles(tensor(whole));
      // Differences of single tensors scatter; a few units of the step's size are always allowed.
      const double allowed = 3.0 * norm_of_difference(of_mixed, of_whole) + 1e-3 * norm(of_whole);
      EXPECT_LE(norm_of_difference(to_doubles(weight.value()), of_mixed), allowed) << weight.path();
    }
  }
  EXPECT_EQ(found, entry.at("mixed").at("weights").size()) << "weights whose path is Keras'";
}

class GoldenMixedPrecision : public testing::TestWithParam<Json> {};

TEST_P(GoldenMixedPrecision, LayersHavePoliciesAndDtypesOfKeras) {
  const Json& entry = GetParam();
  const Model model = load_model(path_of(entry.at("file").as_string() + ".keras"));
  for (const Json& expected : entry.at("layers")) {
    const Layer layer = model.get_layer(expected.at(0).get<std::string>());
    if (layer.class_name() != "InputLayer") {
      EXPECT_EQ(layer.dtype_policy().name(), expected.at(1).get<std::string>()) << layer.name();
      EXPECT_EQ(std::string(name_of(layer.compute_dtype())), expected.at(2).get<std::string>())
          << layer.name();
      EXPECT_EQ(std::string(name_of(layer.dtype())), expected.at(3).get<std::string>()) << layer.name();
    }
    EXPECT_EQ(std::string(name_of(layer.output().dtype())), expected.at(4).get<std::string>())
        << layer.name();
  }
}

TEST_P(GoldenMixedPrecision, PredictsTrainsAndComesBackAsInKeras) {
  const Json& entry = GetParam();
  const std::string file = entry.at("file").as_string();
  const Model model = load_model(path_of(file + ".keras"));
  expect_prediction(model, entry, "prediction");
  const std::string written = testing::TempDir() + file + "_again.keras";
  model.save(written);
  const std::vector<double> losses = trained(model, entry);
  for (int step = 0; step < kSteps; ++step) {
    const double expected = number(entry.at("mixed").at("losses").at(static_cast<size_t>(step)));
    EXPECT_NEAR(losses[static_cast<size_t>(step)], expected, kMost * expected) << "loss of step " << step;
  }
  expect_prediction(model, entry, "trained");
  expect_weights(model, entry);
  const Model again = load_model(written);
  std::filesystem::remove(written);
  expect_prediction(again, entry, "prediction");
  EXPECT_EQ(trained(again, entry), losses);
}

TEST_P(GoldenMixedPrecision, TrainsOnSeveralDevicesAsKerasDoesOnOne) {
  const Json& entry = GetParam();
  for (const int count : {2, 3}) {
    SCOPED_TRACE(count);
    const OnDevices devices(count);
    const Model model = devices.strategy().scope(
        [&] { return load_model(path_of(entry.at("file").as_string() + ".keras")); });
    trained(model, entry);
    expect_prediction(model, entry, "trained");
    expect_weights(model, entry);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenMixedPrecision, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.at("file").template get<std::string>(); });

TEST(GoldenMixedPrecisionFiles, OldFormatsSayThePolicyToo) {
  const std::vector<Json> all = cases();
  const Json& entry = *std::ranges::find_if(
      all, [](const Json& each) { return each.at("file").as_string() == "mixed_recurrent"; });
  const Model model = load_model(path_of("mixed_recurrent.h5"));
  EXPECT_EQ(model.get_layer("lstm").dtype_policy(), DTypePolicy("mixed_bfloat16"));
  EXPECT_EQ(model.get_layer("dense").dtype_policy(), DTypePolicy("float32"));
  expect_prediction(model, entry, "prediction");
  const Model other = load_model(path_of("mixed_recurrent.keras"));
  for (const Variable& weight : other.weights()) weight.assign(0.0);
  other.load_weights(path_of("mixed_recurrent.weights.h5"));
  EXPECT_EQ(predicted(other, entry), predicted(model, entry));
}

}  // namespace
}  // namespace nyala::golden::mixed_precision_test
