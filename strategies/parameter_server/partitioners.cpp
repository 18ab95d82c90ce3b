#include <nyala/strategies/parameter_server/partitioners.h>

#include <algorithm>
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/cluster/environment.h>
#include <nyala/strategies/rows/equal_piece.h>

namespace nyala {

namespace {

int64_t at_least_one(const char* what, int64_t number) {
  if (number < 1) detail::throw_wrong_setting(what, "a number from 1", std::to_string(number));
  return number;
}

int64_t bytes_per_row(const Shape& shape, DType dtype) {
  return shape.slice(1, shape.rank()).num_elements() * static_cast<int64_t>(size_of(dtype));
}

/// Axis 0 in at least one part, at most one per row.
std::vector<int64_t> parts_of(const Shape& shape, int64_t parts) {
  std::vector<int64_t> all(static_cast<size_t>(shape.rank()), 1);
  all[0] = std::max<int64_t>(1, std::min(parts, shape.front()));
  return all;
}

/// A shape that has nothing to cut is not asked about.
bool is_whole(const Shape& shape) { return shape.num_elements() == 0 || shape.empty(); }

std::vector<int64_t> whole(const Shape& shape) {
  return std::vector<int64_t>(static_cast<size_t>(shape.rank()), 1);
}

std::string text_of(const std::vector<int64_t>& numbers) {
  std::string text;
  for (const int64_t number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "{" + text + "}";
}

}  // namespace

int64_t Partitioner::num_parts(const Shape& shape, DType dtype) const {
  if (is_whole(shape) || !function_) return 1;
  const std::vector<int64_t> parts = function_(shape, dtype);
  const bool fits = parts.size() == static_cast<size_t>(shape.rank()) && parts[0] >= 1 &&
                    parts[0] <= shape.front() &&
                    std::all_of(parts.begin() + 1, parts.end(), [](int64_t part) { return part == 1; });
  if (!fits)
    detail::throw_wrong_setting("partitioner",
                                "for a variable of shape " + shape.to_string() +
                                    " one number per axis, from 1 to " + std::to_string(shape.front()) +
                                    " for axis 0 and ones for the others",
                                text_of(parts), "Variables are cut along axis 0 only.");
  return parts[0];
}

FixedShardsPartitioner::FixedShardsPartitioner(int64_t num_shards)
    : num_shards_(at_least_one("FixedShardsPartitioner: num_shards", num_shards)) {}

std::vector<int64_t> FixedShardsPartitioner::operator()(const Shape& shape, DType) const {
  return is_whole(shape) ? whole(shape) : parts_of(shape, num_shards_);
}

MinSizePartitioner::MinSizePartitioner(Config config) : config_(config) {
  at_least_one("MinSizePartitioner: min_shard_bytes", config.min_shard_bytes);
  at_least_one("MinSizePartitioner: max_shards", config.max_shards);
}

std::vector<int64_t> MinSizePartitioner::operator()(const Shape& shape, DType dtype) const {
  if (is_whole(shape)) return whole(shape);
  const int64_t row = bytes_per_row(shape, dtype);
  const int64_t rows_per_part = (config_.min_shard_bytes - 1) / row + 1;
  return parts_of(shape, std::min(config_.max_shards, shape.front() / rows_per_part));
}

MaxSizePartitioner::MaxSizePartitioner(Config config) : config_(config) {
  at_least_one("MaxSizePartitioner: max_shard_bytes", config.max_shard_bytes);
  if (config.max_shards < 0)
    detail::throw_wrong_setting("MaxSizePartitioner: max_shards", "a number from 1, or 0 for no limit",
                                std::to_string(config.max_shards));
}

std::vector<int64_t> MaxSizePartitioner::operator()(const Shape& shape, DType dtype) const {
  if (is_whole(shape)) return whole(shape);
  const int64_t rows_per_part = std::max<int64_t>(1, config_.max_shard_bytes / bytes_per_row(shape, dtype));
  const int64_t parts = (shape.front() - 1) / rows_per_part + 1;
  return parts_of(shape, config_.max_shards > 0 ? std::min(config_.max_shards, parts) : parts);
}

std::vector<RowRange> shard_rows(int64_t rows, int64_t shards) {
  if (rows < 0) detail::throw_wrong_setting("shard_rows: rows", "a number from 0", std::to_string(rows));
  at_least_one("shard_rows: shards", shards);
  std::vector<RowRange> ranges;
  for (int64_t shard = 0; shard < shards; ++shard) ranges.push_back(detail::equal_piece(rows, shards, shard));
  return ranges;
}

}  // namespace nyala
