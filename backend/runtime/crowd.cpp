#include <nyala/backend/runtime/crowd.h>

#include <omp.h>

#include <algorithm>
#include <exception>
#include <thread>

#include <nyala/backend/runtime/thread_team.h>

namespace nyala {

void Crowd::gather(int team) try {
  const int missing = std::max(omp_get_num_procs() - (team - 1), 1);
  dismissed_ = std::make_shared<std::atomic<bool>>(false);
  std::thread([dismissed = dismissed_, missing] {
    try {
      prove_team(missing + 1);
    } catch (const std::exception&) {
      return;
    }
    std::atomic<int> here{0};
#pragma omp parallel num_threads(missing + 1)
    here.fetch_add(1, std::memory_order_relaxed);
    dismissed->wait(false);
  }).detach();  // nobody waits for it: a forked child would wait for ever
  there_ = true;
} catch (const std::exception&) {
  dismissed_.reset();  // no thread to be had: idle ones go on spinning
}

void Crowd::dismiss() {
  there_ = false;
  dismissed_->store(true);
  dismissed_->notify_one();
  dismissed_.reset();
}

}  // namespace nyala
