// Who may write where: a rank writes block b into its slot when all have read block b - 2, which lay there.
// It writes its result of block b when all have written block b, since they had copied out that of b - 2 by
// then. Ranks are therefore never more than two blocks apart, and two slots and two call headers are enough.
#include <nyala/strategies/communicators/board_communicator.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include <nyala/backend/runtime/busy_cores.h>
#include <nyala/backend/runtime/cpu_hints.h>
#include <nyala/strategies/communicators/combine.h>

namespace nyala::detail {

namespace {

using Clock = std::chrono::steady_clock;

/// As long as a wake-up takes: who waits longer sleeps.
constexpr int kBoardSpins = 1000;
/// After that long a sleeper looks whether the others live.
constexpr int64_t kLookAfter = 50'000'000;

std::string peer_name(int peer, const RankLine& line) {
  const int process = line.process.load();
  return "rank " + std::to_string(peer) + (process > 0 ? " (process " + std::to_string(process) + ")" : "");
}

}  // namespace

BoardCommunicator::BoardCommunicator(CommunicatorOptions options, std::shared_ptr<BoardMemory> memory,
                                     size_t slot_bytes)
    : Communicator(std::move(options)),
      memory_(std::move(memory)),
      board_(memory_->data(), size(), slot_bytes),
      cores_for_all_(size() <= static_cast<int>(std::thread::hardware_concurrency())),
      sources_(static_cast<size_t>(size())) {}

BoardCommunicator::~BoardCommunicator() {
  if (process_forks_ != forks()) return;
  mine().left.store(1, std::memory_order_seq_cst);
  mine().written.wake_all();
  mine().read.wake_all();
}

void BoardCommunicator::run(const Collective& call) {
  check_unbroken(call);  // a call that the others gave up is not done by who comes late, though all is there
  mine().headers[call.header.number % 2] = call.header;
  switch (call.header.kind) {
    case CollectiveKind::all_reduce:
      if (call.header.count * static_cast<int64_t>(size_of(call.header.dtype)) <= kSmall)
        return reduce_small(call);
      return reduce_parts(call, true);
    case CollectiveKind::reduce_scatter:
      return reduce_parts(call, false);
    case CollectiveKind::all_gather:
      return gather(call);
    case CollectiveKind::broadcast:
      return broadcast_block_by_block(call);
    case CollectiveKind::barrier:
      return stream(
          call, 1, [](int64_t, std::byte*) {}, [&](int64_t, uint32_t block) { mine().read.post(block + 1); });
  }
}

/// Blocks of one call: copy_in(k, slot) fills this rank's slot with block k of the call, one ahead of
/// take(k, block), which reads those of the others and posts that.
template <class CopyIn, class Take>
void BoardCommunicator::stream(const Collective& call, int64_t blocks, CopyIn&& copy_in, Take&& take) {
  const uint32_t first = blocks_;
  const auto put = [&](int64_t k) {
    const uint32_t block = first + static_cast<uint32_t>(k);
    wait_for_all(call, &RankLine::read, block - 1);
    copy_in(k, board_.slot(rank(), block));
    mine().written.post(block + 1);
  };
  put(0);
  for (int64_t k = 0; k < blocks; ++k) {
    if (k + 1 < blocks) put(k + 1);
    const uint32_t block = first + static_cast<uint32_t>(k);
    wait_for_all(call, &RankLine::written, block + 1);
    if (k == 0) check_headers(call);
    take(k, block);
  }
  blocks_ += static_cast<uint32_t>(blocks);
}

void BoardCommunicator::reduce_small(const Collective& call) {
  const CallHeader& header = call.header;
  const size_t bytes = static_cast<size_t>(header.count) * size_of(header.dtype);
  stream(
      call, 1,
      [&](int64_t, std::byte* slot) {
        if (bytes > 0) std::memcpy(slot, call.in, bytes);
      },
      [&](int64_t, uint32_t block) {
        for (int r = 0; r < size(); ++r) sources_[static_cast<size_t>(r)] = board_.slot(r, block);
        combine(header.dtype, header.op, sources_, call.out, header.count);
        mine().read.post(block + 1);
      });
}

void BoardCommunicator::reduce_parts(const Collective& call, bool spread) {
  const CallHeader& header = call.header;
  const size_t element = size_of(header.dtype), part_bytes = board_.part_bytes();
  const auto at_once = static_cast<int64_t>(part_bytes / element);
  const auto piece = [&](int r, int64_t k) {
    const ElementRange part = part_of(header.count, r, size());
    const int64_t begin = std::min(part.count, k * at_once);
    return ElementRange{part.first + begin, std::min(at_once, part.count - begin)};
  };
  const auto place = [&](const ElementRange& range) {
    return call.out + static_cast<size_t>(range.first) * element;
  };
  const auto copy = [&](std::byte* to, const std::byte* from, int64_t count) {
    if (count > 0) std::memcpy(to, from, static_cast<size_t>(count) * element);
  };
  const int64_t longest = part_of(header.count, 0, size()).count;
  stream(
      call, std::max<int64_t>(1, (longest + at_once - 1) / at_once),
      [&](int64_t k, std::byte* slot) {
        for (int r = 0; r < size(); ++r)
          if (r != rank())
            copy(slot + static_cast<size_t>(r) * part_bytes, place(piece(r, k)), piece(r, k).count);
      },
      [&](int64_t k, uint32_t block) {
        const ElementRange own = piece(rank(), k);
        for (int r = 0; r < size(); ++r)
          sources_[static_cast<size_t>(r)] =
              r == rank() ? place(own) : board_.slot(r, block) + static_cast<size_t>(rank()) * part_bytes;
        std::byte* const result = board_.result(rank(), block);
        combine(header.dtype, header.op, sources_, result, own.count);
        mine().read.post(block + 1);
        copy(place(own), result, own.count);
        if (!spread) return;
        for (int r = 0; r < size(); ++r) {
          if (r == rank()) continue;
          wait_for(call, r, &RankLine::read, block + 1);
          copy(place(piece(r, k)), board_.result(r, block), piece(r, k).count);
        }
      });
}

void BoardCommunicator::gather(const Collective& call) {
  const auto slot_bytes = static_cast<int64_t>(board_.slot_bytes());
  const auto size_at = [&](int r) { return call.sizes[static_cast<size_t>(r)]; };
  const auto bytes_of = [&](int r, int64_t k) {
    return static_cast<size_t>(std::clamp<int64_t>(size_at(r) - k * slot_bytes, 0, slot_bytes));
  };
  const int64_t longest = *std::max_element(call.sizes.begin(), call.sizes.end());
  stream(
      call, std::max<int64_t>(1, (longest + slot_bytes - 1) / slot_bytes),
      [&](int64_t k, std::byte* slot) {
        if (bytes_of(rank(), k) > 0) std::memcpy(slot, call.in + k * slot_bytes, bytes_of(rank(), k));
      },
      [&](int64_t k, uint32_t block) {
        int64_t begin = 0;
        for (int r = 0; r < size(); begin += size_at(r++)) {
          const size_t bytes = bytes_of(r, k);
          if (bytes == 0) continue;
          std::byte* const to = call.out + begin + k * slot_bytes;
          if (r == rank())
            std::memmove(to, call.in + k * slot_bytes, bytes);
          else
            std::memcpy(to, board_.slot(r, block), bytes);
        }
        mine().read.post(block + 1);
      });
}

void BoardCommunicator::broadcast_block_by_block(const Collective& call) {
  const auto slot_bytes = static_cast<int64_t>(board_.slot_bytes());
  const int64_t count = call.header.count;
  const int root = call.header.root;
  const auto bytes_of = [&](int64_t k) {
    return static_cast<size_t>(std::min(slot_bytes, count - k * slot_bytes));
  };
  stream(
      call, std::max<int64_t>(1, (count + slot_bytes - 1) / slot_bytes),
      [&](int64_t k, std::byte* slot) {
        if (rank() == root && count > 0) std::memcpy(slot, call.in + k * slot_bytes, bytes_of(k));
      },
      [&](int64_t k, uint32_t block) {
        if (rank() != root && count > 0)
          std::memcpy(call.out + k * slot_bytes, board_.slot(root, block), bytes_of(k));
        mine().read.post(block + 1);
      });
}

void BoardCommunicator::check_unbroken(const Collective& call) {
  const uint32_t broken = board_.header().broken.load(std::memory_order_acquire);
  if (broken == 0) return;
  const int by = static_cast<int>((broken - 1) % static_cast<uint32_t>(size()));
  const RankLine& line = board_.line(by);
  const size_t length = ::strnlen(line.failure_text, sizeof line.failure_text);
  const auto kind = static_cast<Failure::Kind>(std::min<uint8_t>(line.failure_kind, 2));
  const int lost = line.failure_peer >= 0 && line.failure_peer < size() ? line.failure_peer : -1;
  fail(call, {kind, lost, "told by " + peer_name(by, line) + ": " + std::string(line.failure_text, length)});
}

/// Throws where nobody will come any more. Who has come, and has gone since, is looked for once more after it
/// was seen to be gone.
template <class HasCome>
void BoardCommunicator::check_whole(const Collective& call, int peer, HasCome&& has_come) {
  check_unbroken(call);
  const RankLine& awaited = board_.line(peer);
  const int lost = memory_->lost_rank();
  const bool left = awaited.left.load(std::memory_order_acquire) != 0;
  if (has_come()) return;
  if (lost >= 0)
    fail(call, {Failure::Kind::peer_lost, lost, peer_name(lost, board_.line(lost)) + " has ended"});
  if (left)
    fail(call, {Failure::Kind::peer_lost, peer, peer_name(peer, awaited) + " has closed this communicator"});
  if (Clock::now() >= call.deadline)
    fail(call, {Failure::Kind::timeout, peer, peer_name(peer, awaited) + " did not come in time"});
}

void BoardCommunicator::wait_for_all(const Collective& call, ProgressWord RankLine::*word, uint32_t target) {
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank()) wait_for(call, peer, word, target);
}

