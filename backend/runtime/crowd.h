#pragma once

#include <atomic>
#include <memory>

namespace nyala {

/// Sleeping OpenMP threads, as many as it takes that libgomp has more threads than there are cores: then its
/// idle threads spin 100 rounds instead of 300,000 before they block, whatever the threads do (its manual,
/// GOMP_SPINCOUNT; it offers no call for this). gather() and dismiss() exclude each other.
class Crowd {
 public:
  bool is_there() const { return there_.load(std::memory_order_relaxed); }
  /// Where the others are a team of `team` threads. Where no thread is to be had, nothing happens.
  void gather(int team);
  /// Its threads end; nobody waits for that. It has to be there.
  void dismiss();

 private:
  std::shared_ptr<std::atomic<bool>> dismissed_;
  std::atomic<bool> there_{false};
};

}  // namespace nyala
