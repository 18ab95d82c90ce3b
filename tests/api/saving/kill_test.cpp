#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/saving/checkpoint.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/tests/support/scratch_folder.h>
#include <nyala/tests/support/child_process.h>

namespace nyala::kill_test {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int64_t files_in(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

/// All weights of the file are its epoch, and that is not older than `last`.
void expect_whole(const Model& model, const std::string& path, int& last) {
  const TrainingPosition position = Checkpoint(model).restore(path);
  EXPECT_GE(position.epoch, last);
  last = position.epoch;
  for (const Tensor& weight : model.get_weights())
    for (float value : weight.data<float>()) ASSERT_EQ(value, static_cast<float>(position.epoch));
}

TEST(KilledProcesses, ASaveLeavesTheOldFileOrTheNewOne) {
  const ScratchFolder folder("kill_save");
  const std::string path = folder.file("c.weights.h5");
  const Sequential model({Input({100}), Dense(400), Dense(300), Dense(10)});
  DrawStream random(20);
  int in_the_middle = 0;
  for (int kill = 0; kill < 50 || (in_the_middle == 0 && kill < 1000); ++kill) {
    ChildProcess child("save_forever", {path});
    const auto start = std::filesystem::exists(path) ? std::filesystem::last_write_time(path)
                                                     : std::filesystem::file_time_type::min();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!std::filesystem::exists(path) || std::filesystem::last_write_time(path) == start) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the child saves nothing";
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    ASSERT_FALSE(child.ends_within(std::chrono::microseconds(random.below(20000))));
    ASSERT_TRUE(child.kill());
    in_the_middle += files_in(folder.path()) > 1 ? 1 : 0;
    int first = 1;
    ASSERT_NO_FATAL_FAILURE(expect_whole(model, path, first));
  }
  EXPECT_GT(in_the_middle, 0);
  Checkpoint(model).save(path);
  EXPECT_EQ(files_in(folder.path()), 1);  // the next writer removes what killed ones left
}

/// Starts the training again and again, killed after random times below `longest`, until it ends by itself.
/// Returns the kills.
int train_with_kills(const std::string& folder, int replicas, DrawStream& random,
                     std::chrono::microseconds longest) {
  for (int kills = 0;; ++kills) {
    const bool begun = std::filesystem::exists(folder + "/backup/latest.weights.h5");
    ChildProcess child("train_with_backup", {folder, std::to_string(replicas), begun ? "77" : "5"});
    if (kills == 100) return child.wait() == 0 ? kills : -1;
    if (child.ends_within(std::chrono::microseconds(random.below(static_cast<uint64_t>(longest.count())))) ||
        !child.kill())
      return kills;
  }
}

/// How long the training takes without a kill.
std::chrono::microseconds time_of_training(const std::string& folder, int replicas) {
  const auto start = std::chrono::steady_clock::now();
  if (ChildProcess("train_with_backup", {folder, std::to_string(replicas), "5"}).wait() != 0)
    throw std::runtime_error("the training fails");
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
}

class KilledTraining : public testing::TestWithParam<int> {};

TEST_P(KilledTraining, EndsWithTheSameBits) {
  const int replicas = GetParam();
  const ScratchFolder whole("whole_training"), killed("killed_training");
  const auto time = time_of_training(whole.path().string(), replicas);
  const std::string expected = content_of(whole.file("final.weights.h5"));
  ASSERT_GT(expected.size(), 10000u);
  DrawStream random(21);
  int kills = 0;
  for (int round = 0; kills < 12 && round < 200; ++round) {
    std::filesystem::remove_all(killed.path());
    std::filesystem::create_directories(killed.path());
    const int now = train_with_kills(killed.path().string(), replicas, random, time);
    ASSERT_GE(now, 0);
    kills += now;
    ASSERT_EQ(content_of(killed.file("final.weights.h5")), expected) << "after " << now << " kills";
  }
  EXPECT_GE(kills, 12);
}

INSTANTIATE_TEST_SUITE_P(Replicas, KilledTraining, testing::Values(1, 2), testing::PrintToStringParamName());

}  // namespace
}  // namespace nyala::kill_test
