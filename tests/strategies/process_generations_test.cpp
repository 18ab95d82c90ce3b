// A strategy whose processes come and go: here threads that pose as processes, with a group that makes a
// generation of those who come to it.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/communicators/local_communicators.h>
#include <nyala/strategies/in_process.h>
#include <nyala/strategies/multi_worker.h>

namespace nyala {

namespace {

using ::testing::HasSubstr;

/// The place where a number of threads meets; that of the next generation is said before.
struct Meeting {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<int> expected{0};
  int arrived = 0;
  std::atomic<uint64_t> generation{0};
  std::vector<ProcessCommunicators> made;
  std::string aborted;
};

class ThreadGroup final : public ProcessGroup {
 public:
  ThreadGroup(std::shared_ptr<Meeting> meeting, int& left) : meeting_(std::move(meeting)), left_(left) {}
  ProcessCommunicators join() override {
    Meeting& meeting = *meeting_;
    std::unique_lock lock(meeting.mutex);
    if (!meeting.aborted.empty()) throw CommunicationError(meeting.aborted);
    const size_t rank = static_cast<size_t>(meeting.arrived++);
    const uint64_t generation = meeting.generation;
    if (meeting.arrived == meeting.expected) {
      const auto options = [&](const char* name) {
        return CommunicatorOptions{.size = meeting.expected.load(),
                                   .generation = generation,
                                   .name = name,
                                   .timeout = std::chrono::seconds(20)};
      };
      const auto steps = local_communicators(options("steps")),
                 gradients = local_communicators(options("gradients"));
      meeting.made.clear();
      for (size_t i = 0; i < steps.size(); ++i) meeting.made.push_back({steps[i], gradients[i]});
      meeting.arrived = 0;
      ++meeting.generation;
      meeting.changed.notify_all();
    } else if (!meeting.changed.wait_for(lock, std::chrono::seconds(20),
                                         [&] { return meeting.generation != generation; })) {
      throw TimeoutError("nobody comes");
    }
    return meeting.made.at(rank);
  }
  bool can_rejoin() const override { return meeting_->aborted.empty(); }
  void abort(const std::string& reason) noexcept override { meeting_->aborted = reason; }
  void leave() noexcept override { ++left_; }
  std::string describe() const override { return "threads"; }

 private:
  std::shared_ptr<Meeting> meeting_;
  int& left_;
};

double sum_of_ones(const Strategy& strategy) {
  return strategy.reduce("sum", strategy.run([] { return Tensor::full({}, 1.0); })).item();
}

TEST(ProcessGenerations, AStrategyGoesOnWithThoseWhoAreLeftAndWithNewcomers) {
  const auto meeting = std::make_shared<Meeting>();
  int left[4] = {};
  meeting->expected = 3;
  const auto made = [&](int number) {
    return MultiWorkerMirroredStrategy(std::make_shared<ThreadGroup>(meeting, left[number]));
  };
  const auto survivor = [&](int number) {
    const MultiWorkerMirroredStrategy strategy = made(number);
    EXPECT_EQ(sum_of_ones(strategy), 3);
    EXPECT_THROW(sum_of_ones(strategy), CommunicationError);  // one is gone
    ProcessGenerations& generations = *strategy.node().generations();
    ASSERT_TRUE(generations.can_go_on());
    generations.begin_next(7);
    EXPECT_EQ(generations.number(), 2);
    EXPECT_EQ(strategy.num_processes(), 2);
    EXPECT_EQ(strategy.num_replicas_in_sync(), 2);
    EXPECT_EQ(strategy.node().replica_id(0), strategy.rank());
    EXPECT_EQ(sum_of_ones(strategy), 2);
    if (strategy.is_chief()) meeting->expected = 3;
    sum_of_ones(strategy);
    generations.begin_next(7);
    EXPECT_FALSE(generations.link().is_apart());
    EXPECT_EQ(sum_of_ones(strategy), 3);
    EXPECT_THAT(strategy.describe(), HasSubstr("generation 3 of threads"));
  };
  const auto victim = [&] {
    const MultiWorkerMirroredStrategy strategy = made(2);
    EXPECT_EQ(sum_of_ones(strategy), 3);
    meeting->expected = 2;
    strategy.node().processes()->abort("killed");
  };
  std::thread first([&] { survivor(0); }), second([&] { survivor(1); }), third(victim);
  third.join();
  // A newcomer learns that the others are in the middle of something, and is apart until it has come there.
  std::thread newcomer([&] {
    while (meeting->generation < 2 || meeting->expected < 3) std::this_thread::yield();
    const MultiWorkerMirroredStrategy strategy = made(3);
    ProcessLink& link = strategy.node().generations()->link();
    EXPECT_TRUE(link.is_apart());
    EXPECT_EQ(link.training(), 7);
    const Variable own = strategy.scope([] { return Variable(Tensor::full({2}, 5.0)); });  // waits for nobody
    EXPECT_EQ(own.value().to_vector<float>()[0], 5.0f);
    EXPECT_THROW(sum_of_ones(strategy), StateError);
    link.set_apart(false);
    EXPECT_EQ(sum_of_ones(strategy), 3);
  });
  for (std::thread* thread : {&first, &second, &newcomer}) thread->join();
  for (const int times : left) EXPECT_EQ(times, 1);
}

TEST(ProcessGenerations, AnErrorOfTheProgramIsTheEndForAll) {
  const auto meeting = std::make_shared<Meeting>();
  int left[2] = {};
  meeting->expected = 2;
  const auto body = [&](int number) {
    const MultiWorkerMirroredStrategy strategy(std::make_shared<ThreadGroup>(meeting, left[number]));
    try {
      strategy.run([&] {
        if (strategy.rank() == 1) throw NumericError("of the program");
        get_replica_context()->all_reduce("sum", Tensor::full({}, 1.0));
      });
      FAIL();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("of the program"));
    }
    EXPECT_FALSE(strategy.node().generations()->can_go_on());
    EXPECT_THROW(strategy.node().generations()->begin_next(1), CommunicationError);
  };
  std::thread first([&] { body(0); }), second([&] { body(1); });
  first.join();
  second.join();
  EXPECT_THAT(meeting->aborted, HasSubstr("of the program"));
}

/// Processes that never reach each other.
struct PartedGroup final : ProcessGroup {
  ProcessCommunicators join() override {
    if (++joined > 50) throw InternalError("it tries for ever");
    CommunicatorOptions options{.size = 2, .name = "steps", .timeout = std::chrono::milliseconds(20)};
    steps = local_communicators(options);
    options.name = "gradients";
    gradients = local_communicators(options);
    return {steps[0], gradients[0]};
  }
  bool can_rejoin() const override { return true; }
  void abort(const std::string&) noexcept override {}
  void leave() noexcept override {}
  std::string describe() const override { return "nobody"; }

  int joined = 0;
  std::vector<std::shared_ptr<Communicator>> steps, gradients;
};

TEST(ProcessGenerations, ProcessesThatDoNotReachEachOtherEndWithAnError) {
  EXPECT_THROW(MultiWorkerMirroredStrategy(std::make_shared<PartedGroup>()), TimeoutError);
}

TEST(ProcessGenerations, NoGroupIsAnError) {
  EXPECT_THROW(MultiWorkerMirroredStrategy(std::shared_ptr<ProcessGroup>()), InvalidArgumentError);
}

}  // namespace

}  // namespace nyala
