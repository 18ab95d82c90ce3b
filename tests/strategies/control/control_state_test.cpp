// The control plane without a network and without a clock.
#include <gmock/gmock.h>

#include <nyala/strategies/control/control_state.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::detail {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A cluster whose processes are played by the test.
class ControlStateTest : public testing::Test {
 protected:
  ControlStateTest() : ControlStateTest({.size = 3, .token = "secret", .heartbeat = 1s}) {}
  explicit ControlStateTest(const ControlStateOptions& options) : state_(options) {}

  using Answers = std::vector<ControlReply>;

  struct Asked {
    std::shared_ptr<Answers> answers = std::make_shared<Answers>();
    uint64_t id = 0;
    bool open() const { return answers->empty(); }
    const ControlReply& reply() const {
      if (answers->size() != 1) throw std::runtime_error(std::to_string(answers->size()) + " answers");
      return answers->front();
    }
  };

  Asked ask(ControlRequest request) {
    Asked asked;
    if (request.size == 1) request.size = 3;
    if (request.process == 0) request.process = 100 + static_cast<uint64_t>(request.rank);
    if (request.timeout_ms == 0) request.timeout_ms = request.call == ControlCall::join ? join_ms_ : 5000;
    if (request.token.empty()) request.token = "secret";
    asked.id = state_.handle(
        std::move(request),
        [answers = asked.answers](ControlReply reply) { answers->push_back(std::move(reply)); }, now_);
    return asked;
  }
  Asked join(int rank, ControlFacts facts = {}) {
    return ask({.call = ControlCall::join,
                .rank = rank,
                .generation = generation_,
                .name = std::string(1, static_cast<char>('a' + rank)),
                .value = "address" + std::to_string(rank),
                .facts = std::move(facts)});
  }
  Asked in_generation(ControlCall call, int rank, const std::string& name = "",
                      const std::string& value = "") {
    return ask({.call = call, .rank = rank, .generation = generation_, .name = name, .value = value});
  }
  /// All three, which forms a generation.
  std::vector<Asked> join_all() {
    std::vector<Asked> all = {join(2), join(0)};
    all.push_back(join(1));
    generation_ = all[0].reply().generation;
    return all;
  }
  std::vector<Asked> watch_all() {
    return {in_generation(ControlCall::watch, 0), in_generation(ControlCall::watch, 1),
            in_generation(ControlCall::watch, 2)};
  }
  void after(std::chrono::milliseconds time) {
    now_ += time;
    state_.tick(now_);
  }
  static void expect_reply(const Asked& asked, ControlStatus status, const std::string& part) {
    EXPECT_EQ(asked.reply().status, status) << asked.reply().text;
    EXPECT_THAT(asked.reply().text, HasSubstr(part));
  }

  ControlState::Clock::time_point now_ = ControlState::Clock::now();
  uint64_t generation_ = 0;
  uint32_t join_ms_ = 5000;
  ControlState state_;
};

TEST_F(ControlStateTest, AGenerationBeginsWhenAllAreThere) {
  const Asked first = join(2), second = join(0);
  EXPECT_TRUE(first.open());
  const Asked last = join(1);
  for (const Asked& asked : {first, second, last}) {
    EXPECT_EQ(asked.reply().status, ControlStatus::ok);
    EXPECT_EQ(asked.reply().generation, 1u);
    ASSERT_EQ(asked.reply().members.size(), 3u);
    EXPECT_EQ(asked.reply().members[2].host, "c");
    EXPECT_EQ(asked.reply().members[2].address, "address2");
  }
}

TEST_F(ControlStateTest, WhoIsMissingIsNamed) {
  const Asked waits = join(1);
  after(4999ms);
  EXPECT_TRUE(waits.open());
  after(1ms);
  expect_reply(waits, ControlStatus::timeout,
               "the start: 2 of 3 processes did not come in 5.0 s: rank 0, rank 2");
  ask({.call = ControlCall::join, .rank = 2, .token = "another"});
  const Asked again = join(1);
  after(5s);
  expect_reply(again, ControlStatus::timeout, "rank 0, rank 2. One that came was turned away: wrong token");
}

