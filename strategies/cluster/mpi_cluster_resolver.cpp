// Variables: those that Open MPI 4.1 and MPICH 4.0 were seen to set.
#include <nyala/strategies/cluster/mpi_cluster_resolver.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/cluster/first_worker.h>

namespace nyala {

namespace {

constexpr int kDefaultMasterPort = 29500;

struct MPIVariables {
  const char *rank, *size, *local_size, *job;
};

constexpr MPIVariables kOpenMPI = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                   "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE"};
constexpr MPIVariables kPMI = {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "PMI_JOBID"};

detail::HostPort first_of_mpi(const Environment& environment, const MPIVariables& names, int size) {
  const auto port = detail::optional_number(environment, {"MASTER_PORT", 1, 65535});
  if (environment.has("MASTER_ADDR"))
    return {detail::required_host(environment, {.name = "MASTER_ADDR"}), port.value_or(kDefaultMasterPort)};
  const auto local = detail::optional_number(environment, {names.local_size, 1, size});
  if (local.value_or(size == 1 ? 1 : 0) < size)
    throw NotFoundError("MPIClusterResolver: of " + std::to_string(size) + " processes " +
                        (local ? std::to_string(*local) : "nobody knows how many") + " are on this host (" +
                        names.local_size + (local ? "" : " is not set") +
                        "), and MPI does not say where the first one is. Set MASTER_ADDR to its host, e.g. "
                        "with mpirun -x MASTER_ADDR=host.");
  const auto job = environment.get(names.job);
  return {"127.0.0.1", port.value_or(job ? detail::port_of_text(*job) : kDefaultMasterPort)};
}

}  // namespace

MPIClusterResolver::MPIClusterResolver(const Config& config) : EnvironmentResolver(config.rpc_layer) {
  const MPIVariables& names = config.flavor == MPIFlavor::open_mpi ? kOpenMPI : kPMI;
  const std::string hint = "Start the program with mpirun.";
  const int size = detail::required_number(config.environment, {names.size, 1, detail::kMostWorkers, hint});
  task_id_ = detail::required_number(config.environment, {names.rank, 0, size - 1, hint});
  cluster_ = detail::workers_behind(first_of_mpi(config.environment, names, size), size);
}

}  // namespace nyala
