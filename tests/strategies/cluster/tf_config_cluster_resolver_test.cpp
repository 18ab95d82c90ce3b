#include <nyala/strategies/cluster/tf_config_cluster_resolver.h>

#include <nyala/strategies/cluster/cluster_task.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {
namespace {

TFConfigClusterResolver resolver(const std::string& text, TFConfigClusterResolverConfig config = {}) {
  config.environment = Environment({{"TF_CONFIG", text}});
  return TFConfigClusterResolver(config);
}

/// The answers of TensorFlow 2.21, which leaves out the protocol where nobody names one.
TEST(TFConfigClusterResolver, ReadsWhatTensorFlowReads) {
  const auto r = resolver(
      R"({"cluster": {"chief": ["c:1"], "worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": "1"}})");
  EXPECT_EQ(r.cluster_spec(), ClusterSpec({{"chief", {"c:1"}}, {"worker", {"a:1", "b:1"}}}));
  EXPECT_EQ(r.task_type(), "worker");
  EXPECT_EQ(r.task_id(), 1);
  EXPECT_EQ(r.rpc_layer(), "grpc");
  EXPECT_EQ(r.master(), "grpc://b:1");
  EXPECT_EQ(r.master({.task_type = "chief", .task_id = 0, .rpc_layer = "x"}), "x://c:1");
  EXPECT_FALSE(is_chief(r));
  EXPECT_EQ(resolver(R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}})").master(),
            "");
  EXPECT_EQ(resolver(R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0},
                         "session_master": "x"})")
                .master(),
            "x");
}

TEST(TFConfigClusterResolver, NothingIsOneProcess) {
  for (const char* text : {"", "{}", R"({"environment": "cloud"})"}) {
    const auto r = resolver(text);
    EXPECT_TRUE(r.cluster_spec().empty()) << text;
    EXPECT_EQ(r.task_type(), "");
    EXPECT_EQ(r.task_id(), -1);
    EXPECT_EQ(r.master(), "");
    EXPECT_TRUE(is_chief(r));
  }
}

TEST(TFConfigClusterResolver, ArgumentsComeFirst) {
  const auto r = resolver(R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "ps", "index": 5}})",
                          {.task_type = "worker", .task_id = 1, .rpc_layer = "other"});
  EXPECT_EQ(r.master(), "other://b:1");
}

TEST(TFConfigClusterResolver, OldAndOtherForms) {
  const auto old = resolver(
      R"({"cluster": {"master": ["m:1"], "worker": {"0": "a:1"}}, "task": {"type": "master", "index": 0}})");
  EXPECT_EQ(old.cluster_spec(), ClusterSpec({{"chief", {"m:1"}}, {"worker", {"a:1"}}}));
  EXPECT_EQ(old.task_type(), "chief");
  EXPECT_TRUE(is_chief(old));
  const auto evaluator =
      resolver(R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "evaluator", "index": 0}})");
  EXPECT_TRUE(is_chief(evaluator));
}

struct Wrong {
  const char* text;
  std::vector<std::string> parts;
};

TEST(TFConfigClusterResolver, EveryMistakeIsNamed) {
  const Wrong all[] = {
      {"{", {"TF_CONFIG: expected JSON, received '{'", "For example {"}},
      {"[]", {"TF_CONFIG: expected an object, received '[]'"}},
      {R"({"task": {}, "task": {}})", {"TF_CONFIG", "task"}},
      {R"({"cluster": []})",
       {"TF_CONFIG: cluster: expected an object from jobs to addresses, received '[]'"}},
      {R"({"cluster": {"worker": "a:1"}})", {"cluster.worker: expected a list of addresses", "a:1"}},
      {R"({"cluster": {"worker": [7]}})", {"cluster.worker[0]: expected a text, received '7'"}},
      {R"({"cluster": {"worker": {"x": "a:1"}}})",
       {"cluster.worker: an index: expected a whole number", "x"}},
      {R"({"cluster": {"worker": {"1": "a:1"}}, "task": {"type": "worker", "index": 1}})",
       {"indices 0 to 0"}},
      {R"({"cluster": {"chief": ["a:1"], "master": ["b:1"]}})", {"either 'chief' or 'master'"}},
      {R"({"cluster": {"worker": ["a:1"]}, "task": "worker"})",
       {"task: expected an object with type and index"}},
      {R"({"cluster": {"worker": ["a:1"]}})", {"task: expected the type and index of this process", "'{}'"}},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker"}})",
       {"task: expected the type and index"}},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": 3, "index": 0}})",
       {"task.type: expected a text"}},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": "x"}})",
       {"task.index", "\"x\""}},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": -1}})",
       {"task.index", "'-1'"}},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0.5}})",
       {"task.index", "'0.5'"}},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}})",
       {"TF_CONFIG: index of this task: expected 0 (job 'worker' has 1 task), received 1"}},
      {R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "chief", "index": 0}})",
       {"TF_CONFIG: type of this task: expected a job of the cluster ('worker'), received 'chief'"}},
      {R"({"cluster": {"wokrer": ["a:1"]}, "task": {"type": "worker", "index": 0}})", {"'wokrer'"}},
      {R"({"cluster": {"chief": ["a:1", "b:1"]}, "task": {"type": "chief", "index": 0}})", {"job 'chief'"}},
      {R"({"cluster": {"worker": ["a"]}, "task": {"type": "worker", "index": 0}})",
       {"TF_CONFIG: address of worker 0: expected an address host:port", "received 'a'"}},
      {R"({"cluster": {"worker": ["a:1", "a:1"]}, "task": {"type": "worker", "index": 0}})",
       {"worker 1", "'a:1'"}},
      {R"({"sparseCluster": {"worker": {"1": "a:1"}}, "task": {"type": "worker", "index": 1}})",
       {"sparseCluster", "enableDynamicWorker"}},
      {R"({"task": {"type": "worker", "index": 1}})", {"TF_CONFIG", "a cluster beside the task"}},
      {R"({"clusters": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}})",
       {"a cluster beside the task"}},
      {R"({"cluster": {}, "task": {"type": "worker", "index": 1}})", {"a cluster beside the task"}},
      {R"({"rpc_layer": 3})", {"TF_CONFIG: rpc_layer: expected a text, received '3'"}},
  };
  for (const Wrong& wrong : all) {
    SCOPED_TRACE(wrong.text);
    expect_error([&] { resolver(wrong.text); }, wrong.parts);
  }
}

}  // namespace
}  // namespace nyala
