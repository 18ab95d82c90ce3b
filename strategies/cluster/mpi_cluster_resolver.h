#pragma once

#include <string>

#include <nyala/strategies/cluster/environment_resolver.h>

namespace nyala {

/// Whose variables say rank and size: OMPI_COMM_WORLD_RANK and _SIZE, or PMI_RANK and PMI_SIZE (MPICH's
/// hydra, Intel MPI).
enum class MPIFlavor { open_mpi, pmi };

struct MPIClusterResolverConfig {
  MPIFlavor flavor = MPIFlavor::open_mpi;
  std::string rpc_layer = "grpc";
  Environment environment = {};
};

/// The processes that mpirun started; MPI itself is not used. All are workers. MPI does not say where they
/// are: where all are on one host, worker 0 is at 127.0.0.1 and a port that follows from the name of the job,
/// else at MASTER_ADDR and MASTER_PORT (29500 where it is not set), which mpirun has to pass on. The
/// addresses of the others are empty. Read once, when the resolver is made.
class MPIClusterResolver final : public detail::EnvironmentResolver {
 public:
  using Config = MPIClusterResolverConfig;
  /// Throws NotFoundError for a variable that is not set, InvalidArgumentError for one with another form.
  explicit MPIClusterResolver(const Config& config = {});
};

}  // namespace nyala
