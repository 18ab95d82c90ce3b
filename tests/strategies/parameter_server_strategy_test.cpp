#include <chrono>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/strategies/cluster/simple_cluster_resolver.h>
#include <nyala/strategies/parameter_server_strategy.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::parameter_server_strategy_test {
namespace {

using testing::HasSubstr;
using Config = ParameterServerStrategyConfig;

/// Before anybody is connected to.
TEST(ParameterServerStrategyConfig, RefusesWhatMeansNothing) {
  const SimpleClusterResolver place(
      {.cluster_spec =
           ClusterSpec({{"chief", {"127.0.0.1:1"}}, {"worker", {"127.0.0.1:2"}}, {"ps", {"127.0.0.1:3"}}}),
       .task_type = "chief",
       .task_id = 0});
  for (const auto& [config, text] :
       {std::pair(Config{.staleness = -2}, "expected staleness of 0 or more, or -1 for any, received -2"),
        std::pair(Config{.timeout = std::chrono::milliseconds(0)}, "a timeout above 0, received 0 ms"),
        std::pair(Config{.lease = std::chrono::milliseconds(-5)}, "a lease above 0, received -5 ms"),
        std::pair(Config{.snapshot_interval = std::chrono::milliseconds(0)}, "a snapshot_interval above 0"),
        std::pair(Config{.staleness = 1, .synchronous = true}, "synchronous training has no staleness"),
        std::pair(Config{.backup_workers = 1}, "set synchronous, too"),
        std::pair(Config{.synchronous = true, .backup_workers = -1}, "backup_workers of 0 or more"),
        std::pair(Config{.synchronous = true, .backup_workers = 1},
                  "fewer backup_workers than the 1 worker")}) {
    Config here = config;
    here.cluster_resolver = place;
    EXPECT_THAT(error_text<InvalidArgumentError>([&] { ParameterServerStrategy strategy(here); }),
                HasSubstr(text));
  }
}

}  // namespace
}  // namespace nyala::parameter_server_strategy_test
