// Resolvers that read the variables of launchers, and the choice among them. The variables are those that the
// launchers were seen to set (srun 22.05.8, mpirun 4.1.4, mpiexec.hydra 4.0.2) or document (torchrun,
// Kubernetes).
#include <nyala/strategies/cluster/choose_cluster_resolver.h>

#include <nyala/strategies/cluster/cluster_task.h>
#include <nyala/strategies/cluster/kubernetes_cluster_resolver.h>
#include <nyala/strategies/cluster/mpi_cluster_resolver.h>
#include <nyala/strategies/cluster/slurm_cluster_resolver.h>
#include <nyala/strategies/cluster/torchrun_cluster_resolver.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {
namespace {

using Variables = Environment::Variables;

/// `variables` with some of another value; an empty one is not set.
Environment changed(Variables variables, const Variables& others = {}) {
  for (const auto& [name, value] : others) variables[name] = value;
  return Environment::of(variables);
}

const Variables& slurm() {
  static const auto& variables = *new Variables{{"SLURM_JOB_ID", "1000"},
                                                {"SLURM_STEP_ID", "2"},
                                                {"SLURM_PROCID", "3"},
                                                {"SLURM_STEP_NUM_TASKS", "5"},
                                                {"SLURM_STEP_NODELIST", "t02n[13,41],t03"},
                                                {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
                                                {"SLURM_NODEID", "1"}};
  return variables;
}

/// Addresses, task and master are those of TensorFlow 2.21's resolver for the same variables.
TEST(SlurmClusterResolver, IsTensorFlows) {
  const SlurmClusterResolver r({.jobs = {{"ps", 1}, {"worker", 4}},
                                .port_base = 8888,
                                .gpus_per_task = 1,
                                .environment = changed(slurm())});
  EXPECT_EQ(r.cluster_spec(),
            ClusterSpec({{"ps", {"t02n13:8888"}},
                         {"worker", {"t02n13:8889", "t02n41:8888", "t02n41:8889", "t03:8888"}}}));
  EXPECT_EQ(r.task_type(), "worker");
  EXPECT_EQ(r.task_id(), 2);
  EXPECT_EQ(r.master(), "grpc://t02n41:8889");
  EXPECT_EQ(r.num_accelerators(), (std::map<std::string, int>{{"GPU", 1}}));
}

TEST(SlurmClusterResolver, PortsFollowFromJobAndStep) {
  const auto first = [](const Variables& others) {
    return SlurmClusterResolver({.environment = changed(slurm(), others)})
        .cluster_spec()
        .task_address("worker", 0);
  };
  EXPECT_EQ(first({}), "t02n13:" + std::to_string(20000 + (3 * 1000 + 2) % 199 * 64));
  EXPECT_NE(first({}), first({{"SLURM_JOB_ID", "1001"}}));
  EXPECT_NE(first({}), first({{"SLURM_STEP_ID", "3"}}));
}

TEST(SlurmClusterResolver, CyclicDistribution) {
  const auto r = SlurmClusterResolver(
      {.port_base = 10,
       .environment = changed(slurm(), {{"SLURM_DISTRIBUTION", "cyclic"}, {"SLURM_NODEID", "0"}})});
  EXPECT_EQ(r.cluster_spec(),
            ClusterSpec({{"worker", {"t02n13:10", "t02n41:10", "t03:10", "t02n13:11", "t02n41:11"}}}));
}

TEST(SlurmClusterResolver, TakesVariablesOfTheJobWhereTheStepHasNone) {
  const auto r = SlurmClusterResolver({.environment = changed({{"SLURM_JOBID", "7"},
                                                               {"SLURM_STEP_ID", "0"},
                                                               {"SLURM_PROCID", "1"},
                                                               {"SLURM_NTASKS", "2"},
                                                               {"SLURM_JOB_NODELIST", "a,b"},
                                                               {"SLURM_TASKS_PER_NODE", "1(x2)"},
                                                               {"SLURM_GPUS_PER_TASK", "0"}})});
  EXPECT_EQ(r.cluster_spec().num_tasks("worker"), 2);
  EXPECT_EQ(r.task_id(), 1);
  EXPECT_TRUE(r.num_accelerators().empty());
}

TEST(SlurmClusterResolver, EveryMistakeIsNamed) {
  const auto make = [](const Variables& others, std::map<std::string, int> jobs = {}) {
    return [=] { SlurmClusterResolver({.jobs = jobs, .environment = changed(slurm(), others)}); };
  };
  expect_error<StateError>(make({{"SLURM_STEP_ID", ""}}), {"SLURM_STEP_ID is not set", "srun"});
  expect_error<NotFoundError>(make({{"SLURM_PROCID", ""}}), {"the variable SLURM_PROCID is not set", "srun"});
  expect_error<NotFoundError>(make({{"SLURM_STEP_NUM_TASKS", ""}}), {"the variable SLURM_NTASKS is not set"});
  expect_error<NotFoundError>(make({{"SLURM_STEP_NODELIST", ""}}),
                              {"the variable SLURM_NODELIST is not set"});
  expect_error<NotFoundError>(make({{"SLURM_STEP_TASKS_PER_NODE", ""}}),
                              {"the variable SLURM_TASKS_PER_NODE"});
  expect_error<NotFoundError>(make({{"SLURM_JOB_ID", ""}}), {"the variable SLURM_JOBID"});
  expect_error(make({{"SLURM_PROCID", "5"}}),
               {"SLURM_PROCID: expected a whole number from 0 to 4, received '5'"});
  expect_error(make({{"SLURM_PROCID", "x"}}), {"SLURM_PROCID", "'x'"});
  expect_error(make({{"SLURM_STEP_NUM_TASKS", "0"}}),
               {"SLURM_STEP_NUM_TASKS: expected a whole number from 1"});
  expect_error(make({{"SLURM_STEP_NUM_TASKS", "6"}}),
               {"SLURM_STEP_TASKS_PER_NODE: expected tasks that sum up to the 6 of the step, received 5"});
  expect_error(
      make({{"SLURM_STEP_TASKS_PER_NODE", "5"}}),
      {"SLURM_STEP_TASKS_PER_NODE: expected a number for each of the 3 nodes of SLURM_STEP_NODELIST, "
       "received 1"});
  expect_error(make({{"SLURM_STEP_NODELIST", "t[1"}}), {"SLURM_STEP_NODELIST: expected a list of hosts"});
  expect_error(make({{"SLURM_STEP_TASKS_PER_NODE", "2(2),1"}}),
               {"SLURM_STEP_TASKS_PER_NODE: expected tasks"});
  expect_error(make({{"SLURM_NODEID", "0"}}),
               {"SLURM_NODEID: expected 1 for task 3, received 0", "--distribution=block"});
  expect_error(make({{"SLURM_NODEID", "3"}}), {"SLURM_NODEID: expected a whole number from 0 to 2"});
  expect_error(make({}, {{"worker", 4}}), {"jobs: expected as many tasks as the step has, 5, received 4"});
  expect_error(make({}, {{"worker", 6}}), {"jobs: expected as many tasks as the step has, 5, received 6"});
  expect_error(make({}, {{"worker", 5}, {"ps", 0}}), {"jobs", "0 of job 'ps'"});
  expect_error(make({}, {{"boss", 5}}), {"SlurmClusterResolver: job in the cluster", "'boss'"});
  expect_error([] { SlurmClusterResolver({.port_base = -1, .environment = changed(slurm())}); },
               {"port_base: expected 0 to 65535, received -1"});
  expect_error([] { SlurmClusterResolver({.port_base = 65535, .environment = changed(slurm())}); },
               {"address of worker 1", "'t02n13:65536'"});
}

const Variables& torchrun() {
  static const auto& variables =
      *new Variables{{"RANK", "2"}, {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}};
  return variables;
}

TEST(TorchrunClusterResolver, MeetsAtThePortBehindTorchruns) {
  const TorchrunClusterResolver r({.environment = changed(torchrun())});
  EXPECT_EQ(r.cluster_spec(), ClusterSpec({{"worker", {"node0:29501", "", ""}}}));
  EXPECT_EQ(r.task_id(), 2);
  EXPECT_EQ(id_in_cluster(r.cluster_spec(), {r.task_type(), r.task_id()}), 2);
  EXPECT_EQ(r.master(), "");
  EXPECT_EQ(r.master({.task_type = "worker", .task_id = 0}), "grpc://node0:29501");
  const TorchrunClusterResolver six({.environment = changed(torchrun(), {{"MASTER_ADDR", "fe80::1"}})});
  EXPECT_EQ(six.cluster_spec().task_address("worker", 0), "[fe80::1]:29501");
}

TEST(TorchrunClusterResolver, EveryMistakeIsNamed) {
  const auto make = [](const Variables& others) {
    return [=] { TorchrunClusterResolver({.environment = changed(torchrun(), others)}); };
  };
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
    expect_error<NotFoundError>(make({{name, ""}}),
                                {std::string("the variable ") + name + " is not set", "torchrun"});
  expect_error(make({{"RANK", "3"}}), {"RANK: expected a whole number from 0 to 2, received '3'"});
  expect_error(make({{"WORLD_SIZE", "0"}}), {"WORLD_SIZE: expected a whole number from 1"});
  expect_error(make({{"MASTER_ADDR", "a b"}}),
               {"MASTER_ADDR: expected the name or address of a host, received 'a b'"});
  expect_error(make({{"MASTER_ADDR", "a:1"}}), {"MASTER_ADDR", "'a:1'"});
  expect_error(make({{"MASTER_PORT", "65535"}}), {"MASTER_PORT: expected a whole number from 1 to 65534"});
}

const Variables& open_mpi() {
  static const auto& variables = *new Variables{{"OMPI_COMM_WORLD_RANK", "1"},
                                                {"OMPI_COMM_WORLD_SIZE", "2"},
                                                {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                                {"PMIX_NAMESPACE", "3573809153"}};
  return variables;
}

TEST(MPIClusterResolver, OneHostNeedsNoAddress) {
  const MPIClusterResolver r({.environment = changed(open_mpi())});
  const std::string address = r.cluster_spec().task_address("worker", 0);
  EXPECT_TRUE(address.starts_with("127.0.0.1:2") || address.starts_with("127.0.0.1:3")) << address;
  EXPECT_EQ(r.cluster_spec().num_tasks("worker"), 2);
  EXPECT_EQ(r.task_id(), 1);
  const MPIClusterResolver other({.environment = changed(open_mpi(), {{"PMIX_NAMESPACE", "3573809154"}})});
  EXPECT_NE(other.cluster_spec().task_address("worker", 0), address);
}

TEST(MPIClusterResolver, SeveralHostsNeedOne) {
  const Variables one_here = {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}};
  expect_error<NotFoundError>(
      [&] { MPIClusterResolver({.environment = changed(open_mpi(), one_here)}); },
      {"of 2 processes 1 are on this host (OMPI_COMM_WORLD_LOCAL_SIZE)", "mpirun -x MASTER_ADDR=host"});
  Variables named = one_here;
  named["MASTER_ADDR"] = "node0";
  EXPECT_EQ(MPIClusterResolver({.environment = changed(open_mpi(), named)})
                .cluster_spec()
                .task_address("worker", 0),
            "node0:29500");
  named["MASTER_PORT"] = "400";
  EXPECT_EQ(MPIClusterResolver({.environment = changed(open_mpi(), named)})
                .cluster_spec()
                .task_address("worker", 0),
            "node0:400");
}

TEST(MPIClusterResolver, EveryMistakeIsNamed) {
  const auto make = [](const Variables& others) {
    return [=] { MPIClusterResolver({.environment = changed(open_mpi(), others)}); };
  };
  expect_error<NotFoundError>(make({{"OMPI_COMM_WORLD_RANK", ""}}),
                              {"OMPI_COMM_WORLD_RANK is not set", "mpirun"});
  expect_error<NotFoundError>(make({{"OMPI_COMM_WORLD_SIZE", ""}}), {"OMPI_COMM_WORLD_SIZE is not set"});
  expect_error(make({{"OMPI_COMM_WORLD_RANK", "2"}}),
               {"OMPI_COMM_WORLD_RANK: expected a whole number from 0 to 1"});
  expect_error(make({{"OMPI_COMM_WORLD_SIZE", "-2"}}), {"OMPI_COMM_WORLD_SIZE", "'-2'"});
  expect_error(make({{"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}}),
               {"OMPI_COMM_WORLD_LOCAL_SIZE: expected", "1 to 2"});
  expect_error(make({{"MASTER_ADDR", "a/b"}}), {"MASTER_ADDR: expected the name or address of a host"});
  expect_error(make({{"MASTER_PORT", "0"}}), {"MASTER_PORT: expected a whole number from 1 to 65535"});
}

TEST(MPIClusterResolver, ReadsMpichsVariables) {
  const MPIClusterResolver r(
      {.flavor = MPIFlavor::pmi,
       .environment = changed({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}})});
  EXPECT_EQ(r.cluster_spec(), ClusterSpec({{"worker", {"127.0.0.1:29500", ""}}}));
  EXPECT_TRUE(is_chief(r));
}

const Variables& pod() {
  static const auto& variables = *new Variables{{"JOB_COMPLETION_INDEX", "1"},
                                                {"HOSTNAME", "train-it-1"},
                                                {"NYALA_NUM_WORKERS", "2"},
                                                {"NYALA_SERVICE", "train.default.svc"}};
  return variables;
}

TEST(KubernetesClusterResolver, NamesPodsOfAnIndexedJobAndOfASet) {
  const ClusterSpec expected(
      {{"worker", {"train-it-0.train.default.svc:8470", "train-it-1.train.default.svc:8470"}}});
  const KubernetesClusterResolver job({.environment = changed(pod())});
  EXPECT_EQ(job.cluster_spec(), expected);
  EXPECT_EQ(job.task_id(), 1);
  EXPECT_EQ(job.master(), "grpc://train-it-1.train.default.svc:8470");
  const KubernetesClusterResolver set({.environment = changed(pod(), {{"JOB_COMPLETION_INDEX", ""}})});
  EXPECT_EQ(set.cluster_spec(), expected);
  EXPECT_EQ(set.task_id(), 1);
  const KubernetesClusterResolver told({.num_workers = 3,
                                        .service = "s",
                                        .job_name = "j",
                                        .port = 9,
                                        .environment = Environment({{"JOB_COMPLETION_INDEX", "2"}})});
  EXPECT_EQ(told.cluster_spec(), ClusterSpec({{"worker", {"j-0.s:9", "j-1.s:9", "j-2.s:9"}}}));
}

TEST(KubernetesClusterResolver, EveryMistakeIsNamed) {
  const auto make = [](const Variables& others) {
    return [=] { KubernetesClusterResolver({.environment = changed(pod(), others)}); };
  };
  for (const char* name : {"HOSTNAME", "NYALA_NUM_WORKERS", "NYALA_SERVICE"})
    expect_error<NotFoundError>(make({{name, ""}}), {std::string("the variable ") + name + " is not set"});
  expect_error(
      make({{"NYALA_NUM_WORKERS", "1"}}),
      {"JOB_COMPLETION_INDEX: expected a whole number from 0 to 0, received '1'", "There are 1 workers"});
  expect_error(make({{"NYALA_NUM_WORKERS", "two"}}), {"NYALA_NUM_WORKERS", "'two'"});
  expect_error(make({{"NYALA_SERVICE", "a b"}}), {"NYALA_SERVICE: expected the name or address of a host"});
  expect_error(make({{"HOSTNAME", "train-it-xyz"}}),
               {"HOSTNAME: expected the name of a pod that ends with its index, such as train-1, received "
                "'train-it-xyz'",
                "completionMode: Indexed"});
  expect_error(make({{"HOSTNAME", "train-it-0"}}), {"HOSTNAME", "train-1"});
  expect_error([] { KubernetesClusterResolver({.port = 0, .environment = changed(pod())}); },
               {"port: expected 1"});
  expect_error([] { KubernetesClusterResolver({.job_name = "a b", .environment = changed(pod())}); },
               {"KubernetesClusterResolver: address of worker 0", "'a b-0.train.default.svc:8470'"});
}

TEST(ChooseClusterResolver, FollowsThePrecedence) {
  Variables variables;
  const auto chosen = [&] { return choose_cluster_resolver({}, Environment::of(variables)); };
  const auto add = [&](const Variables& more) { variables.insert(more.begin(), more.end()); };
  EXPECT_EQ(chosen().reason, "no launcher has set its variables");
  EXPECT_TRUE(is_chief(*chosen().resolver));
  add(pod());
  EXPECT_TRUE(dynamic_cast<const KubernetesClusterResolver*>(chosen().resolver.get())) << chosen().reason;
  add({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}});
  EXPECT_EQ(chosen().reason, "PMI_SIZE is set, as by mpiexec");
  add(slurm());
  EXPECT_TRUE(dynamic_cast<const SlurmClusterResolver*>(chosen().resolver.get())) << chosen().reason;
  add(open_mpi());
  EXPECT_EQ(chosen().reason, "OMPI_COMM_WORLD_SIZE is set, as by mpirun");
  add(torchrun());
  EXPECT_TRUE(dynamic_cast<const TorchrunClusterResolver*>(chosen().resolver.get())) << chosen().reason;
  add({{"TF_CONFIG", R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}})"}});
  EXPECT_EQ(chosen().reason, "TF_CONFIG is set");
  const auto own = std::make_shared<const TorchrunClusterResolver>(
      TorchrunClusterResolverConfig{.environment = changed(torchrun())});
  EXPECT_EQ(choose_cluster_resolver(ClusterResolverOption(own), Environment::of(variables)).resolver, own);
}

/// A batch script has SLURM_PROCID=0 and SLURM_NTASKS=N, too, but is one process; several processes that
/// cannot find each other must not train alone.
TEST(ChooseClusterResolver, HalfSetVariables) {
  Variables batch = slurm();
  batch.erase("SLURM_STEP_ID");
  EXPECT_TRUE(choose_cluster_resolver({}, Environment::of(batch)).resolver->cluster_spec().empty());
  EXPECT_TRUE(choose_cluster_resolver({}, Environment({{"RANK", "0"}})).resolver->cluster_spec().empty());
  expect_error<NotFoundError>(
      [] {
        choose_cluster_resolver({}, Environment({{"RANK", "0"}, {"WORLD_SIZE", "2"}}));
      },
      {"MASTER_ADDR"});
}

TEST(ChooseClusterResolver, OneOfSeveralProcessesDoesNotTrainAlone) {
  const auto error = [](const Environment& environment) {
    return error_text<NotFoundError>([&] { choose_cluster_resolver({}, environment); });
  };
  EXPECT_EQ(
      error({{"WORLD_SIZE", "2"}}),
      "the variable RANK is not set. WORLD_SIZE is '2', so that this is one of several processes. torchrun "
      "sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT together.");
  EXPECT_TRUE(error({{"NYALA_WORLD_SIZE", "3"}}).starts_with("the variable TF_CONFIG is not set"));
  EXPECT_TRUE(error({{"NYALA_NUM_WORKERS", "3"}}).starts_with("the variable NYALA_SERVICE is not set"));
  EXPECT_TRUE(error({{"NYALA_SERVICE", "s"}}).starts_with("the variable NYALA_NUM_WORKERS is not set"));
  EXPECT_TRUE(
      error({{"RANK", "1"}})
          .starts_with("the variable WORLD_SIZE is not set. RANK is '1', so that this is one of several"));
  EXPECT_TRUE(error({{"OMPI_COMM_WORLD_RANK", "2"}}).starts_with("the variable OMPI_COMM_WORLD_SIZE is not"));
  EXPECT_TRUE(error({{"PMI_RANK", "1"}}).starts_with("the variable PMI_SIZE is not set"));
  EXPECT_TRUE(error({{"NYALA_RANK", "1"}}).starts_with("the variable TF_CONFIG is not set"));
  for (const char* rank : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "NYALA_RANK"})
    EXPECT_TRUE(choose_cluster_resolver({}, Environment({{rank, "0"}})).resolver->cluster_spec().empty());
  for (const char* count : {"WORLD_SIZE", "NYALA_WORLD_SIZE", "NYALA_NUM_WORKERS"})
    EXPECT_TRUE(choose_cluster_resolver({}, Environment({{count, "1"}})).resolver->cluster_spec().empty());
}

TEST(ChooseClusterResolver, TFConfigWithoutAClusterIsOfOneProcess) {
  const auto with = [](const char* variable, const char* value) {
    return Environment({{"TF_CONFIG", "{}"}, {variable, value}});
  };
  EXPECT_TRUE(choose_cluster_resolver({}, with("WORLD_SIZE", "1")).resolver->cluster_spec().empty());
  EXPECT_TRUE(choose_cluster_resolver({}, with("NYALA_RANK", "0")).resolver->cluster_spec().empty());
  for (const char* variable : {"NYALA_WORLD_SIZE", "WORLD_SIZE", "RANK", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    expect_error<InvalidArgumentError>([&] { choose_cluster_resolver({}, with(variable, "2")); },
                                       {"TF_CONFIG", variable, "one of several processes"});
}

/// Without a map the environment of the process is asked.
TEST(ChooseClusterResolver, ReadsTheProcessByDefault) {
  EXPECT_EQ(Environment().get("PATH").has_value(), std::getenv("PATH") != nullptr);
  EXPECT_FALSE(Environment().has("NYALA_NO_SUCH_VARIABLE"));
  EXPECT_FALSE(Environment({{"A", ""}}).has("A"));
}

}  // namespace
}  // namespace nyala
