#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace nyala::detail {

/// This rank's connections with all the others, over which messages with a tag travel. Functions throw any
/// std::exception where a connection is gone; then all are of no more use.
class Links {
 public:
  /// Memory that is sent from or received into; lives shorter than its Links. Of what is sent and received at
  /// the same time no two messages have one peer and tag, and both sides name the same number of bytes.
  class Buffer {
   public:
    virtual ~Buffer() = default;
    virtual void send(int peer, uint64_t tag, size_t offset, size_t bytes) = 0;
    virtual void receive(int peer, uint64_t tag, size_t offset, size_t bytes) = 0;
    /// Waits for one more message to be away, or to have come. False where abort_waits() was first; throws
    /// where it takes longer.
    virtual bool wait_sent(std::chrono::milliseconds timeout) = 0;
    virtual bool wait_received(std::chrono::milliseconds timeout) = 0;
    /// From any thread.
    virtual void abort_waits() noexcept = 0;
  };

  virtual ~Links() = default;
  virtual std::unique_ptr<Buffer> buffer(void* data, size_t bytes) = 0;
  /// Ends all connections, so that the others notice. From any thread, also while others use them.
  virtual void close() noexcept = 0;
};

}  // namespace nyala::detail
