#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nyala/backend/core/dtype.h>
#include <nyala/backend/core/fork.h>
#include <nyala/backend/core/half.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/strategies/communicators/call_header.h>

namespace nyala {

/// Elements in host memory.
struct HostValues {
  void* data = nullptr;
  int64_t count = 0;
  DType dtype = DType::float32;
};

struct ElementRange {
  int64_t first = 0;
  int64_t count = 0;
};

struct CommunicatorOptions {
  int rank = 0;
  int size = 1;
  /// Ranks of different generations refuse each other.
  uint64_t generation = 0;
  /// Of several communicators among the same processes each has a name of its own (letters, digits, '-',
  /// '_').
  std::string name = "main";
  /// Of a call that is not given one, and of forming the group.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
  /// Gloo's address of this rank: a host name, an IP address, or "" for the loopback.
  std::string address = {};
  /// Gloo neither encrypts nor asks who connects: an address other than the loopback needs this, which says
  /// that nobody else is in that network (a VPN, a private network).
  bool trusted_network = false;
};

namespace detail {

/// Throws InvalidArgumentError for options that no group can have.
void check_communicator_options(const CommunicatorOptions& options);

/// "g3/main/", in front of the keys by which a group meets.
std::string group_prefix(const CommunicatorOptions& options);

}  // namespace detail

struct CollectiveOptions {
  /// What the call is for: in errors, and the same on all ranks ("gradients 3").
  std::string_view what = {};
  /// None: the communicator's.
  std::optional<std::chrono::milliseconds> timeout = {};
  /// In what float32 values of an all_reduce travel. bfloat16 halves the bytes: each rank rounds its values,
  /// they are added in float32, and the result is rounded. Nothing travels, and is rounded, in a group of
  /// one. float32: as they are. Other calls and other values stay as they are; other dtypes throw
  /// InvalidArgumentError.
  DType wire_dtype = DType::float32;
};

/// A group of ranks, in one process or many, that exchange host memory. Every rank makes the same calls in
/// the same order, with the same sizes, dtypes, ops and `what`; calls of several threads of one rank take
/// turns, so that those who cannot agree on an order have a communicator each (CommunicatorOptions::name).
///
/// Every call waits for all ranks, at most for its timeout (counted from when its turn comes), and throws
/// CommunicationError otherwise: TimeoutError where a rank does not come, PeerLostError where one ended.
/// Ranks that come with different calls get CommunicationError, all of them. The text names call, rank,
/// generation, host, the peer where one is known, and the time waited. From then on the communicator is dead:
/// every later call throws the same at once, and so do the other ranks' calls. What data buffers hold after
/// an error is unspecified. A wrong argument (a negative count, a null pointer) throws InvalidArgumentError
/// before anybody is asked, and kills nothing.
///
/// Results are the same bits on every rank and in every run; in which order is added, each kind says in
/// its header.
class Communicator {
 public:
  static constexpr int kMaxSize = 4096;

  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return options_.rank; }
  int size() const { return options_.size; }
  uint64_t generation() const { return options_.generation; }
  const CommunicatorOptions& options() const { return options_; }

  /// Combines the values of all ranks in place, on every rank.
  void all_reduce(const HostValues& values, CollectiveOp op, const CollectiveOptions& how = {});
  /// Combines in place what lies in part_of(count, rank, size), and returns that range; the other elements
  /// are unspecified afterwards.
  ElementRange reduce_scatter(const HostValues& values, CollectiveOp op, const CollectiveOptions& how = {});
  /// `all` becomes the `mine` of all ranks in their order; each has as many bytes. `mine` may be its own
  /// place in `all`.
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all,
                  const CollectiveOptions& how = {});
  /// The same where rank r brings `sizes[r]` bytes, which all ranks know.
  void all_gather_v(std::span<const std::byte> mine, std::span<const int64_t> sizes, std::span<std::byte> all,
                    const CollectiveOptions& how = {});
  /// `data` of `root` on every rank.
  void broadcast(std::span<std::byte> data, int root, const CollectiveOptions& how = {});
  void barrier(const CollectiveOptions& how = {});

  /// Kills the communicator on all ranks: calls that wait and later ones throw CommunicationError with
  /// `reason`. Of several reasons the first one stays. From any thread.
  void abort(std::string reason) noexcept;
  /// The same for what is known from elsewhere, with the text as it is; PeerLostError where `lost` says that
  /// a rank is gone (-1: nobody knows which).
  void end(std::string reason, std::optional<int> lost = {}) noexcept;
  /// Whether it is dead, as far as this rank knows.
  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  /// The text of the first error; "" while it lives.
  std::string failure() const;
  /// The rank that was lost or did not come, where that is known.
  std::optional<int> lost_rank() const;

  /// "shared memory 'main', rank 0 of 2 on build7, generation 3, timeout 300 s".
  std::string describe() const;

  /// The part of rank r in a reduce_scatter of `count` elements: as equal as possible, larger ones first.
  static ElementRange part_of(int64_t count, int rank, int size);

 protected:
  /// One call, checked. `in` and `out` are what is read and written: the values (the same), or `mine` and
  /// `all`, or the data of a broadcast (the same).
  struct Collective {
    detail::CallHeader header;
    const std::byte* in = nullptr;
    std::byte* out = nullptr;
    std::span<const int64_t> sizes;  // of a gather, one per rank
    std::chrono::steady_clock::time_point begun, deadline;
    DType wire_dtype = DType::float32;  // of who rounds_by_itself(); else the values are rounded already
  };

  /// Why a communicator is dead.
  struct Failure {
    enum class Kind : uint8_t { communication, timeout, peer_lost };
    Kind kind = Kind::communication;
    int peer = -1;  // the rank that is lost or late
    std::string text;
  };

  explicit Communicator(CommunicatorOptions options);

  /// "shared memory".
  virtual std::string kind() const = 0;
  /// Carries out a call among at least two ranks; no two at the same time. Throws what fail() makes.
  virtual void run(const Collective& call) = 0;
  /// Whether run() heeds wire_dtype, because not all of its ways are to be rounded.
  virtual bool rounds_by_itself() const { return false; }
  /// Makes run() of this and of all other ranks throw soon. From any thread, at most once; may be at the same
  /// time as run().
  virtual void interrupt(const Failure& failure) noexcept = 0;

  /// interrupt() for a communicator that this one is made of, with the kind of the error.
  static void give_up(Communicator& part, const Failure& failure) noexcept;

  /// Throws the error of `failure`, in the words of `call`: who waits for what since when.
  [[noreturn]] void fail(const Collective& call, Failure failure);

 private:
  struct Exchange;  // in, out and sizes of a call
  void call(detail::CallHeader header, const Exchange& exchange, const CollectiveOptions& how);
  void reduce(detail::CollectiveKind kind, const HostValues& values, CollectiveOp op,
              const CollectiveOptions& how);
  void run_rounded(const Collective& call);
  std::string place(const Collective& call) const;
  [[noreturn]] static void throw_failure(Failure::Kind kind, const std::string& text);
  void check_alive(const Collective& call) const;
  void die(Failure failure) noexcept;

  CommunicatorOptions options_;
  uint32_t made_in_ = forks();
  Mutex turn_;
  uint64_t calls_ = 0;                // guarded by turn_
  std::vector<int64_t> equal_sizes_;  // of all_gather(); guarded by turn_
  std::vector<bfloat16> rounded_;     // what travels; guarded by turn_
  std::atomic<bool> failed_{false};
  mutable Mutex mutex_;  // of failure_
  Failure failure_;
};

}  // namespace nyala
