#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <nyala/backend/parameters/parameter_store.h>

namespace nyala {

class Call;

/// Where the rows of tables lie that are never whole in this process. Thread-safe.
class RowSource {
 public:
  virtual ~RowSource() = default;

  /// What the first values of a table are made from where they are made elsewhere.
  struct First {
    std::string initializer;  ///< as whoever makes them reads it
    uint64_t key = 0;         ///< of its draws
  };
  /// Whether such a variable is to lie there.
  virtual bool takes(const VariableSpec& spec) const = 0;
  /// Makes it there, or finds it. The node is what the store has made: without bytes.
  virtual void create(const std::shared_ptr<VariableNode>& node, const First& first) = 0;
  /// Rows of a table, one for each id, ids in [0, rows): (ids.size(), ...) on the host. Ids ascend.
  virtual Tensor pull(const VariableNode& table, std::span<const int64_t> ids) = 0;
  virtual void assign(const VariableNode& table, std::span<const int64_t> ids, const Tensor& rows) = 0;
};

namespace detail {

/// For the variables of `store` from now on; null: none any more. The store is not kept.
void set_row_source(const ParameterStore& store, std::shared_ptr<RowSource> source);

/// The VariableSpec::initialize of a variable that is read by rows alone, so that it may lie in a RowSource:
/// `first` is called where it does, `whole` elsewhere.
struct InitializeRows {
  std::function<void(const Tensor&)> whole;
  std::function<RowSource::First()> first;
  void operator()(const Tensor& value) const { whole(value); }
};

/// Where a variable of `store` is to lie; null: there.
std::shared_ptr<RowSource> source_for(const ParameterStore& store, const VariableSpec& spec);

/// Whether the variable is such a table: it has no bytes here.
bool is_remote_table(const VariableNode& node) noexcept;
/// Those that are none.
Variables without_remote_tables(const Variables& variables);

/// The rows of `table` that `indices` (int32, int64, uint8) name: ops::take(c[table], indices, 0), with its
/// rules for bad ones and its gradient, wherever the table lies.
Tensor take_rows(Call& c, const Variable& table, const Tensor& indices);

}  // namespace detail

}  // namespace nyala