TEST_F(ControlStateTest, DisagreementsNameBothSides) {
  const Asked all[] = {join(0, {{"version", "1"}, {"seed", "7"}}), join(1, {{"version", "1"}, {"seed", "7"}}),
                       join(2, {{"version", "1"}, {"seed", "8"}})};
  for (const Asked& asked : all)
    expect_reply(asked, ControlStatus::refused,
                 "the processes disagree on 'seed': rank 0 on a has '7', rank 2 on c has '8'");
  const Asked again[] = {join(0, {{"x", "1"}}), join(1)};
  for (const Asked& asked : again)
    expect_reply(asked, ControlStatus::refused, "'x': rank 0 on a has '1', rank 1 on b does not say it");
  expect_reply(join(2), ControlStatus::refused, "rank 1 on b does not say it");
  join_all();
  const auto agree = [&](int rank, const std::string& hash) {
    return ask({.call = ControlCall::agree,
                .rank = rank,
                .generation = 1,
                .name = "model",
                .facts = {{"hash", hash}}});
  };
  const Asked one = agree(0, "x"), two = agree(1, "x");
  EXPECT_TRUE(one.open());
  const Asked three = agree(2, "y");
  for (const Asked& asked : {one, two, three})
    expect_reply(asked, ControlStatus::refused, "'hash': rank 0 on a has 'x', rank 2 on c has 'y'");
  const Asked same[] = {agree(0, "x"), agree(1, "x"), agree(2, "x")};
  for (const Asked& asked : same) expect_reply(asked, ControlStatus::ok, "");
}

/// Who waits for more processes than there are, or is waited for by fewer.
TEST_F(ControlStateTest, AnotherNumberOfProcessesIsToldToBothSides) {
  ask({.call = ControlCall::join, .rank = 2, .size = 4, .name = "z"});
  for (const int rank : {0, 1})  // who come after it
    expect_reply(join(rank), ControlStatus::refused, "rank 2 on z says that there are 4 processes");
  for (const int rank : {1, 3}) {
    const Asked first = join(0),
                other = ask({.call = ControlCall::join, .rank = rank, .size = 4, .name = "z"});
    for (const Asked& asked : {first, other})
      expect_reply(
          asked, ControlStatus::refused,
          "rank " + std::to_string(rank) +
              " on z says that there are 4 processes, the control plane was told 3. All processes need the "
              "same cluster");
  }
  join(0);  // it has been started anew
  join_all();
  const Asked watch = in_generation(ControlCall::watch, 0);
  ask({.call = ControlCall::join, .rank = 1, .size = 4, .process = 8});
  EXPECT_TRUE(watch.open());  // those who train are not disturbed
}

TEST_F(ControlStateTest, WhoHasNotComeIsKnown) {
  EXPECT_FALSE(state_.has_been_joined());
  after(10s);
  ASSERT_EQ(state_.awaited(now_).size(), 3u);
  EXPECT_EQ(state_.awaited(now_)[0].awaited, 0s);  // by nobody
  join_ms_ = 20'000;
  join(0);
  EXPECT_TRUE(state_.has_been_joined());
  after(7s);
  std::vector<AwaitedProcess> awaited = state_.awaited(now_);
  ASSERT_EQ(awaited.size(), 2u);
  EXPECT_EQ(awaited[0].rank, 1);
  EXPECT_EQ(awaited[0].awaited, 7s);
  EXPECT_EQ(awaited[0].timeout, 20s);
  join(1);
  state_.process_ended(2, "was ended by SIGKILL", true, now_);
  awaited = state_.awaited(now_);  // another one comes in its place
  ASSERT_EQ(awaited.size(), 1u);
  EXPECT_EQ(awaited[0].rank, 2);
  state_.process_ended(2, "was ended by SIGKILL", false, now_);
  EXPECT_TRUE(state_.awaited(now_).empty());
}

TEST_F(ControlStateTest, WhoDoesNotBelongIsRefused) {
  expect_reply(ask({.call = ControlCall::join, .token = "secres"}), ControlStatus::refused, "wrong token");
  expect_reply(ask({.call = ControlCall::get, .token = "secret2", .name = "k"}), ControlStatus::refused,
               "wrong token");
  expect_reply(ask({.call = ControlCall::join, .rank = 3}), ControlStatus::refused,
               "rank 3 is outside of the cluster, which has 3 processes");
  expect_reply(ask({.call = ControlCall::join, .rank = -1}), ControlStatus::refused, "rank -1");
  expect_reply(ask({.call = ControlCall::join, .rank = 1, .size = 4, .name = "b"}), ControlStatus::refused,
               "rank 1 on b says that there are 4 processes, the control plane was told 3");
  expect_reply(in_generation(ControlCall::barrier, 0, "x"), ControlStatus::refused, "has not joined");
  const Asked first = join(1);
  const Asked second = ask({.call = ControlCall::join, .rank = 1, .process = 7, .name = "z"});
  EXPECT_TRUE(second.open());  // the first one may have ended without that being seen yet
  after(1100ms);
  expect_reply(second, ControlStatus::refused, "two processes say that they are rank 1, on b and on z");
  EXPECT_TRUE(first.open());
}

