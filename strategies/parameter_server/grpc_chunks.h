#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include <nyala/strategies/parameter_server/parameter_bytes.h>

namespace nyala::detail {

/// gRPC calls the reactions to a call's reads one after another, on threads of its own, those to its writes
/// too. That each sees what the one before it wrote is said here once more, where the thread sanitizer, which
/// does not look into gRPC, can see it.
class ReactionOrder {
 public:
  void begin() const noexcept { ends_.load(std::memory_order_acquire); }
  /// Before the operation is started whose reaction comes next.
  void end() noexcept { ends_.fetch_add(1, std::memory_order_release); }

 private:
  std::atomic<unsigned> ends_{0};
};

/// Memory for chunks on their way out. gRPC says when it needs a chunk no more, which may be long after its
/// call has ended; the memory is then used again, so that it stays in the caches and costs no page faults.
class ChunkPool : public std::enable_shared_from_this<ChunkPool> {
 public:
  ChunkPool();
  /// A message: `head` as it is, and behind it a chunk of `bytes` bytes that `fill` writes.
  grpc::ByteBuffer message(const std::string& head, size_t bytes,
                           const std::function<void(std::span<std::byte>)>& fill);

 private:
  struct Chunk;
  static void give_back(void* chunk);

  std::mutex mutex_;
  std::vector<std::unique_ptr<std::byte[]>> free_;
};

/// The bytes of a message, and where they lie.
class ReadMessage {
 public:
  /// Throws CommunicationError where it has none.
  explicit ReadMessage(const grpc::ByteBuffer& buffer);
  ByteReader& bytes() { return bytes_; }

 private:
  static SentBytes pieces(const grpc::ByteBuffer& buffer, std::vector<grpc::Slice>& slices);

  std::vector<grpc::Slice> slices_;
  ByteReader bytes_;
};

}  // namespace nyala::detail
