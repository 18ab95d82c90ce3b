#pragma once

#include <vector>

#include <nyala/tools/launch/rank_plan.h>

namespace nyala::tools {

/// The tasks of a cluster with parameter servers on this machine: the chief, if there is one, the workers,
/// the servers. Each is told its place by TF_CONFIG alone.
std::vector<RankPlan> plan_tasks(const LaunchConfig& config);

}  // namespace nyala::tools