/// A process that is killed and started again at once comes before the end of its connection is seen.
TEST_F(ControlStateTest, WhoIsStartedAgainMayComeBeforeTheOldConnectionEnds) {
  const auto again = [this](int rank, uint64_t process) {
    return ask({.call = ControlCall::join, .rank = rank, .process = process, .name = "again"});
  };
  const Asked killed = join(1), next = again(1, 7);
  const Asked zero = join(0), two = join(2);  // of the killed one the control plane does not know yet
  ASSERT_FALSE(zero.open());
  EXPECT_TRUE(next.open());
  generation_ = zero.reply().generation;
  const std::vector<Asked> watches = watch_all();
  after(100ms);
  EXPECT_TRUE(next.open());
  state_.cancel(watches[1].id, now_);  // now its connection ends
  after(100ms);
  expect_reply(watches[0], ControlStatus::lost, "rank 1 on b was started again");
  const Asked all[] = {join(0), join(2), next};
  for (const Asked& asked : all) {
    expect_reply(asked, ControlStatus::ok, "");
    EXPECT_EQ(asked.reply().generation, generation_ + 1);
  }
}

TEST_F(ControlStateTest, BarriersMeetAndNameWhoIsMissing) {
  join_all();
  const Asked x0 = in_generation(ControlCall::barrier, 0, "x"),
              y1 = in_generation(ControlCall::barrier, 1, "y");
  const Asked x1 = in_generation(ControlCall::barrier, 1, "x");
  EXPECT_TRUE(x0.open());
  const Asked x2 = in_generation(ControlCall::barrier, 2, "x");
  for (const Asked& asked : {x0, x1, x2}) EXPECT_EQ(asked.reply().status, ControlStatus::ok);
  in_generation(ControlCall::leave, 2);
  in_generation(ControlCall::watch, 0);
  in_generation(ControlCall::watch, 1);
  now_ += 4s;
  in_generation(ControlCall::watch, 0);
  in_generation(ControlCall::watch, 1);
  after(1s);
  expect_reply(y1, ControlStatus::timeout,
               "'y': 2 of 3 processes did not come in 5.0 s: rank 0 on a, rank 2 on c (has left)");
  const Asked twice = in_generation(ControlCall::barrier, 0, "z");
  expect_reply(in_generation(ControlCall::barrier, 0, "z"), ControlStatus::refused, "waits at 'z' twice");
}

TEST_F(ControlStateTest, KeysAreKeptAndWaitedFor) {
  const Asked waits = ask({.call = ControlCall::wait, .rank = 1, .name = "k"});
  EXPECT_FALSE(ask({.call = ControlCall::get, .name = "k"}).reply().found);
  ask({.call = ControlCall::set, .name = "k", .value = "v"});
  EXPECT_EQ(waits.reply().value, "v");
  EXPECT_EQ(ask({.call = ControlCall::get, .rank = 2, .name = "k"}).reply().value, "v");
  ask({.call = ControlCall::set, .name = "k", .value = "w"});
  EXPECT_EQ(ask({.call = ControlCall::wait, .name = "k"}).reply().value, "w");
  const Asked never = ask({.call = ControlCall::wait, .name = "other"});
  after(5s);
  expect_reply(never, ControlStatus::timeout, "nobody set the key 'other' in 5.0 s");
}

TEST_F(ControlStateTest, AnAbortReachesAllAndTheFirstTextStays) {
  join_all();
  const std::vector<Asked> watches = watch_all();
  const Asked waits = in_generation(ControlCall::barrier, 0, "x");
  in_generation(ControlCall::abort, 2, "", "replica 1: no memory");
  for (const Asked& asked : {watches[0], watches[1], waits}) {
    expect_reply(asked, ControlStatus::aborted, "rank 2 on c: replica 1: no memory");
    EXPECT_EQ(asked.reply().rank, 2);
  }
  in_generation(ControlCall::abort, 0, "", "another");
  expect_reply(in_generation(ControlCall::barrier, 1, "y"), ControlStatus::aborted, "no memory");
  join_all();
  EXPECT_EQ(generation_, 2u);
  EXPECT_TRUE(in_generation(ControlCall::barrier, 1, "y").open());
  generation_ = 1;
  expect_reply(in_generation(ControlCall::barrier, 1, "y"), ControlStatus::aborted,
               "generation 1 is over, this is 2");
}

