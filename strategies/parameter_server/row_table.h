#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nyala/strategies/parameter_server/server_message.h>
#include <nyala/strategies/parameter_server/server_rule.h>

namespace nyala::detail {

/// Updates of a server's tables, and the learning rates that were set.
struct UpdateCount {
  int64_t step = 0;  ///< of the next one
  std::vector<std::pair<int64_t, double>> rates = {};

  void set_rate(double rate);
  double rate_of(int64_t of_step) const;
};

/// Consecutive rows of a table in float32, on a server, with the slots of their rule: changed by rows, as
/// updates of the whole would have changed them. Rows that updates without a gradient change, too, are
/// brought up to date when they are asked for: the updates that they have missed are made with a gradient of
/// zeros, each with its number and rate. No gradient of the whole's size is ever made.
class RowTable {
 public:
  /// First values from `fill`, of which `first` rows lie elsewhere. Throws DTypeError for other dtypes.
  RowTable(const ParameterEntry& part, int64_t first, const RowFiller& fill);

  /// What lies here, for snapshots; shares the bytes.
  struct State {
    Tensor value;
    Tensors slots = {};
    Tensor next = {};  ///< int64, by row: the first update that has not been made; -1: as at first. Or none
  };
  RowTable(std::string name, State state);

  const std::string& name() const { return name_; }
  const Shape& shape() const { return state_.value.shape(); }
  const State& state() const { return state_; }
  bool has_rule() const { return rule_ != nullptr; }

  /// `keeps_slots`: they are those of this rule.
  void set_rule(std::unique_ptr<RowRule> rule, const UpdateCount& count, bool keeps_slots);
  /// Throw CommunicationError for ids that it does not have.
  void check(std::span<const int64_t> ids) const;
  /// Ids are known. The values before update `count.step`.
  void read(std::span<const int64_t> ids, const UpdateCount& count, std::byte* rows);
  void assign(std::span<const int64_t> ids, const UpdateCount& count, const std::byte* rows);
  /// Update `count.step`, by gradients of these rows, each named once; all others have none.
  void update(std::span<const int64_t> ids, const UpdateCount& count, const std::byte* gradients);
  /// The next update is number `step`; slots begin anew where that is 0.
  void restart(const UpdateCount& count, int64_t step);

 private:
  size_t row_bytes() const { return static_cast<size_t>(columns_) * sizeof(float); }
  void make_slots(const UpdateCount& count);
  void catch_up(std::span<const int64_t> ids, const UpdateCount& count);
  void catch_up_block(std::span<const int64_t> ids, const UpdateCount& count);
  void catch_up_all(const UpdateCount& count);
  /// Rows and their slots in tensors of their own, and back.
  RowBlock taken(std::span<const int64_t> ids) const;
  void put_back(std::span<const int64_t> ids, const RowBlock& block) const;

  std::string name_;
  State state_;
  int64_t columns_ = 0;
  std::unique_ptr<RowRule> rule_;
};

}  // namespace nyala::detail
