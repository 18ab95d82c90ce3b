#pragma once

#include <memory>
#include <string>

#include <nyala/strategies/cluster/cluster_resolver.h>
#include <nyala/strategies/cluster/environment.h>

namespace nyala {

struct ChosenClusterResolver {
  std::shared_ptr<const ClusterResolver> resolver;
  std::string reason;  ///< "TF_CONFIG is set"
};

/// The resolver that fits how this process was started. The first of these that holds:
///
/// - `given`: that
/// - TF_CONFIG: TFConfigClusterResolver (nyala launch, TFJob)
/// - RANK and WORLD_SIZE: TorchrunClusterResolver (torchrun, PyTorchJob)
/// - OMPI_COMM_WORLD_SIZE: MPIClusterResolver (mpirun of Open MPI, MPIJob)
/// - SLURM_STEP_ID: SlurmClusterResolver (srun)
/// - PMI_SIZE: MPIClusterResolver (mpiexec of MPICH or Intel MPI)
/// - NYALA_NUM_WORKERS and NYALA_SERVICE: KubernetesClusterResolver (an Indexed Job, a StatefulSet)
/// - nothing: SimpleClusterResolver({}), one process (a shell)
///
/// Throws what the resolver's constructor throws: variables that contradict each other never become another
/// choice. Throws NotFoundError where nothing of this holds and a variable says that there are several
/// processes, but one that belongs to it is not set: WORLD_SIZE without RANK, a rank that is not 0 without
/// the number of processes (RANK, OMPI_COMM_WORLD_RANK, PMI_RANK), NYALA_WORLD_SIZE or NYALA_RANK without
/// TF_CONFIG, one of NYALA_NUM_WORKERS and NYALA_SERVICE without the other; InvalidArgumentError where
/// TF_CONFIG names no cluster, and another variable says that there are several processes.
ChosenClusterResolver choose_cluster_resolver(const ClusterResolverOption& given = {},
                                              const Environment& environment = {});

}  // namespace nyala
