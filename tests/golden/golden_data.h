#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nyala/backend/core/tensor.h>
#include <nyala/files/json/strict_json.h>

namespace nyala::golden {

/// The folder of the golden data: the environment variable NYALA_GOLDEN_DIR, else tests/golden/data.
std::filesystem::path directory();

/// Reads a JSON file of that folder. Throws std::runtime_error naming the file if it is missing or damaged.
Json load(const std::string& file);

/// A number, or one of the strings "nan", "inf", "-inf".
double number(const Json& value);
std::vector<double> numbers(const Json& values);

/// A {"shape", "data"[, "dtype"]} as a tensor of its dtype (float32 where none is named), or an undefined
/// tensor for null.
Tensor tensor(const Json& value);
Tensors tensors(const Json& values);
/// The same in another dtype.
Tensor tensor_as(const Json& value, DType dtype);

/// |got - expected| <= absolute + relative * |expected|, elementwise; NaN equals NaN.
struct Tolerance {
  double absolute = 1e-6;
  double relative = 1e-5;
};

bool close(double got, double expected, const Tolerance& tolerance);

/// Fails the running test, naming `what`, the first wrong element and the number of wrong ones, unless shape
/// and values of `got` are those of `expected`.
void expect_close(const Tensor& got, const Json& expected, const std::string& what,
                  const Tolerance& tolerance = {});
void expect_close(double got, double expected, const std::string& what, const Tolerance& tolerance = {});

/// Values of any dtype as double, on the host.
std::vector<double> to_doubles(const Tensor& value);

/// "Conv2D {"filters":3}": names a case in messages.
std::string label(const Json& entry);

}  // namespace nyala::golden
