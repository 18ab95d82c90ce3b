#pragma once

#include <memory>
#include <vector>

#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/strategies/comm/communicator.h>

namespace nyala {

/// A ProcessExchange over a communicator: tensors in place of bytes. Those in other memories than the host's
/// go by way of a copy.
class ProcessLink final : public ProcessExchange {
 public:
  /// `local_replicas`: how many this process has. Asks the others for theirs.
  ProcessLink(std::shared_ptr<Communicator> communicator, int local_replicas);

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
  void gather_bytes(const Tensors& own, const std::vector<int64_t>& bytes, const Tensors& values,
                    std::string_view what);

  std::shared_ptr<Communicator> communicator_;
  std::vector<int64_t> replicas_;  // of each rank
  int first_replica_ = 0, num_replicas_ = 0;
};

}  // namespace nyala
