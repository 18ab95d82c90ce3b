// Many short trainings under strategies, models, batch sizes and errors drawn by chance: none hangs, none
// leaves memory or threads behind, and each gives the numbers of one device, also after an error.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <nyala/nyala.h>
#include <nyala/tests/conformance/strategies/promise_case.h>
#include <nyala/tests/conformance/strategies/stress_kinds.h>

namespace nyala::stress_test {

using namespace nyala::detail;
namespace {

using std::chrono::steady_clock;

/// Ends the process with a message when a piece of work takes too long: a hang has no other end.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds patience) : patience_(patience), thread_([this] { watch(); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void begin(const std::string& what) {
    const std::lock_guard lock(mutex_);
    what_ = what;
    deadline_ = steady_clock::now() + patience_;
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::milliseconds(200), [this] { return done_; })) {
      if (steady_clock::now() < deadline_) continue;
      std::fprintf(stderr, "HANG: %s\n", what_.c_str());
      std::_Exit(3);
    }
  }

  std::chrono::seconds patience_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::string what_ = "start";
  steady_clock::time_point deadline_ = steady_clock::now() + patience_;
  std::thread thread_;
};

enum class Failure { none, in_replica, in_map };

struct Trial {
  std::string text = {};
  StressStrategy strategy = {};
  StressModel model = {};
  int64_t batch = 1;
  int epochs = 1;
  uint64_t seed = 0;
  Failure failure = Failure::none;
  int victim = 0, step = 1;  // of the error
  int map_calls = 0;
  bool same_model = false;  // goes on after the error; else a new one under the same strategy
};

int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

Trial random_trial(uint64_t seed) {
  DrawStream chance(seed);
  Trial trial{.strategy = random_strategy(chance), .seed = seed};
  trial.batch = 1 + static_cast<int64_t>(chance.below(chance.below(3) == 0 ? 12 : 300));
  const int64_t rows =
      trial.batch + static_cast<int64_t>(chance.below(static_cast<uint64_t>(trial.batch) * 2 + 1));
  trial.model = random_model(chance, rows);
  if (trial.model.has_own_step && trial.strategy.wraps) {
    trial.strategy.wraps = false;  // it has no train_step of the user's
    trial.strategy.devices = 1;
    trial.strategy.text = "OneDevice instead of " + trial.strategy.text;
  }
  trial.epochs = 1 + static_cast<int>(chance.below(2));
  const uint64_t kind = chance.below(10);
  const bool floats = is_floating(trial.model.x.dtype());
  trial.failure = kind < 4 ? Failure::in_replica : kind < 5 && floats ? Failure::in_map : Failure::none;
  const int64_t steps = trial.epochs * ceil_of(rows, trial.batch);
  trial.step = 1 + static_cast<int>(chance.below(static_cast<uint64_t>(steps)));
  trial.victim = trial.strategy.first_device +
                 static_cast<int>(chance.below(static_cast<uint64_t>(trial.strategy.devices)));
  trial.map_calls = chance.below(2) == 0 ? 0 : 2;
  trial.same_model = chance.below(2) == 0;
  trial.text = "seed " + std::to_string(seed) + ": " + trial.strategy.text + "; " + trial.model.text + "; " +
               std::to_string(rows) + " rows in batches of " + std::to_string(trial.batch) + ", " +
               std::to_string(trial.epochs) + " epoch(s)";
  if (trial.failure != Failure::none)
    trial.text += (trial.failure == Failure::in_map ? std::string("; map throws")
                                                    : "; device " + std::to_string(trial.victim) +
                                                          " throws in step " + std::to_string(trial.step)) +
                  (trial.same_model ? ", the model goes on" : ", a new model");
  return trial;
}

/// The trial's rows; `row` throws once where it is not negative.
Dataset mapped(const Trial& trial, int64_t row) {
  const int64_t width = trial.model.x.num_elements() / trial.model.x.shape()[0];
  const auto armed = std::make_shared<std::atomic<bool>>(row >= 0);
  const float marked = row < 0 ? 0.0f : trial.model.x.to_vector<float>().at(static_cast<size_t>(row * width));
  return Dataset::from_tensor_slices(trial.model.x, trial.model.y)
      .map(
          [armed, marked](Element element, DrawStream&) {
            if (*armed && element.x[0].to_vector<float>()[0] == marked && armed->exchange(false))
              throw std::runtime_error(kPlanted);
            return element;
          },
          {.num_parallel_calls = trial.map_calls})
      .batch(trial.batch);
}

History fitted(const Trial& trial, const Model& model, const Dataset& mapped_data) {
  FitConfig config{.epochs = trial.epochs, .verbose = 0};
  if (trial.failure == Failure::in_map) return model.fit(mapped_data, config);
  config.batch_size = trial.batch;
  return model.fit(trial.model.x, trial.model.y, config);
}

void expect_planted_error(const Trial& trial, const Model& model, bool reference) {
  const int64_t rows = trial.model.x.shape()[0];
  const int64_t row = trial.failure == Failure::in_map ? (trial.step * trial.batch) % rows : -1;
  try {
    fitted(trial, model, trial.failure == Failure::in_map ? mapped(trial, row) : Dataset());
    ADD_FAILURE() << "the planted error did not arrive";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr(kPlanted));
    if (trial.failure == Failure::in_map || reference || trial.strategy.devices == 1) return;
    EXPECT_THAT(error_place() + error.what(), ::testing::HasSubstr("cpu:" + std::to_string(trial.victim)));
  }
}

