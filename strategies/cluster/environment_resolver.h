#pragma once

#include <string>
#include <utility>

#include <nyala/strategies/cluster/cluster_resolver.h>
#include <nyala/strategies/cluster/environment.h>

namespace nyala::detail {

/// A resolver that says what its constructor read in the environment.
class EnvironmentResolver : public ClusterResolver {
 public:
  ClusterSpec cluster_spec() const override { return cluster_; }
  std::string task_type() const override { return task_type_; }
  int task_id() const override { return task_id_; }
  std::string rpc_layer() const override { return rpc_layer_; }

 protected:
  explicit EnvironmentResolver(std::string rpc_layer, std::string task_type = "worker", int task_id = -1)
      : task_type_(std::move(task_type)), rpc_layer_(std::move(rpc_layer)), task_id_(task_id) {}

  ClusterSpec cluster_;
  std::string task_type_, rpc_layer_;
  int task_id_;
};

}  // namespace nyala::detail
