#include <nyala/strategies/cluster/choose_cluster_resolver.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/cluster/kubernetes_cluster_resolver.h>
#include <nyala/strategies/cluster/mpi_cluster_resolver.h>
#include <nyala/strategies/cluster/simple_cluster_resolver.h>
#include <nyala/strategies/cluster/slurm_cluster_resolver.h>
#include <nyala/strategies/cluster/tf_config_cluster_resolver.h>
#include <nyala/strategies/cluster/torchrun_cluster_resolver.h>

namespace nyala {

namespace {

using MakeResolver = std::shared_ptr<const ClusterResolver> (*)(const Environment&);

template <class Resolver>
std::shared_ptr<const ClusterResolver> resolver_of(const Environment& environment) {
  return std::make_shared<const Resolver>(typename Resolver::Config{.environment = environment});
}

template <MPIFlavor flavor>
std::shared_ptr<const ClusterResolver> mpi_resolver(const Environment& environment) {
  return std::make_shared<const MPIClusterResolver>(
      MPIClusterResolverConfig{.flavor = flavor, .environment = environment});
}

struct Launcher {
  std::initializer_list<const char*> variables;
  const char* reason;
  MakeResolver make;
};

/// A variable that says that there are several processes, unless it is `of_one`, and what has to be set with
/// it.
struct Companion {
  const char *variable, *of_one, *needs, *hint;
};

/// "RANK is '1', so that this is one of several processes"; nothing where the variable is not set or says
/// `of_one`.
std::optional<std::string> says_several(const Environment& environment, const char* variable,
                                        const char* of_one) {
  const std::optional<std::string> value = environment.get(variable);
  if (!value || value == of_one) return std::nullopt;
  return std::string(variable) + " is " + detail::in_quotes(*value) +
         ", so that this is one of several processes";
}

/// Where no launcher's variables are complete: one of several processes does not train alone.
void check_incomplete(const Environment& environment) {
  constexpr const char* kLaunch = "nyala launch sets both, for the program that it starts.";
  constexpr const char* kTorchrun = "torchrun sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT together.";
  constexpr const char* kPod = "Set both in the pod's env.";
  const Companion companions[] = {{"NYALA_WORLD_SIZE", "1", "TF_CONFIG", kLaunch},
                                  {"NYALA_RANK", "0", "TF_CONFIG", kLaunch},
                                  {"WORLD_SIZE", "1", "RANK", kTorchrun},
                                  {"RANK", "0", "WORLD_SIZE", kTorchrun},
                                  {"OMPI_COMM_WORLD_RANK", "0", "OMPI_COMM_WORLD_SIZE", "mpirun sets both."},
                                  {"PMI_RANK", "0", "PMI_SIZE", "mpiexec sets both."},
                                  {"NYALA_NUM_WORKERS", "1", "NYALA_SERVICE", kPod},
                                  {"NYALA_SERVICE", "", "NYALA_NUM_WORKERS", kPod}};
  for (const auto& [variable, of_one, needs, hint] : companions) {
    const auto several = says_several(environment, variable, of_one);
    if (!several || environment.has(needs)) continue;
    detail::required_variable(environment, {.name = needs, .hint = *several + ". " + hint});
  }
}

/// Where TF_CONFIG names no cluster.
void check_alone(const Environment& environment) {
  constexpr std::pair<const char*, const char*> kOfOne[] = {
      {"NYALA_WORLD_SIZE", "1"},     {"NYALA_RANK", "0"}, {"WORLD_SIZE", "1"},       {"RANK", "0"},
      {"OMPI_COMM_WORLD_SIZE", "1"}, {"PMI_SIZE", "1"},   {"NYALA_NUM_WORKERS", "1"}};
  for (const auto& [variable, of_one] : kOfOne)
    if (const auto several = says_several(environment, variable, of_one))
      detail::throw_wrong_setting("TF_CONFIG", "a cluster, since " + *several, "none",
                                  "Without TF_CONFIG other launchers' variables decide.");
}

}  // namespace

ChosenClusterResolver choose_cluster_resolver(const ClusterResolverOption& given,
                                              const Environment& environment) {
  if (given.get()) return {given.get(), "the program names it"};
  const Launcher launchers[] = {
      {{"TF_CONFIG"}, "TF_CONFIG is set", resolver_of<TFConfigClusterResolver>},
      {{"RANK", "WORLD_SIZE"},
       "RANK and WORLD_SIZE are set, as by torchrun",
       resolver_of<TorchrunClusterResolver>},
      {{"OMPI_COMM_WORLD_SIZE"},
       "OMPI_COMM_WORLD_SIZE is set, as by mpirun",
       mpi_resolver<MPIFlavor::open_mpi>},
      {{"SLURM_STEP_ID"}, "SLURM_STEP_ID is set, as by srun", resolver_of<SlurmClusterResolver>},
      {{"PMI_SIZE"}, "PMI_SIZE is set, as by mpiexec", mpi_resolver<MPIFlavor::pmi>},
      {{"NYALA_NUM_WORKERS", "NYALA_SERVICE"},
       "NYALA_NUM_WORKERS and NYALA_SERVICE are set",
       resolver_of<KubernetesClusterResolver>}};
  for (const Launcher& launcher : launchers) {
    const auto is_set = [&](const char* name) { return environment.has(name); };
    if (!std::all_of(launcher.variables.begin(), launcher.variables.end(), is_set)) continue;
    ChosenClusterResolver chosen{launcher.make(environment), launcher.reason};
    if (chosen.resolver->cluster_spec().empty()) check_alone(environment);
    return chosen;
  }
  check_incomplete(environment);
  return {std::make_shared<const SimpleClusterResolver>(), "no launcher has set its variables"};
}

}  // namespace nyala
