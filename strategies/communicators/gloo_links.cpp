// Only messages between two ranks are Gloo's, by its unbound buffers: its collectives end the process where
// ranks disagree on a size, cannot be interrupted, and add in an order that depends on the algorithm.
//
// Nor does Gloo connect: its listening sockets take whoever comes first for the other rank, and what that one
// sends, or that it has closed at once, is an exception in Gloo's own thread, which ends the process. Its
// pairs are given sockets of peer_sockets.h, and no exception leaves the function by which the thread calls
// them.
#include <nyala/strategies/communicators/gloo_links.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <utility>

#include <gloo/context.h>
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#include <gloo/transport/tcp/unbound_buffer.h>

#include <nyala/backend/core/write_signals.h>

namespace nyala::detail {

namespace {

using std::chrono::milliseconds;
namespace tcp = gloo::transport::tcp;

/// Gloo's connection with one rank.
class GuardedPair final : public tcp::Pair {
 public:
  GuardedPair(tcp::Context* context, tcp::Device* device, int rank, milliseconds timeout)
      : tcp::Pair(context, device, rank, timeout) {
    const std::lock_guard lock(m_);
    device_->unregisterDescriptor(fd_, this);  // it listens from its birth, on the loopback (make_device())
    ::close(std::exchange(fd_, -1));
  }
  /// Before the functions of this class are gone. Gloo waits for its thread where it closes the connection
  /// here, not where that thread has just done so itself and is on its way out.
  ~GuardedPair() override {
    {
      const std::lock_guard lock(m_);
      if (state_ != CLOSED) changeState(CLOSED);
    }
    while (handles_events_.load(std::memory_order_acquire)) ::sched_yield();
  }

  void adopt(Socket socket) {
    const std::lock_guard lock(m_);
    fd_ = socket.descriptor();
    try {
      handleConnected();
    } catch (const std::exception&) {
      fd_ = -1;
      throw;
    }
    (void)socket.release();
  }

  /// By Gloo's thread.
  void handleEvents(int events) override {
    handles_events_.store(true, std::memory_order_relaxed);
    try {
      if (reason_.empty()) {
        let_go_on_who_holds_it();
        tcp::Pair::handleEvents(events);
      }
    } catch (const std::exception& error) {
      reason_ = error.what();
    }
    if (!reason_.empty()) give_up();
    if (std::atomic_ref(state_).load(std::memory_order_relaxed) == CLOSED) wake_who_waits_in_vain();
    handles_events_.store(false, std::memory_order_release);
  }

 private:
  /// Gloo's thread comes back at once, again and again, as long as another one holds the lock; on a core that
  /// both share, that one, on its way out of a write that was answered at once, would wait for the end of its
  /// time slice.
  void let_go_on_who_holds_it() {
    if (const std::unique_lock lock(m_, std::try_to_lock); !lock) ::sched_yield();
  }
  /// Not where another thread holds the lock: it may wait for this one. Then the next event comes here again.
  void give_up() {
    const std::unique_lock lock(m_, std::try_to_lock);
    if (lock && state_ != CLOSED) signalException(reason_);
  }
  /// For what is half read or waits to be written: of these buffers Gloo's signalException() does not know.
  /// Who holds the lock of a closed pair waits for nobody.
  void wake_who_waits_in_vain() {
    using Held = gloo::NonOwningPtr<tcp::UnboundBuffer>;
    const std::lock_guard lock(m_);
    if (const Held begun(rx_.ubuf); begun) begun->abortWaitRecv();
    for (const tcp::Op& op : tx_)
      if (const Held unsent(op.ubuf); unsent) unsent->abortWaitSend();
  }

  std::string reason_;  // of Gloo's thread alone
  std::atomic<bool> handles_events_{false};
};

class GuardedTransport final : public tcp::Context {
 public:
  using tcp::Context::Context;
  std::unique_ptr<gloo::transport::Pair>& createPair(int peer) override {
    auto& pair = pairs_.at(static_cast<size_t>(peer));
    pair = std::make_unique<GuardedPair>(this, device_.get(), peer, getTimeout());
    return pair;
  }
  void adopt(int peer, Socket socket) {
    static_cast<GuardedPair&>(*createPair(peer)).adopt(std::move(socket));
  }
};

class GuardedContext final : public gloo::Context {
 public:
  GuardedContext(int own_rank, std::vector<Socket> sockets, std::shared_ptr<tcp::Device> device,
                 milliseconds timeout)
      : gloo::Context(own_rank, static_cast<int>(sockets.size())) {
    setTimeout(timeout);
    device_ = device;
    const auto transport = std::make_shared<GuardedTransport>(std::move(device), own_rank, size);
    transport->setTimeout(timeout);
    transportContext_ = transport;
    for (int peer = 0; peer < size; ++peer)
      if (peer != own_rank) transport->adopt(peer, std::move(sockets[static_cast<size_t>(peer)]));
  }
};

class GlooBuffer final : public Links::Buffer {
 public:
  explicit GlooBuffer(std::unique_ptr<gloo::transport::UnboundBuffer> buffer) : buffer_(std::move(buffer)) {}
  void send(int peer, uint64_t tag, size_t offset, size_t bytes) override {
    const NoWriteSignals none;  // Gloo writes without asking for none
    buffer_->send(peer, tag, offset, bytes);
  }
  void receive(int peer, uint64_t tag, size_t offset, size_t bytes) override {
    const NoWriteSignals none;
    buffer_->recv(peer, tag, offset, bytes);
  }
  bool wait_sent(milliseconds timeout) override { return buffer_->waitSend(nullptr, timeout); }
  bool wait_received(milliseconds timeout) override { return buffer_->waitRecv(nullptr, timeout); }
  void abort_waits() noexcept override {
    buffer_->abortWaitSend();
    buffer_->abortWaitRecv();
  }

 private:
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
};

class GlooLinks final : public Links {
 public:
  explicit GlooLinks(std::shared_ptr<gloo::Context> context) : context_(std::move(context)) {}
  ~GlooLinks() override { close(); }
  std::unique_ptr<Buffer> buffer(void* data, size_t bytes) override {
    return std::make_unique<GlooBuffer>(context_->createUnboundBuffer(data, bytes));
  }
  void close() noexcept override {
    const NoWriteSignals none;
    try {
      context_->closeConnections();
    } catch (const std::exception&) {  // they are closed
    }
  }

 private:
  std::shared_ptr<gloo::Context> context_;
};

/// Its address is where pairs listen while they are made, a moment each: no other host comes to it. Its
/// thread handles no signals of the program, and none ends it: all are blocked there.
std::shared_ptr<tcp::Device> make_device() {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t& before;
    ~Restore() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  } restore{before};
  return std::dynamic_pointer_cast<tcp::Device>(tcp::CreateDevice(tcp::attr("127.0.0.1")));
}

}  // namespace

std::unique_ptr<Links> gloo_links(int rank, std::vector<Socket> sockets, milliseconds timeout) {
  const NoWriteSignals none;
  return std::make_unique<GlooLinks>(
      std::make_shared<GuardedContext>(rank, std::move(sockets), make_device(), timeout));
}

}  // namespace nyala::detail
