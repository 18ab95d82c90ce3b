// What a GPU would catch is caught here. Work waits in a queue that one thread per device empties, sometimes
// after a random delay, so that a missing wait shows as a wrong number. Memory is mapped PROT_NONE and opened
// by mprotect only while an item that names it runs, so that the host faults where it reads the device's
// bytes. Kernels are the reference loops.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/op.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/counters.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/host_memory.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/backend/runtime/staging_ring.h>
#include <nyala/backend/runtime/thread_team.h>

namespace nyala {

using namespace nyala::detail;

namespace {

size_t page_rounded(size_t bytes) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

/// Every mapped block of ghost memory, so that a work item can open the blocks it touches. Several streams
/// may read one block at a time: the last one closes it.
class Blocks {
 public:
  void add(void* data, size_t bytes) {
    std::lock_guard lock(mutex_);
    blocks_[static_cast<char*>(data)] = {bytes};
  }
  void remove(void* data) {
    std::lock_guard lock(mutex_);
    blocks_.erase(static_cast<char*>(data));
  }
  void open(const void* address) {
    std::lock_guard lock(mutex_);
    auto& [data, block] = holding(address);
    if (block.opened++ == 0) mprotect(data, block.bytes, PROT_READ | PROT_WRITE);
  }
  void close(const void* address) {
    std::lock_guard lock(mutex_);
    auto& [data, block] = holding(address);
    if (--block.opened == 0) mprotect(data, block.bytes, PROT_NONE);
  }

 private:
  struct Block {
    size_t bytes = 0;
    int opened = 0;
  };

  std::pair<char* const, Block>& holding(const void* address) {
    auto block = blocks_.upper_bound(static_cast<char*>(const_cast<void*>(address)));
    check_internal(block != blocks_.begin(), "an address that is no ghost memory");
    return *--block;
  }

