#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

#include <nyala/tests/golden/golden_data.h>

namespace nyala::golden {

using namespace nyala::detail;

std::filesystem::path directory() {
  if (const char* named = std::getenv("NYALA_GOLDEN_DIR")) return named;
  return std::filesystem::path(NYALA_SOURCE_DIR) / "tests/golden/data";
}

Json load(const std::string& file) {
  const std::string path = (directory() / file).string();
  std::ifstream stream(path);
  if (!stream) throw std::runtime_error("cannot open golden data " + path);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  return parse_json(text, path, JsonLimits{.values = text.size()});
}

double number(const Json& value) {
  if (!value.is_string()) return value.get<double>();
  const std::string text = value.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  throw std::runtime_error("golden data: '" + text + "' is no number");
}

std::vector<double> numbers(const Json& values) {
  std::vector<double> result;
  for (const Json& value : values) result.push_back(number(value));
  return result;
}

Tensor tensor_as(const Json& value, DType dtype) {
  const Shape shape(value.at("shape").get<std::vector<int64_t>>());
  const Tensor result = Tensor::empty(shape, dtype);
  const std::vector<double> data = numbers(value.at("data"));
  dispatch_arithmetic(dtype, "golden data", [&](auto type) {
    using T = decltype(type);
    const std::span<T> target = result.data<T>();
    if (target.size() != data.size())
      throw std::runtime_error("golden data: shape and number of values differ");
    for (size_t i = 0; i < data.size(); ++i) target[i] = static_cast<T>(data[i]);
  });
  return result;
}

Tensor tensor(const Json& value) {
  if (value.is_null()) return {};
  return tensor_as(value, parse_dtype(value.value("dtype", "float32")));
}

Tensors tensors(const Json& values) {
  Tensors result;
  for (const Json& value : values) result.push_back(tensor(value));
  return result;
}

bool close(double got, double expected, const Tolerance& tolerance) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
  if (std::isinf(expected) || std::isinf(got)) return got == expected;
  return std::abs(got - expected) <= tolerance.absolute + tolerance.relative * std::abs(expected);
}

std::vector<double> to_doubles(const Tensor& value) {
  return dispatch_arithmetic(value.dtype(), "golden data", [&](auto type) {
    const auto held = value.to_vector<decltype(type)>();
    return std::vector<double>(held.begin(), held.end());
  });
}

void expect_close(const Tensor& got, const Json& expected, const std::string& what,
                  const Tolerance& tolerance) {
  ASSERT_TRUE(got.defined()) << what;
  const Shape shape(expected.at("shape").get<std::vector<int64_t>>());
  ASSERT_EQ(got.shape().to_string(), shape.to_string()) << what;
  const std::vector<double> have = to_doubles(got);
  std::vector<double> want = numbers(expected.at("data"));
  if (got.dtype() == DType::float32)
    for (double& value : want) value = static_cast<float>(value);
  ASSERT_EQ(have.size(), want.size()) << what;
  size_t wrong = 0, first = 0;
  for (size_t i = have.size(); i-- > 0;) {
    if (close(have[i], want[i], tolerance)) continue;
    ++wrong;
    first = i;
  }
  if (wrong == 0) return;
  std::ostringstream text;
  text.precision(9);
  text << what << ": " << wrong << " of " << have.size() << " values differ; element " << first << " of "
       << shape.to_string() << ": expected " << want[first] << ", received " << have[first];
  ADD_FAILURE() << text.str();
}

void expect_close(double got, double expected, const std::string& what, const Tolerance& tolerance) {
  EXPECT_TRUE(close(got, expected, tolerance)) << what << ": expected " << expected << ", received " << got;
}

std::string label(const Json& entry) {
  return entry.at("name").get<std::string>() + " " + entry.at("config").dump();
}

}  // namespace nyala::golden
