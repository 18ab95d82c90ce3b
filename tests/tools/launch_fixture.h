#pragma once

#include <signal.h>
#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/tests/support/scratch_folder.h>
#include <nyala/tests/tools/nyala_process.h>

namespace nyala {

/// `nyala launch` with shells as its processes.
class ToolLaunch : public testing::Test {
 protected:
  using Words = std::vector<std::string>;

  std::string file(const std::string& name) const { return folder_.file(name); }
  /// The arguments `options`, and a shell that runs `script` as each rank.
  static Words shell(Words options, const std::string& script) {
    options.insert(options.begin(), "launch");
    options.insert(options.end(), {"--", "sh", "-c", script});
    return options;
  }
  ToolRun run(const Words& options, const std::string& script) const {
    return NyalaProcess(folder_.path().string(), shell(options, script)).wait();
  }
  std::string text_of(const std::string& name) const {
    std::ifstream in(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// Asks for up to ten seconds.
  static bool becomes(const std::function<bool()>& condition) {
    for (int i = 0; i < 1000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return condition();
  }
  /// The numbers of processes that ranks wrote into files "pid*", once there are `count`.
  std::vector<pid_t> written_ids(size_t count) const {
    std::vector<pid_t> ids;
    EXPECT_TRUE(becomes([&] {
      ids.clear();
      for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
        if (!entry.path().filename().string().starts_with("pid")) continue;
        std::ifstream in(entry.path());
        for (pid_t id; in >> id;) ids.push_back(id);
      }
      return ids.size() == count;
    })) << ids.size();
    return ids;
  }
  /// Whether it is there and no zombie, which an init of a container may never collect.
  static bool runs(pid_t id) {
    std::ifstream in("/proc/" + std::to_string(id) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const size_t state = text.rfind(") ");
    return state != std::string::npos && text[state + 2] != 'Z';
  }
  static bool all_end(const std::vector<pid_t>& ids) {
    return becomes([&] { return std::none_of(ids.begin(), ids.end(), runs); });
  }
  /// A rank that has a child, notes both, and ends by neither itself.
  std::string with_child() const { return "sleep 1000 & echo $! $$ > " + file("pid$NYALA_RANK") + "; wait"; }
  /// A program that takes a host and a command, and runs it in a session of its own, as ssh does.
  std::string fake_ssh() const {
    const std::string path = file("fake_ssh");
    std::ofstream(path) << "#!/bin/sh\necho via $1 >&2\nexec setsid --wait sh -c \"$2\"\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path + " {host} {command}";
  }

  ScratchFolder folder_{"launch"};
};

}  // namespace nyala
