#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include <nyala/strategies/communicators/call_header.h>

namespace nyala::detail {

/// A word on which a rank tells others how far it is, and on which they sleep.
struct alignas(64) ProgressWord {
  std::atomic<uint32_t> value;
  std::atomic<uint32_t> sleepers;

  /// Whether it has come to `target`, in numbers that wrap around.
  bool reached(uint32_t target) const {
    return static_cast<int32_t>(value.load(std::memory_order_acquire) - target) >= 0;
  }
  void post(uint32_t now) noexcept;
  void wake_all() noexcept;
  /// Until post() or wake_all(), at most that long; returns early at will.
  void sleep_below(uint32_t target, int64_t nanoseconds) noexcept;
};

/// What one rank shows the others. Every byte may have been written by a peer.
struct RankLine {
  ProgressWord written;   // blocks that its slots have held
  ProgressWord read;      // blocks that it has taken from the others' slots
  CallHeader headers[2];  // of its calls, in turn
  std::atomic<uint32_t> left;
  std::atomic<int32_t> process;
  uint8_t failure_kind;
  int32_t failure_peer;
  char failure_text[2048];
};

struct BoardHeader {
  static constexpr uint64_t kMagic = 0x31304d4d4f43594eu;  // "NYCOMM01"
  uint64_t magic;
  uint64_t nonce;
  uint64_t generation;
  uint64_t slot_bytes;
  uint32_t size;
  std::atomic<uint32_t> broken;  // 1 + the rank that broke it first
};

/// Memory that all ranks of a host see: one line per rank, then per rank two slots for what it brings and two
/// for results. Blocks of data take turns in the slots, block b in slot b % 2.
class ExchangeBoard {
 public:
  ExchangeBoard() = default;
  /// Over bytes_for() bytes at `memory`, aligned to 64 bytes.
  ExchangeBoard(std::byte* memory, int size, size_t slot_bytes)
      : memory_(memory), size_(size), slot_bytes_(slot_bytes) {}

  static size_t bytes_for(int size, size_t slot_bytes);
  /// A multiple of 64 bytes per rank.
  static size_t slot_bytes_for(int size, size_t about);

  BoardHeader& header() const { return *reinterpret_cast<BoardHeader*>(memory_); }
  RankLine& line(int rank) const;
  int size() const { return size_; }
  size_t slot_bytes() const { return slot_bytes_; }
  /// Bytes of a result slot: one rank's part of a slot.
  size_t part_bytes() const { return slot_bytes_ / static_cast<size_t>(size_); }
  std::byte* slot(int rank, uint32_t block) const;
  std::byte* result(int rank, uint32_t block) const;

  void wake_everybody() const noexcept;

 private:
  std::byte* memory_ = nullptr;
  int size_ = 0;
  size_t slot_bytes_ = 0;
};

}  // namespace nyala::detail
