#include <nyala/strategies/rows/row_split.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

std::vector<RowRange> detail::split_rows(std::span<const double> given, int64_t rows) {
  // The largest is brought near 1, by a power of two: no bit changes, and neither sum nor quotas overflow.
  const double largest = given.empty() ? 1.0 : *std::max_element(given.begin(), given.end());
  std::vector<double> weights(given.begin(), given.end());
  for (double& weight : weights) weight = std::scalbn(weight, -std::ilogb(largest));
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<RowRange> pieces(weights.size());
  std::vector<double> remainders(weights.size());
  int64_t left = rows;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double quota = static_cast<double>(rows) * weights[i] / total;
    pieces[i].count = std::min(static_cast<int64_t>(std::floor(quota)), left);
    remainders[i] = quota - static_cast<double>(pieces[i].count);
    left -= pieces[i].count;
  }
  std::vector<size_t> order(weights.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
  for (size_t i = 0; left > 0; i = (i + 1) % order.size(), --left) ++pieces[order[i]].count;
  int64_t first = 0;
  for (RowRange& piece : pieces) {
    piece.first = first;
    first += piece.count;
  }
  return pieces;
}

void detail::check_device_weights(std::span<const double> weights, size_t num_devices, const char* strategy) {
  if (weights.empty()) return;
  if (weights.size() != num_devices)
    throw InvalidArgumentError(std::string(strategy) + ": expected one device weight per device, " +
                               std::to_string(num_devices) + ", received " + std::to_string(weights.size()));
  for (size_t i = 0; i < weights.size(); ++i)
    if (!(weights[i] > 0) || !std::isnormal(weights[i]))  // shares of subnormal numbers are too coarse
      throw InvalidArgumentError(std::string(strategy) + ": device weight " + std::to_string(i) +
                                 " must be a positive number, received " + number_text(weights[i]));
}

}  // namespace nyala
