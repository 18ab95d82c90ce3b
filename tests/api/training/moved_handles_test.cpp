// Handles that were moved from, functions that are empty, tapes that end elsewhere: said, or without effect.
#include <sys/stat.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::moved_handles_test {

TEST(MovedHandles, AreEmpty) {
  const Dataset data = Dataset::from_tensor_slices(ops::arange(4.0));
  DatasetIterator iterator = data.iterate();
  const DatasetIterator taken = std::move(iterator);
  Batch batch;
  expect_error<StateError>([&] { iterator.next(batch); }, {"DatasetIterator", "moved from"});
  expect_error<StateError>([&] { iterator.skip(1); }, {"DatasetIterator"});
  Generator generator = Generator::from_seed(1);
  const Generator other = std::move(generator);
  expect_error<StateError>([&] { generator.normal({2}); }, {"Generator", "moved from"});
  expect_error<StateError>([&] { generator.state(); }, {"Generator"});
  History history;
  const History copy = std::move(history);
  expect_error<StateError>([&] { history.last("loss"); }, {"History", "moved from"});
  expect_error<StateError>([&] { history.history(); }, {"History"});
}

TEST(EmptyFunctions, AreRefused) {
  const Dataset data = Dataset::from_tensor_slices(ops::arange(4.0));
  expect_error<InvalidArgumentError>([&] { data.map(std::function<Tensor(const Tensor&)>()); },
                                     {"Dataset::map", "empty"});
  expect_error<InvalidArgumentError>([&] { data.filter(std::function<bool(const Element&)>()); },
                                     {"Dataset::filter", "empty"});
  expect_error<InvalidArgumentError>(
      [&] { (void)Loss(std::function<Tensor(const Tensor&, const Tensor&)>()); }, {"Loss", "empty"});
}

TEST(Tapes, ThatEndOnAnotherThreadRecordNothingMore) {
  auto tape = std::make_unique<GradientTape>();
  const Tensor x = tape->watch(Tensor::from(std::vector<float>{3.0F}));
  const Tensor y = x * x;
  std::thread([&] { tape.reset(); }).join();
  EXPECT_EQ((x * y).item(), 27.0);
  GradientTape next;
  const Tensor z = next.watch(Tensor::from(std::vector<float>{2.0F}));
  EXPECT_EQ(next.gradient(ops::sum(z * z), z).item(), 4.0);
}

TEST(Tapes, ThatAnotherThreadStopsLeaveNothingBehind) {
  const std::vector<std::function<void(GradientTape&, const Tensor& y, const Tensor& x)>> calls = {
      [](GradientTape& tape, const Tensor& y, const Tensor& x) {
        EXPECT_EQ(tape.gradient(y, x).item(), 6.0);
      },
      [](GradientTape& tape, const Tensor&, const Tensor&) { tape.stop(); },
      [](GradientTape& tape, const Tensor&, const Tensor&) { const auto paused = tape.stop_recording(); },
      [](GradientTape& tape, const Tensor&, const Tensor&) { tape.reset(); }};
  for (const auto& call : calls)
    for (const bool ends_there : {true, false}) {
      auto tape = std::make_unique<GradientTape>();
      const Tensor x = tape->watch(Tensor::from(std::vector<float>{3.0F}));
      const Tensor y = x * x;
      std::thread([&] {
        call(*tape, y, x);
        if (ends_there) tape.reset();
      }).join();
      tape.reset();
      EXPECT_EQ((x * y).item(), 27.0);
      for (int round = 0; round < 2; ++round) {
        GradientTape next;
        const Tensor z = next.watch(Tensor::from(std::vector<float>{2.0F}));
        EXPECT_EQ(next.gradient(ops::sum(z * z), z).item(), 4.0);
      }
    }
}

TEST(LogSinks, MayMakeNyalaLog) {
  int messages = 0;
  set_log_sink([&](LogChannel, std::string_view) {
    ++messages;
    testing::internal::CaptureStderr();
    log(LogChannel::warning, "of the sink");
    EXPECT_NE(testing::internal::GetCapturedStderr().find("of the sink"), std::string::npos);
    if (messages == 2) set_log_sink({});
  });
  log(LogChannel::warning, "one");
  log(LogChannel::warning, "two");
  testing::internal::CaptureStderr();
  log(LogChannel::warning, "three");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("three"), std::string::npos);
  EXPECT_EQ(messages, 2);
}

TEST(Pipes, AreNoDataFiles) {
  const ScratchFolder folder;
  const std::string path = folder.file("data_batch_1.bin");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  expect_error<IoError>([&] { datasets::load_cifar10_batch(path); }, {path, "regular file"});
  expect_error<IoError>([] { datasets::load_cifar10_batch("/dev/null"); }, {"regular file"});
}

}  // namespace nyala::moved_handles_test
