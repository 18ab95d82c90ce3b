#include <nyala/strategies/parameter_server/grpc_chunks.h>

#include <array>
#include <utility>

#include <nyala/backend/core/error.h>

namespace nyala::detail {

namespace {

constexpr size_t kKeptChunks = 8, kSmallChunk = 16384;

}  // namespace

struct ChunkPool::Chunk {
  explicit Chunk(std::shared_ptr<ChunkPool> of) : pool(std::move(of)) {}

  std::shared_ptr<ChunkPool> pool;
  std::unique_ptr<std::byte[]> bytes;
  ReactionOrder order;  // filled, then given back
};

ChunkPool::ChunkPool() { free_.reserve(kKeptChunks); }

grpc::ByteBuffer ChunkPool::message(const std::string& head, size_t bytes,
                                    const std::function<void(std::span<std::byte>)>& fill) {
  std::array<grpc::Slice, 2> slices{grpc::Slice(head)};
  if (bytes == 0) return grpc::ByteBuffer(slices.data(), 1);
  if (bytes <= kSmallChunk) {
    grpc::Slice slice(bytes);
    fill({reinterpret_cast<std::byte*>(const_cast<uint8_t*>(slice.begin())), bytes});
    slices[1] = std::move(slice);
  } else {
    auto chunk = std::make_unique<Chunk>(shared_from_this());
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        chunk->bytes = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (!chunk->bytes) chunk->bytes = std::make_unique_for_overwrite<std::byte[]>(kParameterChunk);
    std::byte* const memory = chunk->bytes.get();
    Chunk* const owned = chunk.release();
    slices[1] = grpc::Slice(memory, bytes, give_back, owned);
    fill({memory, bytes});
    owned->order.end();
  }
  return head.empty() ? grpc::ByteBuffer(&slices[1], 1) : grpc::ByteBuffer(slices.data(), 2);
}

void ChunkPool::give_back(void* returned) {
  const std::unique_ptr<Chunk> chunk(static_cast<Chunk*>(returned));
  chunk->order.begin();
  const std::lock_guard lock(chunk->pool->mutex_);
  if (chunk->pool->free_.size() < kKeptChunks) chunk->pool->free_.push_back(std::move(chunk->bytes));
}

ReadMessage::ReadMessage(const grpc::ByteBuffer& buffer) : bytes_(pieces(buffer, slices_)) {}

SentBytes ReadMessage::pieces(const grpc::ByteBuffer& buffer, std::vector<grpc::Slice>& slices) {
  if (!buffer.Dump(&slices).ok()) throw CommunicationError("gRPC gave a message that cannot be read");
  SentBytes pieces;
  pieces.reserve(slices.size());
  for (const grpc::Slice& slice : slices)
    pieces.push_back({reinterpret_cast<const std::byte*>(slice.begin()), slice.size()});
  return pieces;
}

}  // namespace nyala::detail
