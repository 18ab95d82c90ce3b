// Ranks that are processes: what they compute, and what they see when one of them is killed, frozen or wrong.
#include <signal.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/communicators/file_rendezvous.h>
#include <nyala/tests/conformance/communicators/ranks.h>
#include <nyala/tests/support/rank_processes.h>

namespace nyala::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class ProcessRanks : public ::testing::TestWithParam<ProcessKind> {
 protected:
  static CommunicatorOptions options() {
    return {
        .rank = *RankProcesses::rank(), .size = RankProcesses::size(), .timeout = std::chrono::seconds(20)};
  }
  static std::shared_ptr<Communicator> join(CommunicatorOptions own = options()) {
    return GetParam().make(own, std::make_shared<FileRendezvous>(RankProcesses::folder()));
  }
  static float sum(Communicator& all, size_t count = 1000) {
    std::vector<float> values(count, static_cast<float>(all.rank() + 1));
    all.all_reduce({values.data(), static_cast<int64_t>(count), DType::float32}, CollectiveOp::sum,
                   {.what = "sum"});
    return values[count - 1];
  }
  /// Sums without end, of sizes that take one block and many; notes when it has begun. Returns the error's
  /// text.
  static std::string sum_until_it_fails(Communicator& all) {
    try {
      for (int i = 0;; ++i) {
        sum(all, i % 2 == 0 ? 500 : 500'000);
        if (i == 4) RankProcesses::note("going-" + std::to_string(all.rank()));
      }
    } catch (const CommunicationError& error) {
      return error.what();
    }
  }
  static void wait_until_all_go(int size) {
    for (int rank = 0; rank < size; ++rank)
      ASSERT_TRUE(RankProcesses::wait_for_note("going-" + std::to_string(rank))) << "rank " << rank;
  }
  static void expect_good(RankProcesses& ranks, int rank) {
    const RankProcesses::End end = ranks.wait(rank);
    EXPECT_EQ(end.code, 0) << "rank " << rank << ", signal " << end.signal << "\n" << end.output;
  }
};

TEST_P(ProcessRanks, Add) {
  if (RankProcesses::rank()) {
    const auto all = join();
    for (const size_t count : {1, 1000, 300'000}) EXPECT_EQ(sum(*all, count), 6);
    std::vector<int64_t> ids(3);
    const int64_t mine = 100 + all->rank();
    all->all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(ids)));
    EXPECT_THAT(ids, ::testing::ElementsAre(100, 101, 102));
    return;
  }
  RankProcesses ranks(3);
  for (const int rank : {0, 1, 2}) expect_good(ranks, rank);
}

/// The survivors, those that wait for it and those that do not yet, have the error within a second; by Gloo,
/// at the latest when their timeout is over.
TEST_P(ProcessRanks, KilledInTheMiddle) {
  if (RankProcesses::rank()) {
    const auto all = join();
    const std::string text = sum_until_it_fails(*all);
    EXPECT_THAT(text, HasSubstr("rank 1"));
    if (GetParam().all_know_who || all->rank() == 0) {
      EXPECT_EQ(all->lost_rank(), 1) << text;
    }
    if (GetParam().sees_every_end)
      EXPECT_THROW(all->barrier(), PeerLostError) << text;
    else
      EXPECT_THROW(all->barrier(), CommunicationError) << text;
    return;
  }
  std::mt19937 random(7);
  for (int round = 0; round < 4; ++round) {
    RankProcesses ranks(3);
    wait_until_all_go(3);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
    ranks.send(1, SIGKILL);
    const auto killed = Clock::now();
    for (const int rank : {0, 2}) expect_good(ranks, rank);
    EXPECT_LT(Clock::now() - killed, std::chrono::seconds(GetParam().sees_every_end ? 1 : 22))
        << "with the time that the survivors take to end";
  }
}

TEST_P(ProcessRanks, FrozenInTheMiddle) {
  if (RankProcesses::rank()) {
    CommunicatorOptions own = options();
    own.timeout = milliseconds(1500);
    const auto all = join(own);
    // Gloo's rank may wait for one that waits for the frozen one itself.
    EXPECT_THAT(
        sum_until_it_fails(*all),
        AllOf(HasSubstr(GetParam().sees_every_end ? "rank 1" : "did not come"), HasSubstr("generation 0")));
    return;
  }
  RankProcesses ranks(3);
  wait_until_all_go(3);
  ranks.send(1, SIGSTOP);
  const auto frozen = Clock::now();
  for (const int rank : {0, 2}) expect_good(ranks, rank);
  EXPECT_GT(Clock::now() - frozen, milliseconds(1000));
  EXPECT_LT(Clock::now() - frozen, milliseconds(5000));
  ranks.send(1, SIGCONT);
  expect_good(ranks, 1);  // it learns that the others gave it up
}

/// Frozen for less than the timeout is no error.
TEST_P(ProcessRanks, FrozenForAWhile) {
  if (RankProcesses::rank()) {
    const auto all = join();
    for (int i = 0; i < 300; ++i) {
      ASSERT_EQ(sum(*all, 2000), 3);
      if (i == 4) RankProcesses::note("going-" + std::to_string(all->rank()));
      std::this_thread::sleep_for(milliseconds(1));
    }
    return;
  }
  RankProcesses ranks(2);
  wait_until_all_go(2);
  ranks.send(1, SIGSTOP);
  std::this_thread::sleep_for(milliseconds(600));
  ranks.send(1, SIGCONT);
  for (const int rank : {0, 1}) expect_good(ranks, rank);
}

TEST_P(ProcessRanks, OneThatEndsByItself) {
  if (RankProcesses::rank()) {
    const auto all = join();
    if (all->rank() == 1) {
      sum(*all, 500);
      return;
    }
    EXPECT_THAT(sum_until_it_fails(*all), HasSubstr("rank 1"));
    return;
  }
  RankProcesses ranks(2);
  const auto begun = Clock::now();
  for (const int rank : {0, 1}) expect_good(ranks, rank);
  EXPECT_LT(Clock::now() - begun, std::chrono::seconds(10));
}

TEST_P(ProcessRanks, SizesThatDifferEndNobody) {
  if (RankProcesses::rank()) {
    const auto all = join();
    EXPECT_THROW(sum(*all, all->rank() == 0 ? 100'000 : 100'001), CommunicationError);
    EXPECT_THROW(sum(*all), CommunicationError);
    return;
  }
  RankProcesses ranks(2);
  for (const int rank : {0, 1}) expect_good(ranks, rank);
}

/// One that is missing is named, within the timeout.
TEST_P(ProcessRanks, OneThatNeverComes) {
  if (RankProcesses::rank()) {
    CommunicatorOptions own = options();
    own.timeout = milliseconds(1000);
    if (own.rank == 1) return;
    const auto begun = Clock::now();
    try {
      join(own);
      ADD_FAILURE() << "it formed a group without rank 1";
    } catch (const CommunicationError& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank 1"));
    }
    EXPECT_LT(Clock::now() - begun, milliseconds(4000));
    return;
  }
  RankProcesses ranks(2);
  for (const int rank : {0, 1}) expect_good(ranks, rank);
}

/// Other generations never meet, and a new one forms beside what the last one left.
TEST_P(ProcessRanks, GenerationsDoNotMix) {
  if (RankProcesses::rank()) {
    CommunicatorOptions own = options();
    own.generation = own.rank == 0 ? 4 : 5;
    own.timeout = milliseconds(700);
    EXPECT_THROW(join(own), CommunicationError);
    own.generation = 6;
    own.timeout = milliseconds(10'000);
    EXPECT_EQ(sum(*join(own)), 3);
    return;
  }
  RankProcesses ranks(2);
  for (const int rank : {0, 1}) expect_good(ranks, rank);
}

/// Survivors of a kill form the next generation, and so does one who came later in place of the killed.
TEST_P(ProcessRanks, ANewGenerationAfterAKill) {
  if (RankProcesses::rank()) {
    CommunicatorOptions own = options();
    own.timeout = std::chrono::seconds(8);  // so that nobody in the next one waits in vain
    if (!std::filesystem::exists(RankProcesses::folder() + "/again")) {
      EXPECT_THAT(sum_until_it_fails(*join(own)), HasSubstr("rank 2"));
    }
    own.generation = 1;
    own.timeout = options().timeout;
    EXPECT_EQ(sum(*join(own)), 6);
    return;
  }
  RankProcesses ranks(3);
  wait_until_all_go(3);
  ranks.send(2, SIGKILL);
  ranks.wait(2);
  RankProcesses::note("again");
  ranks.start(2);
  for (const int rank : {0, 1, 2}) expect_good(ranks, rank);
}

INSTANTIATE_TEST_SUITE_P(All, ProcessRanks, ::testing::ValuesIn(process_kinds()),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace nyala::testing
