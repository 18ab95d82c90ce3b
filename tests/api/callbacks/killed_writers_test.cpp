// What a writer that was killed left in the folder of a callback, of files that are never written again.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include <nyala/files/base/atomic_file.h>
#include <nyala/files/base/folder.h>
#include <nyala/nyala.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::killed_writers_test {

namespace {

/// A process that is killed while it writes `path`.
void be_killed_writing(const std::string& path) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    AtomicFile file(path);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
}

/// Names of temporary files in `folder`, without their numbers.
std::vector<std::string> temporary_names(const std::string& folder) {
  std::vector<std::string> names;
  for (const std::string& name : names_in_folder(folder))
    if (const size_t mark = name.find(".nyala-tmp-"); mark != std::string::npos)
      names.push_back(name.substr(0, mark));
  std::ranges::sort(names);
  return names;
}

void fit_with(const CallbackArgument& callback) {
  const Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = SGD(0.1), .loss = "mse"});
  model.fit(Tensor::ones({4, 2}), Tensor::ones({4, 1}), {.epochs = 2, .verbose = 0, .callbacks = {callback}});
}

TEST(KilledWriters, ModelCheckpointRemovesWhatTheyLeftOfFilesOfItsPattern) {
  const ScratchFolder folder;
  be_killed_writing(folder.file("ckpt-17.weights.h5"));
  be_killed_writing(folder.file("other-17.weights.h5"));
  const AtomicFile alive(folder.file("ckpt-18.weights.h5"));
  std::ofstream(folder.file("ckpt-9.weights.h5.nyala-tmp-1-1")) << "of somebody else";
  const std::vector<std::string> all = {"ckpt-17.weights.h5", "ckpt-18.weights.h5", "ckpt-9.weights.h5",
                                        "other-17.weights.h5"};
  ASSERT_EQ(temporary_names(folder.path().string()), all);
  fit_with(ModelCheckpoint(folder.file("ckpt-{epoch:02d}.weights.h5"), {.save_weights_only = true}));
  const std::vector<std::string> left = {"ckpt-18.weights.h5", "ckpt-9.weights.h5", "other-17.weights.h5"};
  EXPECT_EQ(temporary_names(folder.path().string()), left);
  EXPECT_TRUE(std::filesystem::exists(folder.file("ckpt-02.weights.h5")));
}

// Nothing is better than the threshold, so that no file is written.
TEST(KilledWriters, ACheckpointThatIsNotWrittenRemovesIt) {
  const ScratchFolder folder;
  be_killed_writing(folder.file("best.weights.h5"));
  fit_with(ModelCheckpoint(folder.file("best.weights.h5"), {.monitor = "loss",
                                                            .save_best_only = true,
                                                            .save_weights_only = true,
                                                            .mode = "min",
                                                            .initial_value_threshold = -1}));
  EXPECT_TRUE(temporary_names(folder.path().string()).empty());
  EXPECT_FALSE(std::filesystem::exists(folder.file("best.weights.h5")));
}

TEST(KilledWriters, BackupAndRestoreRemovesItWhereTrainingBegins) {
  const ScratchFolder folder;
  be_killed_writing(folder.file("latest.weights.h5"));
  const Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = SGD(0.1), .loss = "mse"});
  LambdaCallback looks(
      {.on_train_begin = [&](Logs&) { EXPECT_TRUE(temporary_names(folder.path().string()).empty()); }});
  model.fit(Tensor::ones({4, 2}), Tensor::ones({4, 1}),
            {.epochs = 1, .verbose = 0, .callbacks = {BackupAndRestore(folder.path().string()), looks}});
}

TEST(KilledWriters, ABackupThatIsDeletedLeavesNoFolder) {
  const ScratchFolder folder;
  const std::string backup = folder.file("backup");
  LambdaCallback killed({.on_train_end = [&](Logs&) { be_killed_writing(backup + "/latest.weights.h5"); }});
  const Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = SGD(0.1), .loss = "mse"});
  model.fit(Tensor::ones({4, 2}), Tensor::ones({4, 1}),
            {.epochs = 1, .verbose = 0, .callbacks = {killed, BackupAndRestore(backup)}});
  EXPECT_FALSE(std::filesystem::exists(backup));
}

}  // namespace

}  // namespace nyala::killed_writers_test
