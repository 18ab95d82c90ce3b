#include <nyala/api/training/facts_of_rows.h>

#include <algorithm>
#include <cmath>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/runtime/random.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// From -1 to 1, another one for each number: with these a sum is another one where values change places.
double random_weight(uint64_t number) {
  return static_cast<double>(mix_key(0, number) >> 11) * 0x1.0p-52 - 1.0;
}

/// Of rows that lie all over the array.
double weighted_sum(const Tensor& array) {
  constexpr int64_t kMostRows = 64;
  const int64_t rows = array.shape()[0], count = std::min(rows, kMostRows);
  double sum = 0.0;
  uint64_t place = 0;
  for (int64_t i = 0; i < count; ++i)
    for (const double value :
         array.rows(i * rows / count, 1).to(Device{}).astype(DType::float64).to_vector<double>())
      sum += value * random_weight(place++);
  return std::isnan(sum) ? std::abs(sum) : sum + 0.0;
}

std::string fact_of(const Tensor& array) {
  constexpr int kDecimals = 2;
  if (!array.defined()) return "none";
  return array.shape().to_string() + " of " + std::string(name_of(array.dtype())) +
         ", some of whose rows come to " + scientific_text(weighted_sum(array), kDecimals);
}

}  // namespace

TrainingFacts facts_of_rows(const Element& arrays) {
  TrainingFacts facts;
  const auto add = [&](const std::string& name, const Tensors& tensors) {
    for (size_t i = 0; i < tensors.size(); ++i)
      facts.emplace_back(tensors.size() == 1 ? name : name + "[" + std::to_string(i) + "]",
                         fact_of(tensors[i]));
  };
  Tensors weights;
  arrays.sample_weight.for_each([&](const Tensor& weight) { weights.push_back(weight); });
  add("x", arrays.x);
  add("y", arrays.y);
  add("sample_weight", weights);
  return facts;
}

}  // namespace nyala