void BoardCommunicator::wait_for(const Collective& call, int peer, ProgressWord RankLine::*word,
                                 uint32_t target) {
  ProgressWord& progress = board_.line(peer).*word;
  if (progress.reached(target)) return;
  if (cores_for_all_ && !idle_threads_block()) {
    for (int i = 0; i < kBoardSpins; ++i) {
      spin_pause();
      if (progress.reached(target)) return;
    }
  }
  while (!progress.reached(target)) {
    check_whole(call, peer, [&] { return progress.reached(target); });
    if (progress.reached(target)) return;  // before it broke
    const auto left =
        std::chrono::duration_cast<std::chrono::nanoseconds>(call.deadline - Clock::now()).count();
    progress.sleep_below(target, std::clamp<int64_t>(left, 1, kLookAfter));
  }
}

void BoardCommunicator::check_headers(const Collective& call) {
  for (int peer = 0; peer < size(); ++peer) {
    const RankLine& line = board_.line(peer);
    const CallHeader theirs = line.headers[call.header.number % 2];
    if (same_call(theirs, call.header)) continue;
    const std::string number =
        theirs.number == call.header.number ? "" : " as its call " + std::to_string(theirs.number);
    fail(call, {Failure::Kind::communication, -1,
                peer_name(peer, line) + " came to " + call_text(theirs) + number + " instead, as call " +
                    std::to_string(call.header.number) + kSameCalls});
  }
}

void BoardCommunicator::interrupt(const Failure& failure) noexcept {
  if (process_forks_ != forks()) return;
  RankLine& line = mine();
  line.failure_kind = static_cast<uint8_t>(failure.kind);
  line.failure_peer = failure.peer;
  const size_t length = std::min(failure.text.size(), sizeof line.failure_text - 1);
  std::memcpy(line.failure_text, failure.text.data(), length);
  line.failure_text[length] = '\0';
  uint32_t whole = 0;
  board_.header().broken.compare_exchange_strong(whole, static_cast<uint32_t>(rank()) + 1);
  board_.wake_everybody();
}

}  // namespace nyala::detail
