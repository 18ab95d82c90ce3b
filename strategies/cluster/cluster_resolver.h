#pragma once

#include <concepts>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <nyala/strategies/cluster/cluster_spec.h>

namespace nyala {

/// What ClusterResolver::master() may be asked for.
struct MasterConfig {
  std::string task_type = "";  ///< with task_id: the address of that task, else of the resolver's own
  int task_id = -1;
  std::string rpc_layer = "";  ///< empty: the resolver's own
};

/// Tells a process which processes belong to its cluster and which of them it is, as
/// tf.distribute.cluster_resolver.ClusterResolver does. A program may write its own: derive, and implement
/// the first three functions.
class ClusterResolver {
 public:
  virtual ~ClusterResolver() = default;

  /// Empty where the process is the only one.
  virtual ClusterSpec cluster_spec() const = 0;
  /// The job of this process: "chief", "worker", "ps" or "evaluator"; empty where nobody says.
  virtual std::string task_type() const = 0;
  /// Its index in this job; -1 where nobody says.
  virtual int task_id() const = 0;

  /// The protocol by which the processes talk: "grpc".
  virtual std::string rpc_layer() const { return "grpc"; }
  /// "grpc://host:port" of a task, by default of this one; empty where the process is the only one.
  virtual std::string master(const MasterConfig& config = {}) const;
  /// How many accelerators this process has, by kind: {{"GPU", 2}}; empty where it has none.
  virtual std::map<std::string, int> num_accelerators() const;

 protected:
  ClusterResolver() = default;
  ClusterResolver(const ClusterResolver&) = default;
  ClusterResolver& operator=(const ClusterResolver&) = default;
};

/// A ClusterResolver as an option: holds a copy of what is assigned, or nothing, which means "choose"
/// (choose_cluster_resolver()).
class ClusterResolverOption {
 public:
  ClusterResolverOption() = default;
  template <std::derived_from<ClusterResolver> Resolver>
  ClusterResolverOption(Resolver resolver)
      : resolver_(std::make_shared<const Resolver>(std::move(resolver))) {}
  ClusterResolverOption(std::shared_ptr<const ClusterResolver> resolver) : resolver_(std::move(resolver)) {}
  const std::shared_ptr<const ClusterResolver>& get() const { return resolver_; }

 private:
  std::shared_ptr<const ClusterResolver> resolver_;
};

namespace detail {

/// "grpc://host:port", or the address alone without a layer; empty without an address.
std::string master_url(const std::string& address, const std::string& rpc_layer);

}  // namespace detail

}  // namespace nyala