TEST_F(ControlStateTest, WhoIsNotHeardOfIsLost) {
  join_all();
  std::vector<Asked> watches = watch_all();
  after(1s);
  for (const Asked& asked : watches) EXPECT_EQ(asked.reply().status, ControlStatus::ok);
  Asked first;
  for (int i = 0; i < 2; ++i) {
    first = in_generation(ControlCall::watch, 0);
    in_generation(ControlCall::watch, 1);
    after(1s);
  }
  first = in_generation(ControlCall::watch, 0);
  EXPECT_TRUE(first.open());
  after(100ms);
  expect_reply(first, ControlStatus::lost, "rank 2 on c was lost: not heard of for 3.1 s");
  EXPECT_EQ(first.reply().rank, 2);
}

TEST_F(ControlStateTest, WhoseConnectionClosesIsLostSoon) {
  join_all();
  const std::vector<Asked> watches = watch_all();
  state_.cancel(watches[1].id, now_);
  after(400ms);
  const Asked back = in_generation(ControlCall::watch, 1);  // it was only the connection
  after(200ms);
  EXPECT_TRUE(watches[0].open());
  state_.cancel(back.id, now_);
  after(600ms);
  expect_reply(watches[0], ControlStatus::lost, "rank 1 on b was lost: its connection closed");
}

TEST_F(ControlStateTest, WhoHasLeftIsNotLost) {
  join_all();
  const std::vector<Asked> watches = watch_all();
  in_generation(ControlCall::leave, 1);
  state_.cancel(watches[1].id, now_);
  after(900ms);
  EXPECT_TRUE(watches[0].open());
}

TEST_F(ControlStateTest, AProcessThatWasStartedAgainBeginsAGeneration) {
  join_all();
  const std::vector<Asked> watches = watch_all();
  state_.cancel(watches[1].id, now_);
  const Asked newcomer = ask({.call = ControlCall::join, .rank = 1, .process = 9, .name = "b"});
  expect_reply(watches[0], ControlStatus::lost, "rank 1 on b was started again");
  join(0);
  EXPECT_TRUE(newcomer.open());
  join(2);
  EXPECT_EQ(newcomer.reply().generation, 2u);
}

/// The answer to a join may be lost with its connection: asking again gives the same.
TEST_F(ControlStateTest, JoiningTwiceIsOnce) {
  join_all();
  generation_ = 0;
  const Asked again = join(1);
  EXPECT_EQ(again.reply().status, ControlStatus::ok);
  EXPECT_EQ(again.reply().generation, 1u);
  EXPECT_EQ(again.reply().members.size(), 3u);
}

TEST_F(ControlStateTest, NoticesReachWatchesOnce) {
  join_all();
  const std::vector<Asked> watches = watch_all();
  ask({.call = ControlCall::preempt, .rank = 1, .name = "b", .value = "SIGTERM"});
  EXPECT_EQ(watches[0].reply().value, "rank 1 on b: SIGTERM");
  EXPECT_EQ(watches[0].reply().notices, 1u);
  EXPECT_EQ(in_generation(ControlCall::watch, 0).reply().notices, 1u);  // it does not say that it knows
  EXPECT_TRUE(ask({.call = ControlCall::watch, .rank = 0, .generation = 1, .seen = 1}).open());
}

TEST_F(ControlStateTest, ClosingAnswersAll) {
  const Asked waits = join(0);
  state_.close();
  expect_reply(waits, ControlStatus::closing, "the control plane is closing");
  expect_reply(join(1), ControlStatus::closing, "closing");
}

TEST_F(ControlStateTest, WhoWaitsForAKeyHearsOfTheEndToo) {
  join_all();
  in_generation(ControlCall::abort, 1, "", "no memory");
  const ControlRequest wait{.call = ControlCall::wait, .generation = generation_, .name = "k"};
  expect_reply(ask(wait), ControlStatus::aborted, "no memory");
  ask({.call = ControlCall::set, .generation = generation_, .name = "k", .value = "v"});
  EXPECT_EQ(ask(wait).reply().value, "v");
  const ControlRequest old = wait;
  join_all();
  expect_reply(ask(old), ControlStatus::aborted, "generation 1 is over, this is 2");
}

