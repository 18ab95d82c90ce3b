#include <atomic>
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/float32_precision.h>

namespace nyala {

namespace {

std::atomic<Float32Precision> g_precision{Float32Precision::highest};

}  // namespace

void set_float32_precision(Float32Precision precision) {
  g_precision.store(precision, std::memory_order_relaxed);
}

void set_float32_precision(std::string_view name) {
  if (name == "highest") return set_float32_precision(Float32Precision::highest);
  if (name == "high") return set_float32_precision(Float32Precision::high);
  if (name == "medium") return set_float32_precision(Float32Precision::medium);
  throw InvalidArgumentError(
      "set_float32_precision: expected \"highest\", \"high\" or \"medium\", received \"" + std::string(name) +
      "\"");
}

Float32Precision float32_precision() { return g_precision.load(std::memory_order_relaxed); }

}  // namespace nyala
