#pragma once

#include <memory>

#include <nyala/strategies/communicators/communicator.h>
#include <nyala/strategies/communicators/exchange_board.h>

namespace nyala::detail {

/// Memory that holds a board, and who else looks at it.
class BoardMemory {
 public:
  virtual ~BoardMemory() = default;
  virtual std::string kind() const = 0;
  virtual std::byte* data() = 0;
  /// A rank whose process has ended; -1 where all live, as far as this one can tell.
  virtual int lost_rank() { return -1; }
};

/// Ranks that see one board: each lays its data there, block by block, and takes what it needs of the
/// others'. Of large reductions every rank adds one part, of small ones (up to kSmall bytes) each adds all:
/// one meeting instead of two. Added in the order of ranks.
class BoardCommunicator final : public Communicator {
 public:
  static constexpr int64_t kSmall = 16384;

  BoardCommunicator(CommunicatorOptions options, std::shared_ptr<BoardMemory> memory, size_t slot_bytes);
  ~BoardCommunicator() override;

 protected:
  std::string kind() const override { return memory_->kind(); }
  void run(const Collective& call) override;
  void interrupt(const Failure& failure) noexcept override;

 private:
  template <class CopyIn, class Take>
  void stream(const Collective& call, int64_t blocks, CopyIn&& copy_in, Take&& take);
  void reduce_small(const Collective& call);
  void reduce_parts(const Collective& call, bool spread);
  void gather(const Collective& call);
  void broadcast_block_by_block(const Collective& call);

  void wait_for_all(const Collective& call, ProgressWord RankLine::*word, uint32_t target);
  void wait_for(const Collective& call, int peer, ProgressWord RankLine::*word, uint32_t target);
  void check_unbroken(const Collective& call);
  template <class HasCome>
  void check_whole(const Collective& call, int peer, HasCome&& has_come);
  void check_headers(const Collective& call);
  RankLine& mine() const { return board_.line(rank()); }

  std::shared_ptr<BoardMemory> memory_;
  ExchangeBoard board_;
  uint32_t process_forks_ = forks();
  uint32_t blocks_ = 0;  // that all calls so far went through
  bool cores_for_all_;
  std::vector<const std::byte*> sources_;
};

}  // namespace nyala::detail
