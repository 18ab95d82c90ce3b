#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// What one process of a step may ask of the others, for those of its replicas that met. One thread at a
/// time, and all processes in the same order; `what` names the exchange in errors, and processes that come to
/// different ones get CommunicationError, as all do whom another one fails to answer in time.
class ProcessExchange : public std::enable_shared_from_this<ProcessExchange> {
 public:
  virtual ~ProcessExchange() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Whether this process makes by itself what the others have already, and can ask nobody.
  virtual bool is_apart() const { return false; }
  /// Replicas have consecutive ids within a process, and processes follow each other in the order of ranks.
  virtual int first_replica() const = 0;
  virtual int num_replicas() const = 0;
  /// `values` becomes the sum over the processes, added in the order of ranks: the same bits everywhere.
  virtual void all_reduce_sum(const Tensor& values, std::string_view what) = 0;
  /// The values of all processes in the order of ranks. Each brings at least one; all have the same number of
  /// axes and dtype, sizes need not be equal.
  virtual Tensors all_values(const Tensors& own, std::string_view what) = 0;
  /// The replicas' values stacked along a new axis 0 in the order of their ids, in host memory. `local` are
  /// those of this process stacked in that way; all are of one shape and dtype.
  virtual Tensor all_gather(const Tensor& local, std::string_view what) = 0;
  /// `all` becomes what each process brings, in the order of ranks; all bring as many.
  virtual void all_numbers(std::span<const int64_t> own, std::span<int64_t> all, std::string_view what) = 0;
  /// `value` becomes that of rank 0.
  virtual void broadcast(const Tensor& value, std::string_view what) = 0;
  /// Throws CommunicationError, naming `what`, where the processes come with different numbers.
  virtual void agree(uint64_t number, std::string_view what) = 0;
  /// Ends what the others wait for: they get CommunicationError with `reason`, and nothing works any more.
  virtual void abort(const std::string& reason) noexcept = 0;
};

namespace detail {

/// What each process says, in the order of ranks. T is made of numbers of 64 bits.
template <class T>
std::vector<T> said_by_all(ProcessExchange& processes, const T& own, std::string_view what) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(int64_t) == 0);
  constexpr size_t kNumbers = sizeof(T) / sizeof(int64_t);
  std::vector<T> all(static_cast<size_t>(processes.size()));
  processes.all_numbers({reinterpret_cast<const int64_t*>(&own), kNumbers},
                        {reinterpret_cast<int64_t*>(all.data()), kNumbers * all.size()}, what);
  return all;
}

}  // namespace detail

}  // namespace nyala
