#pragma once

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/callbacks/base/callback.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/multi_worker.h>
#include <nyala/tests/conformance/strategies/file_process_group.h>
#include <nyala/tests/support/rank_processes.h>

namespace nyala {

/// This process: the place that it has among those that the test started, and how many were there before.
struct Self {
  int slot = *RankProcesses::rank();
  Notes notes{RankProcesses::folder() + "/group"};
  std::string times = notes.read("times-" + std::to_string(slot));
  bool is_first() const { return times.empty(); }
  std::string name() const { return std::to_string(slot) + "." + (is_first() ? "0" : times); }
};

inline MultiWorkerMirroredStrategy strategy_of(const Self& self, int devices = 1) {
  configure_logical_devices("cpu", devices);
  MultiWorkerMirroredStrategy::Config config;
  for (int i = 0; i < devices; ++i) config.devices.push_back("cpu:" + std::to_string(i));
  return MultiWorkerMirroredStrategy(
      std::make_shared<FileProcessGroup>(self.notes.folder(), self.name(), std::chrono::seconds(60)), config);
}

/// Where a process is killed: "batch_end 2 7": in that hook, in the process of that place, the 7th time.
struct Kill {
  std::string hook;
  int slot = -1, time = 0;
};

/// Calls `at(hook)` in every hook.
class EveryHook : public Callback {
 public:
  explicit EveryHook(std::function<void(const std::string&)> at) : at_(std::move(at)) {}
  void on_train_begin(Logs&) override { at_("train_begin"); }
  void on_epoch_begin(int, Logs&) override { at_("epoch_begin"); }
  void on_train_batch_begin(int64_t, Logs&) override { at_("batch_begin"); }
  void on_train_batch_end(int64_t, Logs&) override { at_("batch_end"); }
  void on_test_begin(Logs&) override { at_("test_begin"); }
  void on_test_batch_end(int64_t, Logs&) override { at_("test_batch_end"); }
  void on_epoch_end(int, Logs&) override { at_("epoch_end"); }
  void on_predict_begin(Logs&) override { at_("predict_begin"); }
  void on_predict_batch_end(int64_t, Logs&) override { at_("predict_batch_end"); }

 private:
  std::function<void(const std::string&)> at_;
};

inline EveryHook killer(const Self& self, const Kill& kill) {
  return EveryHook([self, kill, times = 0](const std::string& hook) mutable {
    if (self.is_first() && self.slot == kill.slot && hook == kill.hook && ++times == kill.time)
      ::kill(::getpid(), SIGKILL);
  });
}

/// The test that runs, in processes that are started again where they are killed, as long as `restarts`.
struct Job {
  int size = 3;
  bool restarts = true;
  std::function<void(RankProcesses&, FileGroupKeeper&)> meanwhile = {};
  std::map<int, std::string> members = {};      // by place
  std::map<int, RankProcesses::End> ends = {};
  std::map<int, std::string> finals = {};       // what each left as "final-<place>"
  int kills = 0;

  void run() {
    RankProcesses processes(size);
    FileGroupKeeper keeper(RankProcesses::folder() + "/group");
    for (int slot = 0; slot < size; ++slot) members[slot] = std::to_string(slot) + ".0";
    const auto begin = [&] {
      std::vector<std::string> names;
      for (const auto& [slot, name] : members) names.push_back(name);
      keeper.begin(names);
    };
    begin();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(4);
    while (!members.empty() && std::chrono::steady_clock::now() < deadline) {
      for (int slot = 0; slot < size; ++slot) {
        const auto end = processes.ended(slot);
        if (!end) continue;
        members.erase(slot);
        ends[slot] = *end;
        if (end->signal == SIGKILL) {
          ++kills;
          if (restarts) {
            const std::string times = std::to_string(kills);
            keeper.notes().write("times-" + std::to_string(slot), times);
            members[slot] = std::to_string(slot) + "." + times;
            processes.start(slot);
          }
          begin();
        } else if (!members.empty()) {
          keeper.set_members(names_of(members));
        }
      }
      keeper.look();
      if (meanwhile) meanwhile(processes, keeper);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(members.empty()) << "after four minutes some still run";
    for (int slot = 0; slot < size; ++slot)
      finals[slot] = keeper.notes().read("final-" + std::to_string(slot));
  }
  static std::vector<std::string> names_of(const std::map<int, std::string>& members) {
    std::vector<std::string> names;
    for (const auto& [slot, name] : members) names.push_back(name);
    return names;
  }
};

/// The processes of these places have ended with 0; of none: those of all places.
inline void expect_ended_well(const Job& job, const std::vector<int>& slots = {}) {
  for (const auto& [slot, end] : job.ends) {
    if (!slots.empty() && std::ranges::find(slots, slot) == slots.end()) continue;
    EXPECT_EQ(end.code, 0) << slot << ": " << end.output;
  }
}

/// The processes of these places have left the same, and something.
inline void expect_same_finals(const Job& job, const std::vector<int>& slots = {0, 1, 2}) {
  const std::string& first = job.finals.at(slots.at(0));
  EXPECT_FALSE(first.empty());
  for (const int slot : slots) EXPECT_EQ(job.finals.at(slot), first) << slot;
}

}  // namespace nyala
