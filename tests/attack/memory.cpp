// attack_memory [failed allocations, 250] [limited address spaces, 40] [seed, 1] [first trial, 0]
//
// Every trial is a process that trains, predicts, loads or saves a model, on one device or two, while memory
// runs out: once by one allocation that fails at a random place, once by a limit of the address space between
// far too little and enough. It has to live and to say so by an exception, and then to train a smaller
// model to the numbers of an untouched process, where the limit leaves room for that. Deaths where the
// failed allocation was one of libgomp's or of the dynamic loader's are counted apart: both end the
// process by themselves.
#include <nyala/tests/attack/failing_malloc.h>
#include <nyala/tests/attack/memory_work.h>

#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <random>
#include <string>
#include <vector>

#include <nyala/backend/core/error.h>

namespace attack {

namespace {

using nyala::OutOfMemoryError;

constexpr int kSecondsOfATrial = 120;  // on a machine that others use, too
constexpr size_t kMiB = size_t{1} << 20;
/// What a larger model may leave behind that is not given back: stacks of threads, code of kernels, heaps.
constexpr size_t kLeftBehind = 48 * kMiB;

enum class Outcome : int { died, undisturbed, out_of_memory, bad_alloc, other_error, wrong_numbers };

/// What a child tells its parent.
struct Report {
  Outcome outcome;
  std::atomic<Caller> failed;        // written as it fails
  void* trace[Allocations::kTrace];  // of the call that failed
  uint64_t allocations;
  size_t address_space;  // highest, in bytes
  bool smaller_failed;   // for want of memory
  size_t count;
  double numbers[64];
  char text[400];
};

struct Trial {
  Work work;
  uint64_t fail_at = 0;
  size_t limit = 0;  // bytes of address space beyond what the process has
  bool only_smaller = false;
};

void limit_address_space(size_t bytes) {
  const rlim_t limit = bytes ? of_process("VmSize") + bytes : RLIM_INFINITY;
  const rlimit both{limit, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &both);
}

void show_death(int number) {
  void* places[40];
  backtrace_symbols_fd(places, backtrace(places, 40), STDERR_FILENO);
  signal(number, SIG_DFL);
  raise(number);
}

Outcome outcome_of(const Trial& trial, Report& report, std::vector<double>& numbers) {
  try {
    if (!trial.only_smaller) do_work(trial.work, numbers);
    return Outcome::undisturbed;
  } catch (const OutOfMemoryError& error) {
    std::snprintf(report.text, sizeof report.text, "%s", error.what());
    return Outcome::out_of_memory;
  } catch (const std::bad_alloc&) {
    return Outcome::bad_alloc;
  } catch (const std::exception& error) {
    std::snprintf(report.text, sizeof report.text, "%s", error.what());
    return Outcome::other_error;
  }
}

/// In the child.
void run(const Trial& trial, Report& report) {
  void* warm[1];
  backtrace(warm, 1);  // loads libgcc
  for (const int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE}) signal(number, show_death);
  std::vector<double> numbers, smaller;
  numbers.reserve(32), smaller.reserve(32);
  find_libraries();
  if (trial.limit) limit_address_space(trial.limit);
  allocations().failed = &report.failed;
  allocations().trace = report.trace;
  allocations().fail_at = trial.fail_at;
  allocations().armed = true;
  const Outcome outcome = outcome_of(trial, report, numbers);
  allocations().armed = false;
  report.allocations = allocations().count;
  try {
    train_smaller(smaller);
  } catch (const OutOfMemoryError& error) {
    report.smaller_failed = true;
    std::snprintf(report.text, sizeof report.text, "smaller: %s", error.what());
  } catch (const std::bad_alloc& error) {  // building a model promises no more
    report.smaller_failed = true;
    std::snprintf(report.text, sizeof report.text, "smaller: %s", error.what());
  }
  report.address_space = of_process("VmPeak");
  if (outcome == Outcome::undisturbed) smaller.insert(smaller.end(), numbers.begin(), numbers.end());
  report.count = std::min(smaller.size(), std::size(report.numbers));
  std::copy_n(smaller.begin(), report.count, report.numbers);
  report.outcome = outcome;
}

/// Runs a trial in a process of its own. `ending` is how that ended where it did not end well.
const Report& in_child(const Trial& trial, std::string& ending) {
  static auto* const shared = static_cast<Report*>(
      mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  static const int errors = memfd_create("errors", 0);
  std::memset(static_cast<void*>(shared), 0, sizeof(Report));
  (void)!ftruncate(errors, 0);
  lseek(errors, 0, SEEK_SET);
  const pid_t child = fork();
  if (child == 0) {
    dup2(errors, STDERR_FILENO);
    dup2(errors, STDOUT_FILENO);
    run(trial, *shared);
    _exit(0);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(kSecondsOfATrial);
  int status = 0;
  ending.clear();
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      kill(child, SIGABRT);  // shows where
      usleep(500'000);
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      ending = "hangs";
      break;
    }
    usleep(500);
  }
  if (ending.empty() && WIFSIGNALED(status)) ending = "signal " + std::to_string(WTERMSIG(status));
  if (WIFEXITED(status) && (WEXITSTATUS(status) != 0 || shared->outcome == Outcome::died))
    ending = "exit " + std::to_string(WEXITSTATUS(status));
  if (ending.empty()) return *shared;
  char text[6000];
  const ssize_t size = pread(errors, text, sizeof text, 0);
  ending += "\n" + std::string(text, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return *shared;
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-6 * std::max(1.0, std::abs(b)); }

/// Of an untouched run; the numbers of the smaller model come first.
struct Reference {
  explicit Reference(const Report& report = {})
      : allocations(report.allocations),
        address_space(report.address_space),
        numbers(report.numbers, report.numbers + report.count) {}
  uint64_t allocations;
  size_t address_space;
  std::vector<double> numbers;

  bool agrees(const Report& other) const {
    return other.count <= numbers.size() &&
           std::equal(other.numbers, other.numbers + other.count, numbers.begin(), near);
  }
};

std::string text_of(const Trial& trial) {
  std::string text =
      std::string(name_of(trial.work.task)) + " on " + std::to_string(trial.work.devices) + ", ";
  if (trial.limit) return text + std::to_string(trial.limit / 1024) + " KiB";
  return text + "allocation " + std::to_string(trial.fail_at);
}

class Attack {
 public:
  Attack(std::string file, uint64_t seed) : file_(std::move(file)), random_(seed) {}

  /// `size` of the work: what one failed allocation needs is less than what fills memory.
  void measure(int size) {
    for (int task = 0; task < kTasks; ++task)
      for (int devices = 1; devices <= 2; ++devices) {
        const Trial trial{work(task, devices, size)};
        std::string ending;
        const Report& report = in_child(trial, ending);
        if (!ending.empty() || report.outcome != Outcome::undisturbed) {
          std::printf("untouched, %s: %s %s\n", text_of(trial).c_str(), ending.c_str(), report.text);
          std::exit(2);
        }
        references_[{task, devices, size}] = Reference(report);
        std::printf("%s on %d, size %d: %lu allocations, %zu MiB\n", name_of(trial.work.task), devices, size,
                    report.allocations, report.address_space / kMiB);
      }
  }

  void fail_allocations(int count, int first) {
    for (int i = 0; i < count; ++i) {
      const int task = i % kTasks, devices = 1 + i / kTasks % 2;
      Trial trial{work(task, devices, 1)};
      trial.fail_at = 1 + random_() % references_[{task, devices, 1}].allocations;
      if (i >= first) check(i, trial);
    }
  }

  /// The limit from which on the smaller model trains in an untouched process, to a MiB.
  void measure_smaller() {
    size_t too_little = 0, enough = 1024 * kMiB;
    while (enough - too_little > kMiB) {
      const size_t limit = (too_little + enough) / 2;
      std::string ending;
      const Report& report = in_child({.work = {}, .limit = limit, .only_smaller = true}, ending);
      (ending.empty() && !report.smaller_failed ? enough : too_little) = limit;
    }
    smaller_needs_ = enough;
    std::printf("the smaller model alone needs %zu MiB\n", enough / kMiB);
  }

  void limit_memory(int count, int size, int first) {
    const size_t least = of_process("VmSize");
    for (int i = 0; i < count; ++i) {
      const int task = i % kTasks, devices = 1 + i / kTasks % 2;
      Trial trial{work(task, devices, size)};
      const size_t enough = references_[{task, devices, size}].address_space - least;
      trial.limit = 64 * 1024 + random_() % enough;
      if (i >= first) check(i, trial);
    }
  }

  /// The table; true where nothing was wrong.
  bool report(const char* what) {
    std::printf("\n%s\n", what);
    for (const auto& [name, number] : counts_) std::printf("  %-60s %6d\n", name.c_str(), number);
    counts_.clear();
    std::fflush(stdout);
    return wrong_ == 0;
  }

 private:
  Work work(int task, int devices, int size) const { return {static_cast<Task>(task), devices, size, file_}; }

  void check(int number, const Trial& trial) {
    std::string ending;
    const Report& report = in_child(trial, ending);
    const Reference& reference =
        references_[{static_cast<int>(trial.work.task), trial.work.devices, trial.work.size}];
    ++counts_["trials"];
    if (!ending.empty()) {
      const bool others = allocation_of_others(trial, report);
      const std::string kind = ending.substr(0, ending.find('\n'));
      ++counts_[others ? "ended by libgomp or the loader (" + kind + ")" : "DIED: " + kind];
      if (!others) wrong(number, trial, ending, report.trace);
      return;
    }
    ++counts_[kNames[static_cast<int>(report.outcome)]];
    if (report.smaller_failed) {
      const bool too_tight = trial.limit && trial.limit < smaller_needs_ + kLeftBehind;
      ++counts_[too_tight ? "smaller model: OutOfMemoryError, too tight a limit for it"
                          : "SMALLER MODEL FAILED"];
      if (!too_tight) wrong(number, trial, report.text, report.trace);
    } else if (!reference.agrees(report)) {
      ++counts_["WRONG NUMBERS afterwards"];
      wrong(number, trial, "wrong numbers", report.trace);
    } else {
      ++counts_["smaller model trained to the same numbers"];
    }
    if (report.outcome == Outcome::other_error) wrong(number, trial, report.text, report.trace);
  }

  static bool allocation_of_others(const Trial& trial, const Report& report) {
    return !trial.limit && (report.failed == Caller::libgomp || report.failed == Caller::loader);
  }

  void wrong(int number, const Trial& trial, const std::string& text, void* const* trace) {
    ++wrong_;
    std::printf("trial %d: %s: %s\n", number, text_of(trial).c_str(), text.c_str());
    const auto end = std::find(trace, trace + Allocations::kTrace, nullptr);
    if (end != trace) std::printf("the allocation that failed:\n");
    std::fflush(stdout);
    backtrace_symbols_fd(trace, static_cast<int>(end - trace), STDOUT_FILENO);
  }

  static constexpr const char* kNames[] = {"died",           "undisturbed", "OutOfMemoryError",
                                           "std::bad_alloc", "OTHER ERROR", "wrong numbers"};

  std::string file_;
  std::mt19937_64 random_;
  std::map<std::array<int, 3>, Reference> references_;
  std::map<std::string, int> counts_;
  int wrong_ = 0;
  size_t smaller_needs_ = 0;
};

}  // namespace

int attack(int failures, int limits, uint64_t seed, int first) {
  const std::string file = "attack_memory_" + std::to_string(getpid()) + ".keras";
  const pid_t writer = fork();
  if (writer == 0) {
    write_model(file);
    _exit(0);
  }
  int status = 0;
  waitpid(writer, &status, 0);
  std::printf("seed %lu\n", seed);
  Attack attack(file, seed);
  bool good = status == 0;
  if (failures > 0) {
    attack.measure(1);
    attack.fail_allocations(failures, first);
    good = attack.report("one failed allocation") && good;
  }
  if (limits > 0) {
    attack.measure(4);
    attack.measure_smaller();
    attack.limit_memory(limits, 4, first);
    good = attack.report("limited address space") && good;
  }
  for (const char* end : {"", ".saved.keras", ".saved.h5"}) unlink((file + end).c_str());
  return good ? 0 : 1;
}

}  // namespace attack

int main(int count, char** arguments) {
  const auto number = [&](int index, int otherwise) {
    return index < count ? std::atoi(arguments[index]) : otherwise;
  };
  return attack::attack(number(1, 250), number(2, 40), static_cast<uint64_t>(number(3, 1)), number(4, 0));
}
