// libgomp ends the process where pthread_create fails. So a team that is larger than any before on this
// thread is tried first: as many threads of our own, with the stacks that its threads would have, exist at
// the same time and end; then the real team is made while room for its bookkeeping is proven. One trial per
// size, nothing in a warm step.
#include <nyala/backend/runtime/thread_team.h>

#include <omp.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/out_of_memory.h>
#include <nyala/backend/runtime/busy_cores.h>
#include <nyala/backend/runtime/memory_report.h>
#include <nyala/backend/runtime/proven_room.h>

namespace nyala {

namespace {

/// What libgomp itself notes about a team.
constexpr size_t kRoomOfATeam = size_t{2} << 20;

/// The stack that the user wants libgomp's threads to have, as OMP_STACKSIZE says it ("512", "2 M"); 0: the
/// system's.
size_t stack_size_of_teams() {
  for (const char* name : {"OMP_STACKSIZE", "GOMP_STACKSIZE"}) {
    const char* const text = std::getenv(name);
    if (!text) continue;
    char* rest = nullptr;
    size_t size = std::strtoull(text, &rest, 10);
    while (*rest == ' ' || *rest == '\t') ++rest;
    switch (detail::to_lower(*rest)) {
      case 'b':
        return size;
      case 'm':
        return size << 20;
      case 'g':
        return size << 30;
      default:
        return size << 10;
    }
  }
  return 0;
}

/// Threads of this process, those included that are about to end; 0 where the system does not tell.
size_t count_threads() {
  struct stat folder {};
  return stat("/proc/self/task", &folder) == 0 ? folder.st_nlink : 0;
}

/// `count` threads that exist at the same time, with stacks like those of libgomp's.
class Trial {
 public:
  explicit Trial(int count) : before_(count_threads()) {
    threads_.reserve(static_cast<size_t>(count));
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (const size_t size = stack_size_of_teams()) pthread_attr_setstacksize(&attributes, size);
    for (int i = 0; i < count && enough_; ++i) {
      pthread_t thread;
      enough_ = pthread_create(&thread, &attributes, wait, &over_) == 0;
      if (enough_) threads_.push_back(thread);
    }
    pthread_attr_destroy(&attributes);
  }
  ~Trial() {
    over_.store(true);
    over_.notify_all();
    for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
    // A thread that was joined counts until the system has cleared up after it.
    for (int i = 0; i < kPatience && count_threads() > before_; ++i) usleep(50);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  bool enough() const { return enough_; }

 private:
  static constexpr int kPatience = 40;

  static void* wait(void* over) {
    static_cast<std::atomic<bool>*>(over)->wait(false);
    return nullptr;
  }

  size_t before_;
  std::vector<pthread_t> threads_;
  std::atomic<bool> over_{false};
  bool enough_ = true;
};

/// The threads that libgomp keeps for teams of this thread, as far as we know.
thread_local int t_team = 1;

bool make_team_where_it_fits(int team) {
  const ProvenRoom room(kRoomOfATeam, "a team of threads");
  if (!Trial(team - t_team).enough()) return false;
  std::atomic<int> there{0};
#pragma omp parallel num_threads(team)
  there.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void make_team(int team) {
  if (make_team_where_it_fits(team)) return;
  release_cached_host_memory();
  if (!make_team_where_it_fits(team)) detail::throw_no_room_for_threads(team - t_team);
}

}  // namespace

void prove_team(int team) {
  if (team == t_team || team < 2 || omp_in_parallel()) return;
  if (team > t_team) make_team(team);
  t_team = team;  // libgomp ends the threads that a smaller one leaves over
}

void prepare_team(int team) {
  prove_team(team);
  watch_busy_cores(team);
}

void detail::throw_no_room_for_threads(int count) {
  throw_out_of_memory([count] {
    return "the system has no room for " + std::to_string(count) + (count == 1 ? " thread" : " threads") +
           " more (memory for stacks, or a limit of threads); " + host_memory_in_use() +
           "; OMP_NUM_THREADS and OMP_STACKSIZE make them fewer and smaller";
  });
}

}  // namespace nyala