TEST_F(ControlStateTest, AnAbortForGoodEndsItsProcessesButNotThoseInTheirPlace) {
  join_all();
  in_generation(ControlCall::abort, 0, "", "rank 2 is lost");
  const Asked waits = join(1);
  in_generation(ControlCall::abort, 2, kForGood, "a callback: no disk");
  expect_reply(waits, ControlStatus::over, "rank 2 on c: a callback: no disk");
  expect_reply(join(0), ControlStatus::over, "no disk");
  expect_reply(in_generation(ControlCall::barrier, 0, "x"), ControlStatus::over, "no disk");
  std::vector<Asked> others;
  for (int rank = 0; rank < 3; ++rank)
    others.push_back(
        ask({.call = ControlCall::join, .rank = rank, .process = 50 + static_cast<uint64_t>(rank)}));
  EXPECT_EQ(others[0].reply().generation, 2u);
}

TEST_F(ControlStateTest, WhoDiffersDoesNotKeepTheOthersFromGoingOn) {
  for (int rank = 0; rank < 3; ++rank) join(rank, {{"version", "1"}});
  generation_ = 1;
  expect_reply(
      ask({.call = ControlCall::join, .rank = 2, .process = 9, .name = "z", .facts = {{"version", "2"}}}),
      ControlStatus::refused, "'version': rank 0 on a has '1', rank 2 on z has '2'");
  EXPECT_TRUE(in_generation(ControlCall::barrier, 0, "x").open());
}

TEST_F(ControlStateTest, WhoHasLeftComesAgainWithAnotherStrategy) {
  join_all();
  EXPECT_TRUE(state_.is_needed());
  const Asked waits = in_generation(ControlCall::watch, 0);
  for (int rank : {1, 2}) in_generation(ControlCall::leave, rank);
  const auto next = [&](int rank) {
    return ask({.call = ControlCall::join, .rank = rank, .process = 50 + static_cast<uint64_t>(rank)});
  };
  const Asked first = next(1), second = next(2);
  EXPECT_TRUE(waits.open());  // still at its last step
  in_generation(ControlCall::leave, 0);
  EXPECT_FALSE(state_.is_needed());
  next(0);
  EXPECT_EQ(first.reply().generation, 2u);
  EXPECT_EQ(second.reply().rank, 2);
}

