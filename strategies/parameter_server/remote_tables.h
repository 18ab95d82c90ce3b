#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nyala/backend/core/mutex.h>
#include <nyala/backend/parameters/row_source.h>
#include <nyala/strategies/parameter_server/remote_parameters.h>

namespace nyala::detail {

/// Tables on parameter servers that no worker holds: rows are pulled when a layer reads them, and their
/// gradients pushed with the step's exchange.
class RemoteTables final : public RowSource {
 public:
  RemoteTables(RemoteParameters& parameters, int64_t above) : parameters_(parameters), above_(above) {}

  bool takes(const VariableSpec& spec) const override;
  void create(const std::shared_ptr<VariableNode>& node, const First& first) override;
  Tensor pull(const VariableNode& table, std::span<const int64_t> ids) override;
  void assign(const VariableNode& table, std::span<const int64_t> ids, const Tensor& rows) override;

  /// Forgets gradients.
  void begin_step();
  /// Of one use of the table in this step; indices as those of ops::take. For any thread.
  void add_gradient(int replica, int32_t leaf, const Tensor& indices, const Tensor& values);

  /// What a request's payload points at.
  struct PushedRows {
    std::vector<int64_t> ids;  ///< within their parts
    std::vector<float> sums;
  };
  using Pushed = std::deque<PushedRows>;
  using Asking = RemoteParameters::Asking;
  /// Adds the gradients of the step, summed by rows, and each table that has none as one without rows: behind
  /// all other entries.
  Pushed push(Asking& asking);
  /// Names a table in a request without rows.
  void name(Asking& asking, const VariableNode& table);
  /// From the state of an optimizer: the number of its next update and its rate.
  void set_step(const std::map<std::string, Tensor>& optimizer);

 private:
  struct Table {
    std::weak_ptr<VariableNode> node;
    std::string name;
    int number = 0;  // in the placement
    Shape shape;
  };
  /// Rows of one part, and where in the caller's list they stand.
  struct PartRows {
    const VariablePart* part = nullptr;
    std::vector<int64_t> ids;  // within the part
    std::vector<int64_t> places;
  };
  struct Use {
    Tensor indices, values;
  };
  using Uses = std::map<int, std::vector<Use>>;  // by replica

  const Table& table_of(const VariableNode& node) const;
  std::vector<PartRows> split(const Table& table, std::span<const int64_t> ids) const;
  ParameterEntry entry_of(const Table& table, const VariablePart& part, int64_t rows) const;
  void push(const Table& table, const Uses& uses, Asking& asking, Pushed& pushed) const;

  RemoteParameters& parameters_;
  const int64_t above_;
  mutable Mutex mutex_;  // of gradients_
  std::deque<Table> tables_;
  std::map<int32_t, Uses> gradients_;  // by leaf
};

}  // namespace nyala::detail
