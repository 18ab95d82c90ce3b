#include <nyala/strategies/cluster/union_resolver.h>

#include <nyala/strategies/cluster/simple_cluster_resolver.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {
namespace {

TEST(SimpleClusterResolver, SaysWhatItWasTold) {
  const SimpleClusterResolver r({.cluster_spec = ClusterSpec({{"worker", {"a:1", "b:1"}}}),
                                 .master = "m:9",
                                 .task_type = "worker",
                                 .task_id = 1,
                                 .num_accelerators = {{"GPU", 3}}});
  EXPECT_EQ(r.cluster_spec().num_tasks("worker"), 2);
  EXPECT_EQ(r.task_type(), "worker");
  EXPECT_EQ(r.task_id(), 1);
  EXPECT_EQ(r.num_accelerators(), (std::map<std::string, int>{{"GPU", 3}}));
  EXPECT_EQ(r.master(), "grpc://m:9");
  EXPECT_EQ(r.master({.task_type = "worker", .task_id = 0}), "grpc://a:1");
  EXPECT_EQ(SimpleClusterResolver().master(), "");
  EXPECT_TRUE(SimpleClusterResolver().num_accelerators().empty());
}

/// The answers of TensorFlow 2.21's UnionClusterResolver.
TEST(UnionResolver, IsTensorFlows) {
  const SimpleClusterResolver first({.cluster_spec = ClusterSpec({{"worker", {"a:1", "b:1"}}}),
                                     .master = "m:9",
                                     .task_type = "worker",
                                     .task_id = 1,
                                     .num_accelerators = {{"GPU", 3}}});
  const SimpleClusterResolver second({.cluster_spec = ClusterSpec({{"worker", {"c:1"}}, {"ps", {"p:1"}}})});
  const UnionResolver both({.resolvers = {first, second}});
  EXPECT_EQ(both.cluster_spec(), ClusterSpec({{"ps", {"p:1"}}, {"worker", {"a:1", "b:1", "c:1"}}}));
  EXPECT_EQ(both.task_type(), "worker");
  EXPECT_EQ(both.task_id(), 1);
  EXPECT_EQ(both.rpc_layer(), "grpc");
  EXPECT_EQ(both.master(), "grpc://m:9");
  EXPECT_EQ(both.master({.task_type = "worker", .task_id = 2}), "grpc://c:1");
  EXPECT_EQ(both.num_accelerators(), first.num_accelerators());
  const UnionResolver named({.resolvers = {first}, .rpc_layer = "x", .task_type = "ps", .task_id = 4});
  EXPECT_EQ(named.task_type(), "ps");
  EXPECT_EQ(named.task_id(), 4);
  EXPECT_EQ(named.rpc_layer(), "x");
}

TEST(UnionResolver, JobsWithIndicesLeftOutKeepThem) {
  const auto of = [](const ClusterSpec& spec) { return SimpleClusterResolver({.cluster_spec = spec}); };
  const auto last = ClusterSpec::sparse({{"worker", {{1, "a:1"}}}});
  EXPECT_EQ(UnionResolver({.resolvers = {of(last), of(ClusterSpec({{"worker", {"c:1"}}}))}}).cluster_spec(),
            ClusterSpec({{"worker", {"c:1", "a:1"}}}));
  const UnionResolver twice({.resolvers = {of(last), of(ClusterSpec({{"worker", {"c:1", "d:1"}}}))}});
  expect_error([&] { twice.cluster_spec(); }, {"two resolvers name task 1 of job 'worker'"});
  expect_error([] { UnionResolver({}); }, {"at least one resolver"});
  expect_error([] { UnionResolver({.resolvers = {ClusterResolverOption()}}); }, {"is empty"});
}

}  // namespace
}  // namespace nyala
