// With the same weights the architectures give what Keras gives: make_outputs.py fills weights and images by
// the same hash.
#include <cmath>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include <nyala/models/find_application.h>
#include <nyala/strategies/strategy.h>
#include <nyala/tests/models/layer_tables.h>

namespace nyala {

using namespace nyala::detail;
namespace {

constexpr int64_t kImages = 2, kClasses = 10;

/// Numbers in [-1, 1): the top 24 bits of splitmix64 from FNV-1a's hash of the path on.
void fill_hashed(const std::string& path, std::span<float> out) {
  uint64_t start = 0xcbf29ce484222325u;
  for (const char letter : path) start = (start ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  for (size_t i = 0; i < out.size(); ++i) {
    uint64_t z = start + (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    out[i] = static_cast<float>(z >> 40) / 8388608.0f - 1.0f;
  }
}

/// Patches of 16 x 16 pixels of one colour, and noise: from -1 to 1, or from 0 to 255.
Tensor make_images(int64_t height, int64_t width, bool pixels) {
  const int64_t rows = (height + 15) / 16, columns = (width + 15) / 16;
  std::vector<float> patches(static_cast<size_t>(kImages * rows * columns * 3));
  fill_hashed("patches", patches);
  const Tensor images = Tensor::empty({kImages, height, width, 3});
  const std::span<float> values = images.data<float>();
  fill_hashed("noise", values);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t channel = at % 3, x = at / 3 % width, y = at / (3 * width) % height,
                  n = at / (3 * width * height);
    const int64_t patch = ((n * rows + y / 16) * columns + x / 16) * 3 + channel;
    values[i] = 0.75f * patches[static_cast<size_t>(patch)] + 0.25f * values[i];
    if (pixels) values[i] = (values[i] + 1.0f) * 127.5f;
  }
  return images;
}

struct Range {
  float offset, scale;
};

Range range_of(const std::string& path, const Shape& shape, double gain) {
  static const std::map<std::string, Range> simple = {{"gamma", {1.0f, 0.1f}},
                                                      {"beta", {0.0f, 0.1f}},
                                                      {"bias", {0.0f, 0.1f}},
                                                      {"moving_mean", {0.0f, 0.1f}},
                                                      {"moving_variance", {1.0f, 0.2f}},
                                                      {"mean", {0.5f, 0.1f}},
                                                      {"variance", {0.1f, 0.02f}},
                                                      {"variable", {0.3f, 0.1f}}};
  std::string name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("variable_")) name = "variable";
  if (const auto found = simple.find(name); found != simple.end()) return found->second;
  const bool depthwise = shape.rank() == 4 && shape.back() == 1;
  const auto inputs = static_cast<double>(shape.slice(0, depthwise ? 2 : shape.rank() - 1).num_elements());
  return {0.0f, static_cast<float>(gain * std::sqrt((depthwise ? 3.0 : 6.0) / inputs))};
}

/// While one lives, floating variables that are made on its thread hold numbers hashed from their path.
class HashedVariables final : public VariableCreator {
 public:
  explicit HashedVariables(double gain) : gain_(gain) { thread_context().creator = this; }
  ~HashedVariables() override { thread_context().creator = nullptr; }

  Variable create(const VariableSpec& spec) override {
    VariableSpec hashed = spec;
    if (spec.dtype == DType::float32)
      hashed.initialize = [&](const Tensor& value) {
        const std::span<float> values = value.data<float>();
        fill_hashed(spec.path, values);
        const Range range = range_of(spec.path, spec.shape, gain_);
        for (float& each : values) each = range.offset + range.scale * each;
      };
    return current_strategy()->store().create(hashed);
  }

 private:
  double gain_;
};

/// A line of outputs.txt.
struct Golden {
  std::string name;
  std::map<std::string, double> settings;
  std::vector<float> outputs;

  double setting(const std::string& key, double otherwise) const {
    const auto found = settings.find(key);
    return found == settings.end() ? otherwise : found->second;
  }
};

std::vector<Golden> goldens() {
  std::vector<Golden> out;
  std::ifstream file(NYALA_SOURCE_DIR "/tests/models/outputs.txt");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> halves = split(line, '\t'), words = split(halves.at(0), ' ');
    Golden& golden = out.emplace_back();
    golden.name = words.at(0);
    for (size_t i = 1; i < words.size(); ++i) {
      const size_t sign = words[i].find('=');
      golden.settings[words[i].substr(0, sign)] = std::stod(words[i].substr(sign + 1));
    }
    for (const std::string& number : split(halves.at(1), ' ')) golden.outputs.push_back(std::stof(number));
  }
  return out;
}

class OutputsOf : public testing::TestWithParam<Golden> {};

TEST_P(OutputsOf, AreThoseOfKeras) {
  const Golden& golden = GetParam();
  const Shape image = {static_cast<int64_t>(golden.setting("height", 0)),
                       static_cast<int64_t>(golden.setting("width", 0)), 3};
  clear_session();
  const Model model = [&] {
    const HashedVariables weights(golden.setting("gain", 1.0));
    return applications::find_application(golden.name)
        .make({.input_shape = image,
               .alpha = golden.setting("alpha", 1.0),
               .minimalistic = golden.setting("minimalistic", 0) != 0,
               .weights = "none",
               .classes = kClasses,
               .classifier_activation = "linear"});
  }();
  const Tensor images = make_images(image[0], image[1], golden.setting("pixels", 0) != 0);
  const std::vector<float> outputs = model.predict(images, {.verbose = 0}).to_vector<float>();
  ASSERT_EQ(outputs.size(), golden.outputs.size());
  double largest = 0, apart = 0, error = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const double expected = golden.outputs[i];
    largest = std::max(largest, std::fabs(expected));
    apart = std::max(apart, std::fabs(expected - golden.outputs[i % kClasses]));
    error = std::max(error, std::fabs(outputs[i] - expected));
  }
  std::ostringstream relative;
  relative << error / largest;
  RecordProperty("relative_error", relative.str());
  EXPECT_LE(error, 1e-4 * largest) << "the largest output is " << largest;
  EXPECT_LE(error, 2e-3 * apart) << "the two images' outputs differ by " << apart;
}

INSTANTIATE_TEST_SUITE_P(Applications, OutputsOf, testing::ValuesIn(goldens()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace nyala
