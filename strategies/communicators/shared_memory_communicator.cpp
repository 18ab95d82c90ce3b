#include <nyala/strategies/communicators/shared_memory_communicator.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <thread>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/system_random.h>
#include <nyala/strategies/communicators/board_communicator.h>
#include <nyala/strategies/communicators/process_watch.h>
#include <nyala/strategies/communicators/shared_segment.h>

namespace nyala {

using detail::BoardHeader;
using detail::ExchangeBoard;
using detail::SharedSegment;

namespace {

using Clock = std::chrono::steady_clock;

/// Two slots of all ranks lie in the second cache.
constexpr size_t kSharedSlot = 512 * 1024;

constexpr const char* kGivenUp = "the group was given up while it formed";

class SharedBoardMemory final : public detail::BoardMemory {
 public:
  SharedBoardMemory(std::unique_ptr<SharedSegment> segment, ExchangeBoard board, int rank)
      : segment_(std::move(segment)), board_(board), rank_(rank), peers_(static_cast<size_t>(board.size())) {}

  std::string kind() const override { return "shared memory"; }
  std::byte* data() override { return segment_->data(); }
  int lost_rank() override {
    for (int rank = 0; rank < board_.size(); ++rank) {
      detail::ProcessWatch& peer = peers_[static_cast<size_t>(rank)];
      if (rank == rank_) continue;
      if (!peer.watches()) peer.watch(board_.line(rank).process.load());
      if (peer.ended()) return rank;
    }
    return -1;
  }
  SharedSegment& segment() { return *segment_; }

 private:
  std::unique_ptr<SharedSegment> segment_;
  ExchangeBoard board_;
  int rank_;
  std::deque<detail::ProcessWatch> peers_;
};

class Forming {
 public:
  Forming(const CommunicatorOptions& options, Rendezvous& rendezvous, std::stop_token stop,
          Clock::time_point deadline)
      : options_(options),
        rendezvous_(rendezvous),
        stop_(std::move(stop)),
        key_(detail::group_prefix(options) + "shared-memory"),
        slot_bytes_(ExchangeBoard::slot_bytes_for(options.size, kSharedSlot)),
        bytes_(ExchangeBoard::bytes_for(options.size, slot_bytes_)),
        deadline_(deadline) {}

  std::shared_ptr<Communicator> form() {
    std::unique_ptr<SharedSegment> segment = options_.rank == 0 ? publish() : join();
    const ExchangeBoard board(segment->data(), options_.size, slot_bytes_);
    const auto memory = std::make_shared<SharedBoardMemory>(std::move(segment), board, options_.rank);
    auto made = std::make_shared<detail::BoardCommunicator>(options_, memory, slot_bytes_);
    const std::stop_callback end_when_told(stop_, [&] { made->end(kGivenUp); });
    made->barrier({.what = "forming the group", .timeout = left()});
    memory->lost_rank();  // their numbers are theirs now: all wait here or have gone on
    memory->segment().forget_name();
    return made;
  }

 private:
  std::chrono::milliseconds left() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now());
    return std::max(left, std::chrono::milliseconds(1));
  }

  std::unique_ptr<SharedSegment> publish() {
    auto segment = std::make_unique<SharedSegment>(bytes_);
    const ExchangeBoard board(segment->data(), options_.size, slot_bytes_);
    BoardHeader& header = board.header();
    header.nonce = detail::system_random();
    header.generation = options_.generation;
    header.slot_bytes = slot_bytes_;
    header.size = static_cast<uint32_t>(options_.size);
    header.magic = BoardHeader::kMagic;
    board.line(0).process = ::getpid();
    rendezvous_.set(key_, segment->name() + "/" + std::to_string(header.nonce));
    return segment;
  }

  /// What is there may be left from a former run: rank 0 of this one may not have come yet.
  std::unique_ptr<SharedSegment> join() {
    for (std::string refused;;) {
      const std::string value = rendezvous_.wait(key_, left());
      try {
        return join_named(value);
      } catch (const CommunicationError& error) {
        refused = error.what();
      }
      if (stop_.stop_requested()) throw CommunicationError(std::string(kGivenUp) + ": " + refused);
      if (Clock::now() + std::chrono::milliseconds(10) >= deadline_)
        throw CommunicationError("rank " + std::to_string(options_.rank) + " finds no rank 0 by '" + key_ +
                                 "' of " + rendezvous_.describe() + ": " + refused);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  std::unique_ptr<SharedSegment> join_named(const std::string& value) {
    const size_t slash = value.find('/');
    if (slash == std::string::npos) throw CommunicationError("it is no name of shared memory");
    auto segment = std::make_unique<SharedSegment>(std::string_view(value).substr(0, slash), bytes_);
    const ExchangeBoard board(segment->data(), options_.size, slot_bytes_);
    const BoardHeader& header = board.header();
    const bool same = header.magic == BoardHeader::kMagic && header.slot_bytes == slot_bytes_ &&
                      header.size == static_cast<uint32_t>(options_.size) &&
                      header.generation == options_.generation &&
                      std::to_string(header.nonce) == value.substr(slash + 1);
    if (!same) throw CommunicationError("the memory is of another version, generation or number of ranks");
    int32_t nobody = 0;
    if (!board.line(options_.rank).process.compare_exchange_strong(nobody, ::getpid()))
      throw CommunicationError("process " + std::to_string(nobody) + " is rank " +
                               std::to_string(options_.rank) + " there already");
    return segment;
  }

  const CommunicatorOptions& options_;
  Rendezvous& rendezvous_;
  std::stop_token stop_;
  std::string key_;
  size_t slot_bytes_, bytes_;
  Clock::time_point deadline_;
};

}  // namespace

std::shared_ptr<Communicator> shared_memory_communicator(
    const CommunicatorOptions& options, Rendezvous& rendezvous, std::stop_token stop,
    std::optional<std::chrono::steady_clock::time_point> formed_by) {
  detail::check_communicator_options(options);
  const Clock::time_point deadline = formed_by.value_or(Clock::now() + options.timeout);
  return Forming(options, rendezvous, std::move(stop), deadline).form();
}

}  // namespace nyala