std::vector<double> doubles_of(const Tensor& value) {
  return ops::cast(value, DType::float64).to_vector<double>();
}

/// Trains under `strategy`, over the planted error where the trial has one.
Outcome outcome_of(const Trial& trial, const StressStrategy& kind, bool reference) {
  clear_session();
  set_random_seed(trial.seed);
  const Strategy strategy = kind.make();
  const auto fuse = std::make_shared<Fuse>();
  const auto made = [&] {
    const Model net = strategy.scope([&] { return trial.model.make(fuse); });
    const Model model = kind.wraps ? kind.wrap(net) : net;
    trial.model.compile(model);
    return model;
  };
  Model model = made();
  if (trial.failure != Failure::none) {
    if (trial.failure == Failure::in_replica) fuse->arm(reference ? 0 : trial.victim, trial.step);
    expect_planted_error(trial, model, reference);
    EXPECT_FALSE(fuse->armed());
    if (!trial.same_model) {
      clear_session();
      set_random_seed(trial.seed + 1);
      model = made();
    }
  }
  const History history =
      fitted(trial, model, trial.failure == Failure::in_map ? mapped(trial, -1) : Dataset());
  Outcome outcome;
  int index = 0;
  for (const Variable& variable : model.weights())
    outcome["weight " + std::to_string(index++)] = doubles_of(variable.value());
  outcome["iterations"] = {static_cast<double>(model.optimizer().iterations())};
  for (const auto& [name, values] : history.history()) outcome["history " + name] = values;
  outcome["predict"] = doubles_of(model.predict(trial.model.x, {.batch_size = trial.batch, .verbose = 0}));
  return outcome;
}

/// What the process holds; memory that allocators only keep for later is given back first.
struct Resources {
  size_t live_bytes = 0;  // of tensors
  size_t heap = 0;        // of everything
  size_t threads = 0;
};

Resources resources() {
  Resources now;
  for (Device device : list_logical_devices()) {
    now.live_bytes += allocator_stats(device).live_bytes;
    allocator_of(device).release_cached();
  }
  const auto heap = ::mallinfo2();
  now.heap = heap.uordblks + heap.hblkhd;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    ++now.threads;
  return now;
}

int64_t number_from(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoll(text) : otherwise;
}

class StrategiesSlow : public ::testing::Test {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 8); }
  void TearDown() override { configure_logical_devices("cpu", 1); }
};

/// Trainings of one test, and what they have shown.
class Trials {
 public:
  /// Those with the numbers [0, count).
  void run(uint64_t seed, int64_t count) {
    for (int64_t i = 0; i < count; ++i) run_one(random_trial(seed * 1000000 + static_cast<uint64_t>(i)));
  }
  int64_t count() const { return count_; }
  int errors() const { return errors_; }
  double largest() const { return largest_; }

 private:
  void run_one(const Trial& trial) {
    SCOPED_TRACE(trial.text);
    watchdog_.begin(trial.text);
    const StressStrategy one{.text = "one device", .make = [] { return OneDeviceStrategy("cpu:0"); }};
    const Outcome expected = outcome_of(trial, one, true);
    const Difference difference =
        difference_of(outcome_of(trial, trial.strategy, false), expected, DType::float32);
    EXPECT_LE(difference.allowed, 1.0) << difference.where;
    largest_ = std::max(largest_, difference.largest);
    errors_ += trial.failure != Failure::none;
    ++count_;
  }

  Watchdog watchdog_{std::chrono::seconds(60)};
  int64_t count_ = 0;
  int errors_ = 0;
  double largest_ = 0;  // difference to one device
};

/// NYALA_STRESS_SEED and NYALA_STRESS_FITS change what is drawn and how often. Memory and threads are
/// compared over trainings that have run before: the first time shapes are seen, kernels for them are made
/// and kept.
TEST_F(StrategiesSlow, RandomTrainingsWithRandomErrors) {
  const auto seed = static_cast<uint64_t>(number_from("NYALA_STRESS_SEED", 1));
  const int64_t fits = number_from("NYALA_STRESS_FITS", 500), again = std::min<int64_t>(fits, 40);
  const auto begin = steady_clock::now();
  Trials trials;
  trials.run(seed, fits);
  trials.run(seed, again);
  const Resources before = resources();
  trials.run(seed, again);
  const Resources after = resources();
  std::printf(
      "%lld trainings under strategies, %d of them after an error, in %.1f s: largest difference to one "
      "device %.1e; over the last %lld live bytes %zu -> %zu, heap bytes %zu -> %zu, threads %zu -> %zu\n",
      static_cast<long long>(trials.count()), trials.errors(),
      std::chrono::duration<double>(steady_clock::now() - begin).count(), trials.largest(),
      static_cast<long long>(again), before.live_bytes, after.live_bytes, before.heap, after.heap,
      before.threads, after.threads);
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  EXPECT_LE(after.heap, before.heap + 300000);  // oneDNN's arguments, one set per thread that came at once
  EXPECT_EQ(after.threads, before.threads);
}

}  // namespace
}  // namespace nyala::stress_test
