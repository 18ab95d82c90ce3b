// What happens when ranks do not do the same: a typed error on all of them, in time, and for ever.
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/tests/conformance/communicators/ranks.h>

namespace nyala::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

void sum(Communicator& all, int64_t count, const CollectiveOptions& how = {}) {
  std::vector<float> values(static_cast<size_t>(count), 1.f);
  all.all_reduce({values.data(), count, DType::float32}, CollectiveOp::sum, how);
}

class CommunicatorFailures : public Communicators {
 protected:
  /// Every rank ends with CommunicationError, and is dead afterwards.
  static std::vector<RankEnd> fails(int size, const RankBody& body,
                                    milliseconds timeout = milliseconds(20'000)) {
    CommunicatorOptions options = group_of(size);
    options.timeout = timeout;
    const auto ranks = GetParam().make(options);
    const std::vector<RankEnd> ends = run_ranks(ranks, body);
    for (size_t rank = 0; rank < ends.size(); ++rank) {
      EXPECT_TRUE(ends[rank].ended_with<CommunicationError>()) << "rank " << rank;
      EXPECT_THAT(ends[rank].text(),
                  HasSubstr("rank " + std::to_string(rank) + " of " + std::to_string(size)));
      EXPECT_TRUE(ranks[rank]->failed());
      EXPECT_THAT(ranks[rank]->describe(), HasSubstr("dead: " + ranks[rank]->failure()));
      for (const int again : {0, 1}) {
        try {
          sum(*ranks[rank], 3);
          ADD_FAILURE() << "a dead communicator of rank " << rank << " works, try " << again;
        } catch (const CommunicationError& error) {
          EXPECT_THAT(error.what(), AllOf(HasSubstr("is dead"), HasSubstr(ranks[rank]->failure())));
        }
      }
    }
    return ends;
  }
};

TEST_P(CommunicatorFailures, DifferentSizes) {
  for (const int64_t large : {11, 5000, 2'000'000}) {
    const auto ends = fails(2, [&](Communicator& all) { sum(all, all.rank() == 0 ? 10 : large); });
    EXPECT_THAT(
        ends[0].text() + ends[1].text(),
        AllOf(HasSubstr("sum of 10 float32"), HasSubstr("sum of " + std::to_string(large) + " float32")));
  }
}

TEST_P(CommunicatorFailures, OneOfThreeHasAnotherSize) {
  fails(3, [](Communicator& all) { sum(all, all.rank() == 2 ? 100'000 : 200'000); });
}

TEST_P(CommunicatorFailures, DifferentDTypesOpsAndNames) {
  fails(2, [](Communicator& all) {
    int64_t words[2] = {1, 2};
    all.all_reduce({words, all.rank() == 0 ? 1 : 2, all.rank() == 0 ? DType::int64 : DType::int32},
                   CollectiveOp::sum);
  });
  fails(2, [](Communicator& all) {
    float one = 1;
    all.all_reduce({&one, 1, DType::float32}, all.rank() == 0 ? CollectiveOp::sum : CollectiveOp::max);
  });
  const auto ends = fails(
      2, [](Communicator& all) { sum(all, 7, {.what = all.rank() == 0 ? "gradients 3" : "gradients 4"}); });
  EXPECT_THAT(ends[0].text() + ends[1].text(), AllOf(HasSubstr("'gradients 3'"), HasSubstr("'gradients 4'")));
}

TEST_P(CommunicatorFailures, DifferentOrder) {
  const auto ends = fails(3, [](Communicator& all) {
    all.barrier();
    std::vector<std::byte> data(100'000);
    for (int call = 0; call < 2; ++call) {
      if (call == (all.rank() == 1 ? 0 : 1))
        all.broadcast(data, 0);
      else
        sum(all, 100'000);
    }
  });
  EXPECT_THAT(ends[1].text(), HasSubstr("broadcast"));
}

TEST_P(CommunicatorFailures, UnevenGatherWithOtherSizes) {
  fails(2, [](Communicator& all) {
    const std::vector<int64_t> sizes =
        all.rank() == 0 ? std::vector<int64_t>{4, 8} : std::vector<int64_t>{6, 6};
    const std::vector<std::byte> mine(static_cast<size_t>(sizes[static_cast<size_t>(all.rank())]));
    std::vector<std::byte> gathered(12);
    all.all_gather_v(mine, sizes, gathered);
  });
}

TEST_P(CommunicatorFailures, ARankThatIsLate) {
  CommunicatorOptions options = group_of(3);
  options.timeout = milliseconds(300);
  const auto ranks = GetParam().make(options);
  const auto ends = run_ranks(ranks, [](Communicator& all) {
    if (all.rank() == 1) std::this_thread::sleep_for(milliseconds(1500));
    sum(all, 5, {.what = "loss"});
  });
  for (const RankEnd& end : ends) {
    EXPECT_TRUE(end.ended_with<CommunicationError>());
    EXPECT_LT(end.seconds, 3);
  }
  for (const size_t rank : {0, 2}) {
    EXPECT_GT(ends[rank].seconds, 0.25);
    EXPECT_THAT(ends[rank].text(),
                AllOf(HasSubstr("'loss'"), HasSubstr("rank 1"), ::testing::ContainsRegex("after [0-9.]+ s")));
  }
  EXPECT_TRUE(ends[0].ended_with<TimeoutError>() || ends[2].ended_with<TimeoutError>());
}

TEST_P(CommunicatorFailures, ACallsOwnTimeout) {
  const auto ends = fails(2, [](Communicator& all) {
    sum(all, 5);
    if (all.rank() == 1) std::this_thread::sleep_for(milliseconds(1000));
    sum(all, 5, {.timeout = milliseconds(200)});
  });
  EXPECT_TRUE(ends[0].ended_with<TimeoutError>());
  EXPECT_LT(ends[0].seconds, 0.8);
}

TEST_P(CommunicatorFailures, AbortWakesThoseWhoWait) {
  for (const int by : {0, 1, 2}) {
    const auto ends = fails(3, [&](Communicator& all) {
      std::thread beside;
      if (all.rank() == by) {
        beside = std::thread([&] {
          std::this_thread::sleep_for(milliseconds(200));
          all.abort("replica 1 threw: no memory");
        });
      }
      try {
        sum(all, 5);
        if (all.rank() == 1) std::this_thread::sleep_for(milliseconds(400));  // busy with something else
        sum(all, 100'000);
        if (all.rank() == 0) std::this_thread::sleep_for(milliseconds(900));
        sum(all, 7);
        std::this_thread::sleep_for(milliseconds(900));
        sum(all, 7);
      } catch (...) {
        if (beside.joinable()) beside.join();
        throw;
      }
      if (beside.joinable()) beside.join();
    });
    for (const RankEnd& end : ends) {
      EXPECT_THAT(end.text(),
                  HasSubstr("rank " + std::to_string(by) + " aborted: replica 1 threw: no memory"));
      EXPECT_LT(end.seconds, 4);
    }
  }
}

TEST_P(CommunicatorFailures, AbortOutsideOfACall) {
  const auto ends = fails(2, [](Communicator& all) {
    sum(all, 5);
    if (all.rank() == 0) {
      all.abort("no more rows");
      all.abort("a second reason");
    }
    sum(all, 5);
  });
  for (const RankEnd& end : ends) {
    EXPECT_THAT(end.text(), HasSubstr("no more rows"));
    EXPECT_THAT(end.text(), Not(HasSubstr("second")));
  }
}

/// A peer that ends is no timeout.
TEST_P(CommunicatorFailures, ARankThatCloses) {
  auto ranks = GetParam().make(group_of(2));
  std::thread closing([&] {
    std::this_thread::sleep_for(milliseconds(200));
    ranks[1].reset();
  });
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_THROW(ranks[0]->barrier(), PeerLostError);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(2));
  EXPECT_THROW(ranks[0]->barrier(), PeerLostError);
  EXPECT_EQ(ranks[0]->lost_rank(), 1);
  closing.join();
}

/// The last call is done, though the others close at once behind it.
TEST_P(CommunicatorFailures, ClosingBehindTheLastCall) {
  for (int round = 0; round < 10; ++round) {
    auto ranks = GetParam().make(group_of(3));
    const auto ends = run_ranks(ranks, [&](Communicator& all) {
      sum(all, round % 2 == 0 ? 10 : 50'000);
      ranks[static_cast<size_t>(all.rank())].reset();
    });
    for (const RankEnd& end : ends) end.rethrow();
  }
}

TEST_P(CommunicatorFailures, WrongArgumentsKillNothing) {
  on(2, [](Communicator& all) {
    float one = 1;
    std::vector<std::byte> bytes(8);
    EXPECT_THROW(all.all_reduce({&one, -1, DType::float32}, CollectiveOp::sum), InvalidArgumentError);
    EXPECT_THROW(all.all_reduce({nullptr, 1, DType::float32}, CollectiveOp::sum), InvalidArgumentError);
    EXPECT_THROW(all.all_reduce({bytes.data() + 1, 1, DType::float32}, CollectiveOp::sum),
                 InvalidArgumentError);
    EXPECT_THROW(all.all_reduce({&one, int64_t{1} << 62, DType::float32}, CollectiveOp::sum),
                 InvalidArgumentError);
    EXPECT_THROW(all.all_gather(bytes, bytes), InvalidArgumentError);
    EXPECT_THROW(all.all_gather_v(bytes, std::vector<int64_t>{8}, bytes), InvalidArgumentError);
    EXPECT_THROW(all.all_gather_v(bytes, std::vector<int64_t>{-8, 16}, bytes), InvalidArgumentError);
    EXPECT_THROW(all.all_gather_v(bytes, std::vector<int64_t>{4, 4}, bytes), InvalidArgumentError);
    EXPECT_THROW(all.broadcast(bytes, 2), InvalidArgumentError);
    EXPECT_THROW(all.broadcast(bytes, -1), InvalidArgumentError);
    EXPECT_THROW(all.barrier({.timeout = milliseconds(0)}), InvalidArgumentError);
    EXPECT_FALSE(all.failed());
    all.all_reduce({&one, 1, DType::float32}, CollectiveOp::sum);
    EXPECT_EQ(one, 2);
  });
}

TEST_P(CommunicatorFailures, OneRankCanDieAlone) {
  const auto ranks = GetParam().make(group_of(1));
  sum(*ranks[0], 5);
  ranks[0]->abort("enough");
  EXPECT_THROW(sum(*ranks[0], 5), CommunicationError);
  EXPECT_THAT(ranks[0]->failure(), HasSubstr("enough"));
}

TEST_P(CommunicatorFailures, DescribeNamesTheGroup) {
  const auto ranks =
      GetParam().make({.size = 2, .generation = 12, .name = "steps", .timeout = milliseconds(1500)});
  EXPECT_THAT(ranks[1]->describe(),
              AllOf(HasSubstr("'steps', rank 1 of 2 on "), HasSubstr(", generation 12, timeout 1.5 s")));
}

TEST(CommunicatorOptionsTest, SayWhatIsWrong) {
  const auto make = [](CommunicatorOptions options) { communicator_kinds()[0].make(options); };
  EXPECT_THROW(make({.size = 0}), InvalidArgumentError);
  EXPECT_THROW(make({.size = 100'000}), InvalidArgumentError);
  EXPECT_THROW(make({.size = 2, .name = "a/b"}), InvalidArgumentError);
  EXPECT_THROW(make({.size = 2, .name = ""}), InvalidArgumentError);
  EXPECT_THROW(make({.size = 2, .timeout = milliseconds(0)}), InvalidArgumentError);
}

INSTANTIATE_TEST_SUITE_P(All, CommunicatorFailures, ::testing::ValuesIn(communicator_kinds()),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace nyala::testing
