#pragma once

#include <nyala/strategies/cluster/choose_cluster_resolver.h>
#include <nyala/strategies/cluster/cluster_task.h>
#include <nyala/strategies/cluster/kubernetes_cluster_resolver.h>
#include <nyala/strategies/cluster/mpi_cluster_resolver.h>
#include <nyala/strategies/cluster/simple_cluster_resolver.h>
#include <nyala/strategies/cluster/slurm_cluster_resolver.h>
#include <nyala/strategies/cluster/tf_config_cluster_resolver.h>
#include <nyala/strategies/cluster/torchrun_cluster_resolver.h>
#include <nyala/strategies/cluster/union_resolver.h>
