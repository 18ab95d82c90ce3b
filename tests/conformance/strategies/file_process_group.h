#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/communicators/file_rendezvous.h>
#include <nyala/strategies/communicators/process_group.h>

namespace nyala {

/// Notes in a folder that all processes see: whole or not there.
class Notes {
 public:
  explicit Notes(std::string folder) : folder_(std::move(folder)) {
    std::error_code ignored;
    std::filesystem::create_directories(folder_, ignored);
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all, ignored);
  }
  void write(const std::string& name, const std::string& text) const {
    static std::atomic<int> number{0};
    const std::string path = folder_ + "/" + name,
                      beside = path + "-new" + std::to_string(::getpid()) + "-" + std::to_string(++number);
    std::ofstream(beside) << text;
    std::filesystem::rename(beside, path);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool has(const std::string& name) const { return std::filesystem::exists(folder_ + "/" + name); }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

/// Who is in a generation: "3 0.0 1.1 2.0", its number and the names of its processes in the order of ranks.
struct Membership {
  int64_t generation = 0;
  std::vector<std::string> members = {};

  explicit Membership(const std::string& text) {
    std::istringstream in(text);
    in >> generation;
    for (std::string name; in >> name;) members.push_back(name);
  }
  int rank_of(const std::string& name) const {
    for (size_t rank = 0; rank < members.size(); ++rank)
      if (members[rank] == name) return static_cast<int>(rank);
    return -1;
  }
};

/// Processes of one host whose generations somebody else decides, FileGroupKeeper, by a note in a folder.
class FileProcessGroup final : public ProcessGroup {
 public:
  FileProcessGroup(const std::string& folder, std::string name, std::chrono::milliseconds timeout)
      : notes_(folder), name_(std::move(name)), timeout_(timeout), watcher_([this] { watch(); }) {}
  ~FileProcessGroup() override {
    ended_ = true;
    watcher_.join();
  }

  ProcessCommunicators join() override {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    {
      const std::lock_guard lock(mutex_);
      communicators_ = {};
    }
    notes_.write("wants-" + name_, std::to_string(generation_));
    while (std::chrono::steady_clock::now() < deadline) {
      if (!can_rejoin()) throw CommunicationError("the group was ended: " + notes_.read("aborted"));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const Membership next(notes_.read("latest"));
      const int rank = next.rank_of(name_);
      if (next.generation <= generation_ || rank < 0) continue;
      notes_.write("here-" + std::to_string(next.generation) + "-" + name_, "");
      if (!all_here(next)) continue;
      ProcessCommunicators made;
      try {
        made = connected(rank, next);
      } catch (const CommunicationError&) {  // one of them was killed meanwhile
        const std::lock_guard lock(mutex_);
        generation_ = next.generation;
        notes_.write("wants-" + name_, std::to_string(generation_));
        continue;
      }
      const std::lock_guard lock(mutex_);
      generation_ = next.generation;
      communicators_ = made;
      return made;
    }
    throw TimeoutError("no generation after " + std::to_string(generation_) + " of " + describe());
  }
  bool can_rejoin() const override { return !notes_.has("aborted"); }
  std::string ended_by() const override { return notes_.read("aborted"); }
  void abort(const std::string& reason) noexcept override { notes_.write("aborted", reason); }
  void leave() noexcept override { notes_.write("left-" + name_, ""); }
  std::string describe() const override { return "the folder " + notes_.folder(); }

 private:
  ProcessCommunicators connected(int rank, const Membership& membership) const {
    FileRendezvous rendezvous(notes_.folder());
    return processes_on_one_host({.rank = rank,
                                  .size = static_cast<int>(membership.members.size()),
                                  .generation = static_cast<uint64_t>(membership.generation),
                                  .timeout = timeout_},
                                 rendezvous);
  }
  bool all_here(const Membership& next) const {
    for (const std::string& member : next.members)
      if (!notes_.has("here-" + std::to_string(next.generation) + "-" + member)) return false;
    return true;
  }
  // Who is new, or has given up alone, is to be taken in.
  void watch() {
    while (!ended_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      const std::lock_guard lock(mutex_);
      if (!communicators_.steps || Membership(notes_.read("latest")).generation <= generation_) continue;
      communicators_.steps->abort("the processes change");
      communicators_.gradients->abort("the processes change");
      communicators_ = {};
    }
  }

  Notes notes_;
  std::string name_;
  std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  ProcessCommunicators communicators_;
  int64_t generation_ = 0;
  std::atomic<bool> ended_{false};
  std::thread watcher_;
};

/// Decides the generations, from outside.
class FileGroupKeeper {
 public:
  explicit FileGroupKeeper(const std::string& folder) : notes_(folder) {}
  void begin(std::vector<std::string> members) {
    members_ = begun_ = std::move(members);
    std::string text = std::to_string(++generation_);
    for (const std::string& member : members_) text += " " + member;
    notes_.write("latest", text);
  }
  /// Begins the next generation where one of the members has given this one up, or has ended before it came.
  void look() {
    if (members_ != begun_ && !is_complete()) return begin(members_);
    for (const std::string& member : members_)
      if (notes_.read("wants-" + member) == std::to_string(generation_)) return begin(members_);
  }
  /// Of the generation after this one.
  void set_members(std::vector<std::string> members) { members_ = std::move(members); }
  const Notes& notes() const { return notes_; }

 private:
  Notes notes_;
  bool is_complete() const {
    for (const std::string& member : begun_)
      if (!notes_.has("here-" + std::to_string(generation_) + "-" + member)) return false;
    return true;
  }
  std::vector<std::string> members_, begun_;  // who are there, and who were when the last one began
  int64_t generation_ = 0;
};

}  // namespace nyala
