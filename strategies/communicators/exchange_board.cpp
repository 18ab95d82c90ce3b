#include <nyala/strategies/communicators/exchange_board.h>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

namespace nyala::detail {

static_assert(std::atomic<uint32_t>::is_always_lock_free &&
              sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

namespace {

constexpr size_t kBoardLine = 64;

size_t whole_lines(size_t bytes) { return (bytes + kBoardLine - 1) / kBoardLine * kBoardLine; }

/// Not the private kinds: the words may lie at different addresses in several processes.
void futex(std::atomic<uint32_t>& word, int what, uint32_t value, const timespec* time) noexcept {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), what, value, time, nullptr, 0);
}

}  // namespace

void ProgressWord::post(uint32_t now) noexcept {
  value.store(now, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) != 0) wake_all();
}

void ProgressWord::wake_all() noexcept { futex(value, FUTEX_WAKE, INT_MAX, nullptr); }

void ProgressWord::sleep_below(uint32_t target, int64_t nanoseconds) noexcept {
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  const uint32_t seen = value.load(std::memory_order_seq_cst);
  if (static_cast<int32_t>(seen - target) < 0) {
    const timespec time{static_cast<time_t>(nanoseconds / 1'000'000'000),
                        static_cast<long>(nanoseconds % 1'000'000'000)};
    futex(value, FUTEX_WAIT, seen, &time);
  }
  sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

size_t ExchangeBoard::bytes_for(int size, size_t slot_bytes) {
  const auto ranks = static_cast<size_t>(size);
  return whole_lines(sizeof(BoardHeader)) + ranks * whole_lines(sizeof(RankLine)) +
         2 * ranks * (slot_bytes + whole_lines(slot_bytes / ranks));
}

size_t ExchangeBoard::slot_bytes_for(int size, size_t about) {
  const size_t unit = kBoardLine * static_cast<size_t>(size);
  return std::max<size_t>(about / unit, 64) * unit;
}

RankLine& ExchangeBoard::line(int rank) const {
  return *reinterpret_cast<RankLine*>(memory_ + whole_lines(sizeof(BoardHeader)) +
                                      static_cast<size_t>(rank) * whole_lines(sizeof(RankLine)));
}

std::byte* ExchangeBoard::slot(int rank, uint32_t block) const {
  std::byte* const slots = reinterpret_cast<std::byte*>(&line(size_));
  return slots + (static_cast<size_t>(rank) * 2 + block % 2) * (slot_bytes_ + part_bytes());
}

std::byte* ExchangeBoard::result(int rank, uint32_t block) const { return slot(rank, block) + slot_bytes_; }

void ExchangeBoard::wake_everybody() const noexcept {
  for (int rank = 0; rank < size_; ++rank) {
    line(rank).written.wake_all();
    line(rank).read.wake_all();
  }
}

}  // namespace nyala::detail
