#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <nyala/backend/core/device.h>

namespace nyala {

class StatusWords;

/// One persistent thread per replica; replica 0 is the thread that calls run(). Each has its share of the
/// cores.
class ReplicaThreads {
 public:
  /// Throws OutOfMemoryError where the system has no room for the threads.
  explicit ReplicaThreads(std::vector<Device> devices);
  ~ReplicaThreads();
  ReplicaThreads(const ReplicaThreads&) = delete;
  ReplicaThreads& operator=(const ReplicaThreads&) = delete;

  /// Calls body(replica) on every thread and returns when all are done. `body` must not throw. Kernels report
  /// to the status words of the caller. In a child of fork() the threads are made anew; where `body` forks
  /// itself, StateError is thrown in the child.
  void run(const std::function<void(int)>& body);

 private:
  void start();
  void stop();
  void work(int replica);
  void enter(int replica, const std::function<void(int)>& body) const;

  std::vector<Device> devices_;
  int share_;
  int spins_;
  const std::function<void(int)>* body_ = nullptr;
  StatusWords* status_ = nullptr;  // of the caller's thread
  int64_t step_ = 0;               // likewise
  uint32_t made_in_;  // of forks(): where this differs the threads are in the parent of this process
  std::atomic<uint32_t> round_{0};
  std::atomic<int> running_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;
};

}  // namespace nyala
