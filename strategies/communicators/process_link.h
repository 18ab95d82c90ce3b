#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/strategies/communicators/communicator.h>

namespace nyala {

/// A ProcessExchange over a communicator: tensors in place of bytes. Those in other memories than the host's
/// go by way of a copy.
class ProcessLink final : public ProcessExchange {
 public:
  /// `local_replicas`: how many this process has.
  explicit ProcessLink(int local_replicas) : local_replicas_(local_replicas) {}
  /// Asks the others for their replicas.
  ProcessLink(std::shared_ptr<Communicator> communicator, int local_replicas);

  /// The same over a new communicator, of which ranks and sizes may be others. `training`: the number of the
  /// training that this process is in the middle of, 0 where it is in none. It waits for the others for
  /// `timeout`, or as long as the communicator does.
  void connect(std::shared_ptr<Communicator> communicator, int64_t training,
               std::optional<std::chrono::milliseconds> timeout = {});
  /// The number of the training that some processes were in the middle of when they connected, the latest
  /// where one stood still in an earlier one; 0: none.
  int64_t training() const { return training_; }
  /// Whether some processes were not in it when they connected, and the first rank that was.
  bool has_newcomers() const { return has_newcomers_; }
  int furthest() const { return furthest_; }
  /// The seed of those, else of rank 0.
  uint64_t seed() const { return seed_; }
  /// Whether some process had another one.
  bool had_other_seeds() const { return had_other_seeds_; }
  /// A process that is apart makes and builds what the others have already: first values are its own, nobody
  /// is asked, and what cannot be answered alone throws StateError. So is one that connects when others are
  /// in the middle of a training that it has not come to.
  bool is_apart() const override { return apart_; }
  void set_apart(bool apart) { apart_ = apart; }

  int rank() const override { return communicator_->rank(); }
  int size() const override { return communicator_->size(); }
  int first_replica() const override { return first_replica_; }
  int num_replicas() const override { return num_replicas_; }
  void all_reduce_sum(const Tensor& values, std::string_view what) override;
  Tensors all_values(const Tensors& own, std::string_view what) override;
  Tensor all_gather(const Tensor& local, std::string_view what) override;
  void all_numbers(std::span<const int64_t> own, std::span<int64_t> all, std::string_view what) override;
  void broadcast(const Tensor& value, std::string_view what) override;
  void agree(uint64_t number, std::string_view what) override;
  void abort(const std::string& reason) noexcept override;

  Communicator& communicator() { return *communicator_; }

 private:
  void check_together(std::string_view what) const;
  void gather_bytes(const Tensors& own, const std::vector<int64_t>& bytes, const Tensors& values,
                    std::string_view what);

  int local_replicas_;
  int64_t training_ = 0;
  uint64_t seed_ = 0;
  bool had_other_seeds_ = false, has_newcomers_ = false;
  int furthest_ = 0;
  bool apart_ = false;
  std::shared_ptr<Communicator> communicator_;
  std::vector<int64_t> replicas_;  // of each rank
  int first_replica_ = 0, num_replicas_ = 0;
};

}  // namespace nyala