/// Ranks 0 and 2 ask for the next generation, rank 1 does not: it is not heard of for three heartbeats, and
/// then waited for.
TEST_F(ControlStateTest, AFrozenProcessIsLeftBehind) {
  join_all();
  watch_all();
  after(1s);
  in_generation(ControlCall::abort, 0, "", "rank 1 does not answer");
  join_ms_ = 60'000;
  join(0);
  join(2);
  after(31'900ms);
  EXPECT_TRUE(state_.left_behind(now_).empty());
  after(200ms);
  const std::vector<SilentProcess> silent = state_.left_behind(now_);
  ASSERT_EQ(silent.size(), 1u);
  EXPECT_EQ(silent[0].rank, 1);
  EXPECT_EQ(silent[0].silence, 33'100ms);
  state_.excuse(3s);  // it was the control plane that did not run
  EXPECT_TRUE(state_.left_behind(now_).empty());
  after(3s);
  EXPECT_EQ(state_.left_behind(now_).size(), 1u);
  state_.process_ended(1, "was ended by SIGKILL", true, now_);
  EXPECT_TRUE(state_.left_behind(now_).empty());
}

/// Before they give up themselves, after 5 s.
TEST_F(ControlStateTest, OthersThatWaitShortlyDoNotWaitInVain) {
  join_all();
  watch_all();
  after(1s);
  in_generation(ControlCall::abort, 0, "", "rank 1 does not answer");
  join(0);
  join(2);
  after(4400ms);
  EXPECT_TRUE(state_.left_behind(now_).empty());
  after(200ms);
  EXPECT_EQ(state_.left_behind(now_).size(), 1u);
}

TEST_F(ControlStateTest, WhoHasWaitedForLongIsNotFrozen) {
  join_ms_ = 60'000;
  const Asked late = join(2);
  after(60s);
  expect_reply(late, ControlStatus::timeout, "did not come");
  EXPECT_TRUE(state_.left_behind(now_).empty());
  const Asked waits = join(0);
  after(50s);
  state_.process_ended(1, "was ended by SIGKILL", false, now_);
  expect_reply(waits, ControlStatus::lost, "rank 1 was ended by SIGKILL");
  for (const SilentProcess& silent : state_.left_behind(now_)) EXPECT_NE(silent.rank, 0);
}

TEST_F(ControlStateTest, WhoDoesOtherWorkIsNotFrozen) {
  join_all();
  in_generation(ControlCall::abort, 0, "", "rank 1 does not answer");
  join_ms_ = 60'000;
  join(0);
  join(2);
  for (int i = 0; i < 40; ++i) {
    after(1s);
    expect_reply(in_generation(ControlCall::watch, 1), ControlStatus::aborted, "does not answer");
    EXPECT_TRUE(state_.left_behind(now_).empty());
  }
  in_generation(ControlCall::leave, 1);
  after(40s);
  for (const SilentProcess& silent : state_.left_behind(now_)) EXPECT_NE(silent.rank, 1);
}

/// A second process with its rank is refused, and the first one is heard as before.
TEST_F(ControlStateTest, WhoIsRefusedDoesNotTakeALife) {
  join_all();
  watch_all();
  ask({.call = ControlCall::join, .rank = 1, .process = 9, .name = "z"});
  in_generation(ControlCall::abort, 0, "", "no memory");
  after(10s);
  in_generation(ControlCall::watch, 1);
  for (const SilentProcess& silent : state_.left_behind(now_)) EXPECT_NE(silent.rank, 1);
}

TEST_F(ControlStateTest, WhoseProcessEndsIsLostAtOnce) {
  join_all();
  const std::vector<Asked> watches = watch_all();
  state_.process_ended(1, "ended with status 0", false, now_);
  expect_reply(watches[0], ControlStatus::lost, "rank 1 on b was lost: it ended with status 0");
  EXPECT_EQ(watches[0].reply().rank, 1);
  expect_reply(join(0), ControlStatus::lost,
               "rank 1 ended with status 0, and no other process is started in its place: 2 of 3 processes "
               "are left, 3 are needed");
}

TEST_F(ControlStateTest, NobodyWaitsForProcessesThatDoNotCome) {
  const Asked waits = join(0);
  state_.process_ended(1, "ended with status 1", true, now_);
  EXPECT_TRUE(waits.open());
  state_.process_ended(2, "ended with status 2", false, now_);
  expect_reply(waits, ControlStatus::lost, "rank 2 ended with status 2");
}

TEST_F(ControlStateTest, WhoHasLeftMayEnd) {
  join_all();
  const std::vector<Asked> watches = watch_all();
  EXPECT_FALSE(state_.has_left(1));
  in_generation(ControlCall::leave, 1);
  EXPECT_TRUE(state_.has_left(1));
  state_.process_ended(1, "ended with status 0", false, now_);
  EXPECT_TRUE(watches[0].open());
}

/// Two or three processes may train.
class ElasticControlState : public ControlStateTest {
 protected:
  ElasticControlState() : ControlStateTest({.size = 3, .min_size = 2, .token = "secret", .heartbeat = 1s}) {
    join_ms_ = 40'000;
  }

  void lose_rank_0() {
    join_all();
    in_generation(ControlCall::abort, 1, "", "rank 0 is gone");
  }
};

TEST_F(ElasticControlState, EnoughGoOnWithoutTheOthersAfterATime) {
  lose_rank_0();
  const Asked c = join(2);
  after(2s);
  const Asked b = join(1);
  after(27900ms);
  EXPECT_TRUE(c.open() && b.open());
  after(100ms);  // 30 s since the first one came
  EXPECT_EQ(b.reply().generation, 2u);
  EXPECT_EQ(b.reply().rank, 0);
  EXPECT_EQ(c.reply().rank, 1);
  ASSERT_EQ(c.reply().members.size(), 2u);
  EXPECT_EQ(c.reply().members[1].host, "c");
  generation_ = 2;
  const Asked x = in_generation(ControlCall::barrier, 1, "x");
  EXPECT_TRUE(x.open());
  expect_reply(in_generation(ControlCall::barrier, 2, "x"), ControlStatus::ok, "");
  EXPECT_EQ(x.reply().status, ControlStatus::ok);
  const Asked waits = in_generation(ControlCall::barrier, 2, "y");
  in_generation(ControlCall::abort, 1, "", "no memory");
  expect_reply(waits, ControlStatus::aborted, "rank 0 on b (started as rank 1): no memory");
}

TEST_F(ElasticControlState, TooFewWait) {
  lose_rank_0();
  const Asked c = join(2);
  after(100ms);
  EXPECT_TRUE(c.open());
  for (int i = 0; i < 4; ++i) after(10s);
  expect_reply(c, ControlStatus::timeout, "2 of 3 processes did not come");
  const Asked again = join(2);
  after(31s);
  const Asked b = join(1);  // has the time already passed, two are enough at once
  EXPECT_EQ(b.reply().generation, 2u);
  EXPECT_EQ(again.reply().members.size(), 2u);
}

TEST_F(ElasticControlState, ALateComerEndsTheGenerationOfTheOthers) {
  lose_rank_0();
  join(2);
  join(1);
  after(30s);
  generation_ = 2;
  const Asked waits = in_generation(ControlCall::barrier, 1, "x");
  const Asked late = ask({.call = ControlCall::join, .rank = 0, .process = 77, .name = "d"});
  EXPECT_TRUE(waits.open() && late.open());  // they are not ready for it
  in_generation(ControlCall::set, 1, kTakesNewcomers, "1");
  expect_reply(waits, ControlStatus::aborted, "a process on d (started as rank 0) has come");
  join(1);
  EXPECT_TRUE(late.open());
  const Asked last = join(2);
  EXPECT_EQ(late.reply().rank, 0);
  EXPECT_EQ(last.reply().rank, 2);
  EXPECT_EQ(last.reply().generation, 3u);
}

TEST_F(ElasticControlState, ALateComerWaitsUntilItIsTakenIn) {
  lose_rank_0();
  join(2);
  join(1);
  after(30s);
  generation_ = 2;
  in_generation(ControlCall::set, 1, kTakesNewcomers, "1");
  in_generation(ControlCall::set, 1, kTakesNewcomers, "0");
  const Asked late = ask({.call = ControlCall::join, .rank = 0, .process = 77, .name = "d"});
  const Asked b = in_generation(ControlCall::barrier, 1, "x");
  for (int i = 0; i < 39; ++i) {
    in_generation(ControlCall::watch, 1);
    in_generation(ControlCall::watch, 2);
    after(1s);
  }
  EXPECT_TRUE(late.open());
  after(1s);
  expect_reply(late, ControlStatus::timeout, "the others have begun without this process");
  const Asked again = ask({.call = ControlCall::join, .rank = 0, .process = 77, .name = "d"});
  in_generation(ControlCall::leave, 1);
  EXPECT_TRUE(again.open());
  in_generation(ControlCall::leave, 2);  // nobody is left whom it could disturb
  after(30s);
  EXPECT_TRUE(again.open());
  const Asked next = ask({.call = ControlCall::join, .rank = 1, .process = 78, .name = "e"});
  after(0s);
  EXPECT_EQ(next.reply().generation, 3u);
}

TEST_F(ElasticControlState, NobodyWaitsLongerForProcessesThatDoNotCome) {
  lose_rank_0();
  join(2);
  const Asked last = join(1);
  after(1s);
  EXPECT_TRUE(last.open());
  state_.process_ended(0, "was ended by SIGKILL", false, now_);
  EXPECT_EQ(last.reply().generation, 2u);
  const Asked late = ask({.call = ControlCall::join, .rank = 0, .process = 77, .name = "d"});
  EXPECT_TRUE(late.open());  // somebody else started it
}

/// As ElasticControlState, where the processes elect who serves; two of them know of a generation before.
class ElectedControlState : public ControlStateTest {
 protected:
  explicit ElectedControlState(int min_size = 2)
      : ControlStateTest(
            {.size = 3, .min_size = min_size, .token = "secret", .heartbeat = 1s, .is_elected = true}) {
    join_ms_ = 40'000;
  }
  /// A process that was in generation 4, of processes 100 to 102, or is new.
  Asked join_from(int rank, bool is_new = false) {
    ControlRequest request{.call = ControlCall::join,
                           .rank = rank,
                           .process = is_new ? 900u + static_cast<uint64_t>(rank) : 0u,
                           .name = std::string(1, static_cast<char>('a' + rank))};
    if (!is_new) {
      request.generation = 4;
      request.bases = {{.generation = 4, .is_established = true, .processes = {100, 101, 102}}};
    }
    return ask(std::move(request));
  }
  Asked find() { return ask({.call = ControlCall::find, .rank = 2}); }
};

TEST_F(ElectedControlState, WhoStandsBySaysWhoServes) {
  expect_reply(find(), ControlStatus::elsewhere, "it does not serve");
  expect_reply(join_from(1), ControlStatus::elsewhere, "");
  state_.stand_by(1, "b:1", 4);
  const Asked found = find();
  expect_reply(found, ControlStatus::elsewhere, "b:1");
  EXPECT_EQ(found.reply().value, "b:1");
  EXPECT_EQ(found.reply().rank, 1);
  EXPECT_EQ(found.reply().generation, 4u);
  state_.serve(4);
  expect_reply(find(), ControlStatus::ok, "");
  EXPECT_FALSE(find().reply().found);
  const Asked waits = join_from(1);
  EXPECT_EQ(state_.absent_ranks(), (std::vector<int>{0, 2}));
  state_.stand_by(0, "a:1", 4);
  expect_reply(waits, ControlStatus::elsewhere, "a:1");
  EXPECT_TRUE(state_.absent_ranks().empty());
  expect_reply(ask({.call = ControlCall::find, .rank = 2, .token = "wrong"}), ControlStatus::refused,
               "wrong token");
}

TEST_F(ElectedControlState, AMajorityOfTheLastGenerationGoesOn) {
  state_.serve(4);
  const Asked b = join_from(1), c = join_from(2);
  after(29900ms);
  EXPECT_TRUE(b.open() && c.open());
  after(100ms);
  EXPECT_EQ(b.reply().generation, 5u);
  EXPECT_EQ(b.reply().rank, 0);
  EXPECT_EQ(c.reply().members[0].started_as, 1);
  EXPECT_EQ(c.reply().members[0].process, 101u);
  EXPECT_TRUE(find().reply().found);
}

TEST_F(ElectedControlState, WhoHasEndedIsNotWaitedFor) {
  state_.serve(4);
  const Asked b = join_from(1), c = join_from(2);
  state_.note_dead({0}, {}, now_);  // another one is to come in its place
  EXPECT_TRUE(b.open());
  state_.note_dead({0}, {0}, now_);
  EXPECT_EQ(c.reply().generation, 5u);
}

TEST_F(ElectedControlState, OneThatIsNewDoesNotMakeAMajority) {
  state_.serve(0);
  const Asked a = join_from(0, true), b = join_from(1);
  after(31s);
  EXPECT_TRUE(a.open() && b.open());
  after(10s);
  expect_reply(b, ControlStatus::timeout,
               "1 of 3 processes did not come in 40.0 s: rank 2. Without a majority of generation 4 (1 of 3");
}

TEST_F(ElectedControlState, AllAreEnoughWhateverTheyKnow) {
  state_.serve(0);
  join_from(0, true);
  join_from(1, true);
  EXPECT_EQ(join_from(2).reply().generation, 5u);
}

class LoneControlState : public ElectedControlState {
 protected:
  LoneControlState() : ElectedControlState(1) {}
};

TEST_F(LoneControlState, OneGoesOnAloneOnlyWhereAllOthersHaveEnded) {
  state_.serve(4);
  const Asked c = join_from(2);
  after(31s);
  EXPECT_TRUE(c.open());
  state_.note_dead({1}, {1}, now_);
  EXPECT_TRUE(c.open());
  state_.note_dead({0, 1}, {0, 1}, now_);
  EXPECT_EQ(c.reply().generation, 5u);
}

TEST_F(LoneControlState, AFirstGenerationNeedsAMajorityOfAll) {
  state_.serve(0);
  const Asked a = join_from(0, true);
  after(31s);
  EXPECT_TRUE(a.open());
  join_from(1, true);
  after(0s);
  EXPECT_EQ(a.reply().generation, 1u);
}

TEST_F(LoneControlState, WhatItServedBeforeIsOver) {
  state_.serve(0);
  join_from(0, true), join_from(1, true), join_from(2, true);
  EXPECT_TRUE(find().reply().found);
  EXPECT_TRUE(state_.is_needed());
  state_.stand_by(1, "b:1", 7);
  EXPECT_FALSE(state_.is_needed());
  state_.serve(7);
  EXPECT_FALSE(find().reply().found);
  join_from(0, true), join_from(1, true);
  EXPECT_EQ(join_from(2, true).reply().generation, 8u);
}

TEST(ControlSecret, SameSecret) {
  EXPECT_TRUE(same_secret("", ""));
  EXPECT_TRUE(same_secret("abc", "abc"));
  for (const char* other : {"", "ab", "abcd", "abd", "Abc"}) EXPECT_FALSE(same_secret(other, "abc")) << other;
}

}  // namespace
}  // namespace nyala::detail
