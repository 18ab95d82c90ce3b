#include <nyala/strategies/communicators/local_communicators.h>

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include <nyala/strategies/communicators/board_communicator.h>

namespace nyala {

namespace {

constexpr size_t kLocalSlot = 256 * 1024;

class LocalMemory final : public detail::BoardMemory {
 public:
  explicit LocalMemory(size_t bytes)
      : data_(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64))) {
    if (data_ == nullptr) throw std::bad_alloc();
    std::memset(data_, 0, bytes);
  }
  ~LocalMemory() override { std::free(data_); }
  std::string kind() const override { return "threads of one process"; }
  std::byte* data() override { return data_; }

 private:
  std::byte* data_;
};

}  // namespace

std::vector<std::shared_ptr<Communicator>> local_communicators(const CommunicatorOptions& options) {
  using detail::ExchangeBoard;
  detail::check_communicator_options(options);
  std::vector<std::shared_ptr<Communicator>> all;
  const size_t slot = ExchangeBoard::slot_bytes_for(options.size, kLocalSlot);
  const auto memory = std::make_shared<LocalMemory>(ExchangeBoard::bytes_for(options.size, slot));
  const ExchangeBoard board(memory->data(), options.size, slot);
  for (int rank = 0; rank < options.size; ++rank) {
    CommunicatorOptions own = options;
    own.rank = rank;
    board.line(rank).process = ::getpid();
    all.push_back(std::make_shared<detail::BoardCommunicator>(own, memory, slot));
  }
  return all;
}

}  // namespace nyala
