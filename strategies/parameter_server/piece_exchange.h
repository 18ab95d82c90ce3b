#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/strategies/parameter_server/coordinator_message.h>

namespace nyala::detail {

/// What the workers of one synchronous step, or all processes of a loop, say to each other by way of the
/// chief: ranks are pieces of the batch, whoever computes them.
class PieceExchange final : public ProcessExchange {
 public:
  using Bytes = std::vector<std::byte>;
  /// What all pieces bring to meeting `number`, in their order; nothing where the step is over.
  using Meet = std::function<std::optional<std::vector<Bytes>>(uint64_t number, const std::string& what,
                                                               std::span<const std::byte> own)>;
  /// `tell` the others why this one ends; empty: they learn of it from the chief.
  PieceExchange(Meet meet, const StepPiece& piece, int local_replicas,
                std::function<void(const std::string& reason)> tell = {})
      : meet_(std::move(meet)), tell_(std::move(tell)), piece_(piece), local_replicas_(local_replicas) {}

  /// The step ended without this piece, or was begun again: what the worker computes of it is of no use.
  bool is_over() const { return is_over_; }

  int rank() const override { return piece_.piece; }
  int size() const override { return piece_.pieces; }
  int first_replica() const override { return piece_.piece * local_replicas_; }
  int num_replicas() const override { return piece_.pieces * local_replicas_; }
  void all_reduce_sum(const Tensor& values, std::string_view what) override;
  Tensors all_values(const Tensors& own, std::string_view what) override;
  Tensor all_gather(const Tensor& local, std::string_view what) override;
  void all_numbers(std::span<const int64_t> own, std::span<int64_t> all, std::string_view what) override;
  void broadcast(const Tensor& value, std::string_view what) override;
  void agree(uint64_t number, std::string_view what) override;
  void abort(const std::string& reason) noexcept override;

 private:
  /// What each piece brings. Throws CommunicationError where the step is over.
  std::vector<Bytes> meet(std::span<const std::byte> own, std::string_view what);
  /// The same where all bring as many bytes.
  std::vector<Bytes> meet_alike(std::span<const std::byte> own, std::string_view what);

  const Meet meet_;
  const std::function<void(const std::string&)> tell_;
  const StepPiece piece_;
  const int local_replicas_;
  uint64_t meetings_ = 0;
  bool is_over_ = false;
};

}  // namespace nyala::detail
