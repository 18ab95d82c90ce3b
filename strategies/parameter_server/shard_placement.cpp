#include <nyala/strategies/parameter_server/shard_placement.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <nyala/strategies/cluster/environment.h>

namespace nyala::detail {

ShardPlacement::ShardPlacement(int servers, Partitioner partitioner)
    : servers_(servers), partitioner_(std::move(partitioner)) {
  if (servers < 1)
    throw_wrong_setting("parameter servers", "at least one", std::to_string(servers),
                        "A cluster for them has tasks of type \"ps\".");
}

ShardPlacement::ShardPlacement(std::span<const PlacedShape> variables, int servers, Partitioner partitioner)
    : ShardPlacement(servers, std::move(partitioner)) {
  for (const PlacedShape& variable : variables) add(variable);
}

int ShardPlacement::add(const PlacedShape& variable) {
  const Shape& shape = variable.shape;
  const int64_t rows = shape.empty() ? 1 : shape.front();
  const int number = num_variables();
  const std::vector<RowRange> ranges = shard_rows(rows, partitioner_.num_parts(shape, variable.dtype));
  first_parts_.push_back(parts_.size());
  for (size_t part = 0; part < ranges.size(); ++part)
    parts_.push_back({.variable = number,
                      .part = static_cast<int>(part),
                      .rows = ranges[part],
                      .shape = shape.empty() ? shape : shape.with(0, ranges[part].count),
                      .server = static_cast<int>(parts_.size() % static_cast<size_t>(servers_))});
  return number;
}

std::span<const VariablePart> ShardPlacement::parts_of(int variable) const {
  if (variable < 0 || variable >= num_variables())
    throw_wrong_setting("parts of a variable", "one of the " + std::to_string(num_variables()) + " variables",
                        std::to_string(variable));
  const size_t index = static_cast<size_t>(variable);
  const size_t end = index + 1 < first_parts_.size() ? first_parts_[index + 1] : parts_.size();
  return std::span(parts_).subspan(first_parts_[index], end - first_parts_[index]);
}

std::vector<VariablePart> ShardPlacement::parts_on(int server) const {
  std::vector<VariablePart> held;
  std::copy_if(parts_.begin(), parts_.end(), std::back_inserter(held),
               [&](const VariablePart& part) { return part.server == server; });
  return held;
}

const VariablePart& ShardPlacement::part_of_row(int variable, int64_t row) const {
  const std::span<const VariablePart> parts = parts_of(variable);
  const auto behind =
      std::upper_bound(parts.begin(), parts.end(), row,
                       [](int64_t wanted, const VariablePart& part) { return wanted < part.rows.first; });
  const int64_t rows = parts.back().rows.first + parts.back().rows.count;
  if (row < 0 || row >= rows)
    throw_wrong_setting("row of variable " + std::to_string(variable),
                        "one of its " + std::to_string(rows) + " rows", std::to_string(row));
  return *std::prev(behind);
}

}  // namespace nyala::detail