  std::mutex mutex_;
  std::map<char*, Block> blocks_;
};

Blocks& blocks() {
  static Blocks* const all = new Blocks;
  return *all;
}

class GhostMemory final : public MemorySource {
 public:
  void* allocate(size_t bytes) override {
    void* data = mmap(nullptr, page_rounded(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return nullptr;
    blocks().add(data, page_rounded(bytes));
    return data;
  }
  void release(void* data, size_t bytes) noexcept override {
    blocks().remove(data);
    munmap(data, page_rounded(bytes));
  }
};

/// Opens blocks for as long as it lives. Only the threads of ghost streams open blocks.
class Opened {
 public:
  explicit Opened(std::vector<const void*> addresses) : addresses_(std::move(addresses)) {
    for (const void* address : addresses_) blocks().open(address);
  }
  ~Opened() {
    for (const void* address : addresses_) blocks().close(address);
  }

 private:
  std::vector<const void*> addresses_;
};

class GhostEvent final : public Event {
 public:
  explicit GhostEvent(std::shared_future<void> done) : done_(std::move(done)) {}
  void synchronize() override {
    count_host_wait();
    done_.wait();
  }
  bool is_reached() const override {
    return done_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  const std::shared_future<void>& done() const { return done_; }

 private:
  std::shared_future<void> done_;
};

class GhostStream final : public Stream {
 public:
  explicit GhostStream(Device device)
      : device_(device), delays_(mix_key(0, "ghost")), thread_(start_thread([this] { work(); })) {}
  ~GhostStream() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  Device device() const override { return device_; }

  void launch(const KernelCall& call) override {
    // The queue owns copies: the caller's tensors, pointers and descriptor are gone when the kernel runs.
    struct Queued {
      const OpDef* op;
      const Kernel* kernel;
      std::array<std::byte, Descriptor::kMaxBytes> descriptor;
      std::vector<Tensor> inputs, outputs;
      Tensor workspace;
    };
    auto queued = std::make_shared<Queued>();
    queued->op = call.op;
    queued->kernel = call.kernel;
    std::memcpy(queued->descriptor.data(), call.descriptor_data, Descriptor::kMaxBytes);
    for (const Tensor* input : call.inputs) queued->inputs.push_back(*input);
    queued->outputs.assign(call.outputs.begin(), call.outputs.end());
    queued->workspace = call.workspace;
    enqueue([this, queued] {
      std::vector<const void*> touched;
      std::vector<const Tensor*> inputs;
      for (const Tensor& input : queued->inputs) {
        inputs.push_back(&input);
        touched.push_back(input.storage()->data());
      }
      for (const Tensor& output : queued->outputs) touched.push_back(output.storage()->data());
      if (queued->workspace.defined()) touched.push_back(queued->workspace.storage()->data());
      Opened open(std::move(touched));
      queued->kernel->run({queued->op, queued->kernel, queued->descriptor.data(), inputs, queued->outputs,
                           queued->workspace, this});
    });
  }

  void copy_from_host(void* destination, const void* source, size_t bytes) override {
    if (bytes <= StagingRing::kBlockBytes)
      return staging_.pass(source, bytes, *this,
                           [&](const void* staged) { copy_staged(destination, staged, bytes); });
    auto staged = std::make_shared<std::vector<char>>(static_cast<const char*>(source),
                                                      static_cast<const char*>(source) + bytes);
    enqueue([=] {
      Opened open({destination});
      std::memcpy(destination, staged->data(), bytes);
    });
  }

  void copy_to_host(void* destination, const void* source, size_t bytes) override {
    enqueue([=] {
      Opened open({source});
      std::memcpy(destination, source, bytes);
    });
    synchronize();
  }

  void copy(void* destination, const void* source, size_t bytes) override {
    enqueue([=] {
      Opened open({destination, source});
      std::memmove(destination, source, bytes);
    });
  }

  void copy_from_peer(void* destination, const void* source, size_t bytes, Stream& owner) override {
    wait(*owner.record());
    copy(destination, source, bytes);
    owner.wait(*record());
  }

  void fill_zero(void* destination, size_t bytes) override {
    enqueue([=] {
      Opened open({destination});
      std::memset(destination, 0, bytes);
    });
  }

  std::unique_ptr<Event> record() override {
    auto done = std::make_shared<std::promise<void>>();
    auto event = std::make_unique<GhostEvent>(done->get_future().share());
    enqueue([done] { done->set_value(); });
    return event;
  }

  void wait(Event& event) override {
    if (const auto* of_ghost = dynamic_cast<GhostEvent*>(&event))
      enqueue([done = of_ghost->done()] { done.wait(); });
    else
      event.synchronize();
  }

  void synchronize() override {
    count_host_wait();
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return queue_.empty() && !busy_; });
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void copy_staged(void* destination, const void* staged, size_t bytes) {
    enqueue([=] {
      Opened open({destination});
      std::memcpy(destination, staged, bytes);
    });
  }

  void enqueue(std::function<void()> item) {
    {
      std::lock_guard lock(mutex_);
      queue_.push_back(std::move(item));
    }
    wake_.notify_one();
  }

  void work() {
    thread_context().compute_threads = 1;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      std::function<void()> item = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
      lock.unlock();
      run(item);
      item = nullptr;  // tensors of the item are released off the lock
      lock.lock();
      busy_ = false;
      if (queue_.empty()) idle_.notify_all();
    }
  }

  void run(const std::function<void()>& item) {
    if (delays_.below(16) == 0) std::this_thread::sleep_for(std::chrono::microseconds(delays_.below(200)));
    try {
      item();
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  Device device_;
  DrawStream delays_;
  HostMemory host_;
  StagingRing staging_{host_};
  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::deque<std::function<void()>> queue_;
  std::exception_ptr error_;
  bool busy_ = false, stopping_ = false;
  std::thread thread_;
};

std::atomic<bool> ghosts_exist{false};

class GhostProvider final : public DeviceProvider {
 public:
  int count() const override { return ghosts_exist ? 4 : 0; }
  std::unique_ptr<MemorySource> make_memory(int) override { return std::make_unique<GhostMemory>(); }
  std::unique_ptr<Stream> make_stream(int index) override {
    return std::make_unique<GhostStream>(Device(DeviceKind::ghost, index));
  }
};

}  // namespace

std::unique_ptr<DeviceProvider> make_ghost_provider() { return std::make_unique<GhostProvider>(); }

void enable_ghost_device() { ghosts_exist = true; }

}  // namespace nyala
