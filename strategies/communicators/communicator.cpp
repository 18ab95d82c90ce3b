// What holds for every kind: arguments are checked before anybody is asked, calls are numbered and take
// turns, their headers say to the others what this rank came to, and the first failure is kept and is the
// answer to all later calls. A kind implements run() and interrupt().
#include <nyala/strategies/communicators/communicator.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/strategies/communicators/communication_options.h>
#include <nyala/strategies/communicators/host_name.h>

namespace nyala {

using detail::CallHeader;
using detail::CollectiveKind;

namespace {

void check_call(bool holds, const CallHeader& header, const std::string& what) {
  if (!holds) throw InvalidArgumentError(detail::call_text(header) + ": " + what);
}

/// By the fastest loop of this CPU, on this thread alone: the others compute.
void cast_values(void* from, DType dtype, void* to, DType wanted, int64_t count) {
  if (count == 0) return;
  const ScopedValue<int> alone(detail::thread_context().compute_threads, 1);
  const Tensor x = Tensor::wrap(from, {count}, dtype, nullptr);
  dispatch_into(ops::kCast, ops::CastDescriptor{wanted}, {&x}, Tensor::wrap(to, {count}, wanted, nullptr));
}

int64_t sum_of_sizes(const CallHeader& header, std::span<const int64_t> sizes) {
  int64_t sum = 0;
  for (const int64_t size : sizes) {
    check_call(size >= 0, header, "a size is negative");
    check_call(!__builtin_add_overflow(sum, size, &sum), header, "the sizes are too large");
  }
  return sum;
}

}  // namespace

void detail::check_communicator_options(const CommunicatorOptions& options) {
  const auto refuse = [](const std::string& what) {
    throw InvalidArgumentError("CommunicatorOptions: " + what);
  };
  if (options.size < 1)
    refuse("size is " + std::to_string(options.size) + ", but a group has at least one rank");
  if (options.size > Communicator::kMaxSize)
    refuse("size is " + std::to_string(options.size) + ", at most " + std::to_string(Communicator::kMaxSize));
  if (options.rank < 0 || options.rank >= options.size)
    refuse("rank is " + std::to_string(options.rank) + " in a group of " + std::to_string(options.size));
  if (options.timeout.count() <= 0) refuse("timeout is not positive");
  const auto is_plain = [](char c) {
    return detail::is_letter(c) || detail::is_digit(c) || c == '-' || c == '_';
  };
  const bool plain = !options.name.empty() && options.name.size() <= 40 &&
                     std::all_of(options.name.begin(), options.name.end(), is_plain);
  if (!plain)
    refuse("name is " + detail::in_quotes(options.name) + "; it is 1 to 40 letters, digits, '-', '_'");
}

std::string detail::group_prefix(const CommunicatorOptions& options) {
  std::string prefix = "g";
  prefix += std::to_string(options.generation);
  return prefix + "/" + options.name + "/";
}

struct Communicator::Exchange {
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  std::span<const int64_t> sizes;
};

Communicator::Communicator(CommunicatorOptions options) : options_(std::move(options)) {
  detail::check_communicator_options(options_);
  equal_sizes_.resize(static_cast<size_t>(size()));
}

ElementRange Communicator::part_of(int64_t count, int rank, int size) {
  const int64_t small = count / size, larger = count % size;
  return {rank * small + std::min<int64_t>(rank, larger), small + (rank < larger ? 1 : 0)};
}

void Communicator::all_reduce(const HostValues& values, CollectiveOp op, const CollectiveOptions& how) {
  reduce(CollectiveKind::all_reduce, values, op, how);
}

ElementRange Communicator::reduce_scatter(const HostValues& values, CollectiveOp op,
                                          const CollectiveOptions& how) {
  reduce(CollectiveKind::reduce_scatter, values, op, how);
  return part_of(values.count, rank(), size());
}

void Communicator::reduce(CollectiveKind kind, const HostValues& values, CollectiveOp op,
                          const CollectiveOptions& how) {
  CallHeader header;
  header.kind = kind;
  header.op = op;
  header.dtype = values.dtype;
  header.count = values.count;
  header.set_what(how.what);
  const auto most = std::numeric_limits<int64_t>::max() / static_cast<int64_t>(size_of(values.dtype));
  check_call(values.count >= 0 && values.count <= most, header, "no such count");
  check_call(reinterpret_cast<uintptr_t>(values.data) % size_of(values.dtype) == 0, header,
             "data is not aligned");
  check_call(values.data != nullptr || values.count == 0, header, "data is null");
  check_call(detail::is_wire_dtype(how.wire_dtype), header,
             "wire_dtype: expected float32 or bfloat16, received " + std::string(name_of(how.wire_dtype)));
  auto* const data = static_cast<std::byte*>(values.data);
  call(header, {data, data, {}}, how);
}

void Communicator::all_gather(std::span<const std::byte> mine, std::span<std::byte> all,
                              const CollectiveOptions& how) {
  CallHeader header;
  header.kind = CollectiveKind::all_gather;
  header.count = static_cast<int64_t>(all.size());
  header.set_what(how.what);
  check_call(all.size() == mine.size() * static_cast<size_t>(size()), header,
             "this rank brings " + std::to_string(mine.size()) + " bytes, so that `all` needs " +
                 std::to_string(size()) + " times as many");
  call(header, {mine.data(), all.data(), {}}, how);
}

void Communicator::all_gather_v(std::span<const std::byte> mine, std::span<const int64_t> sizes,
                                std::span<std::byte> all, const CollectiveOptions& how) {
  CallHeader header;
  header.kind = CollectiveKind::all_gather;
  header.count = static_cast<int64_t>(all.size());
  header.sizes_hash = detail::stable_hash(sizes.data(), sizes.size_bytes());
  header.set_what(how.what);
  check_call(sizes.size() == static_cast<size_t>(size()), header, "there is one size per rank");
  check_call(sum_of_sizes(header, sizes) == header.count, header, "the sizes add up to something else");
  check_call(sizes[static_cast<size_t>(rank())] == static_cast<int64_t>(mine.size()), header,
             "this rank brings " + std::to_string(mine.size()) + " bytes, which is not its size");
  call(header, {mine.data(), all.data(), sizes}, how);
}

void Communicator::broadcast(std::span<std::byte> data, int root, const CollectiveOptions& how) {
  CallHeader header;
  header.kind = CollectiveKind::broadcast;
  header.count = static_cast<int64_t>(data.size());
  header.root = root;
  header.set_what(how.what);
  check_call(root >= 0 && root < size(), header, "the ranks are 0 to " + std::to_string(size() - 1));
  call(header, {data.data(), data.data(), {}}, how);
}

void Communicator::barrier(const CollectiveOptions& how) {
  CallHeader header;
  header.set_what(how.what);
  call(header, {}, how);
}

void Communicator::call(CallHeader header, const Exchange& exchange, const CollectiveOptions& how) {
  const std::chrono::milliseconds timeout = how.timeout.value_or(options_.timeout);
  check_call(timeout.count() > 0, header, "the timeout is not positive");
  std::lock_guard turn(turn_);
  Collective one{header, exchange.in, exchange.out, exchange.sizes, std::chrono::steady_clock::now(), {}};
  one.deadline = one.begun + timeout;
  const bool rounds = how.wire_dtype == DType::bfloat16 && header.kind == CollectiveKind::all_reduce &&
                      header.dtype == DType::float32;
  if (rounds) one.wire_dtype = DType::bfloat16;
  check_alive(one);
  one.header.number = calls_++;
  if (header.kind == CollectiveKind::all_gather && one.sizes.empty()) {
    std::fill(equal_sizes_.begin(), equal_sizes_.end(), header.count / size());
    one.sizes = equal_sizes_;
  }
  if (size() == 1) {
    if (header.kind == CollectiveKind::all_gather && header.count > 0)
      std::memmove(one.out, one.in, static_cast<size_t>(header.count));
    return;
  }
  try {
    rounds && !rounds_by_itself() ? run_rounded(one) : run(one);
  } catch (const std::exception& error) {
    die({Failure::Kind::communication, -1, error.what()});  // where fail() has not said it
    throw;
  }
}

// Sums of bfloat16 are made in float32 and rounded once by every kind.
void Communicator::run_rounded(const Collective& call) {
  const int64_t count = call.header.count;
  rounded_.resize(static_cast<size_t>(count));
  cast_values(call.out, DType::float32, rounded_.data(), DType::bfloat16, count);
  Collective rounded = call;
  rounded.header.dtype = DType::bfloat16;
  rounded.in = rounded.out = reinterpret_cast<std::byte*>(rounded_.data());
  run(rounded);
  cast_values(rounded_.data(), DType::bfloat16, call.out, DType::float32, count);
}

std::string Communicator::place(const Collective& call) const {
  return detail::call_text(call.header) + ": rank " + std::to_string(rank()) + " of " +
         std::to_string(size()) + " on " + detail::host_name() + " ('" + options_.name + "', generation " +
         std::to_string(generation()) + "): ";
}

void Communicator::throw_failure(Failure::Kind kind, const std::string& text) {
  switch (kind) {
    case Failure::Kind::timeout:
      throw TimeoutError(text);
    case Failure::Kind::peer_lost:
      throw PeerLostError(text);
    default:
      throw CommunicationError(text);
  }
}

void Communicator::check_alive(const Collective& call) const {
  if (made_in_ != forks())
    throw StateError(place(call) + "the communicator was made before fork(), and is the parent's");
  if (!failed()) return;
  std::lock_guard lock(mutex_);
  throw_failure(failure_.kind, place(call) + "this communicator is dead: " + failure_.text);
}

void Communicator::fail(const Collective& call, Failure failure) {
  if (failed()) check_alive(call);  // abort() was first
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - call.begun;
  failure.text = place(call) + failure.text + " (after " + detail::fixed_text(waited.count(), 3) + " s)";
  die(failure);
  throw_failure(failure.kind, failure.text);
}

void Communicator::die(Failure failure) noexcept {
  {
    if (!mutex_.lock_unless_lost()) return;
    std::lock_guard lock(mutex_, std::adopt_lock);
    if (failed()) return;
    failure_ = failure;
    failed_.store(true, std::memory_order_release);
  }
  interrupt(failure);
}

void Communicator::give_up(Communicator& part, const Failure& failure) noexcept {
  Failure same;
  same.kind = failure.kind;
  try {
    same.text = failure.text;
  } catch (const std::bad_alloc&) {
  }
  part.die(std::move(same));
}

void Communicator::abort(std::string reason) noexcept {
  Failure failure;
  try {
    failure.text = "rank " + std::to_string(rank()) + " aborted: " + reason;
  } catch (const std::bad_alloc&) {
  }
  die(std::move(failure));
}

void Communicator::end(std::string reason, std::optional<int> lost) noexcept {
  Failure failure;
  failure.text = std::move(reason);
  failure.kind = lost ? Failure::Kind::peer_lost : Failure::Kind::communication;
  if (lost && *lost < size()) failure.peer = std::max(*lost, -1);
  die(std::move(failure));
}

std::string Communicator::failure() const {
  std::lock_guard lock(mutex_);
  return failure_.text;
}

std::optional<int> Communicator::lost_rank() const {
  std::lock_guard lock(mutex_);
  if (failure_.peer < 0) return std::nullopt;
  return failure_.peer;
}

std::string Communicator::describe() const {
  const std::chrono::duration<double> timeout = options_.timeout;
  return kind() + " '" + options_.name + "', rank " + std::to_string(rank()) + " of " +
         std::to_string(size()) + " on " + detail::host_name() + ", generation " +
         std::to_string(generation()) + ", timeout " + detail::number_text(timeout.count()) + " s" +
         (failed() ? ", dead: " + failure() : "");
}

}  // namespace nyala
