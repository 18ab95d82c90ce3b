// Rules of the union: TensorFlow's cluster_resolver.py.
#include <nyala/strategies/cluster/union_resolver.h>

#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

bool is_dense(const ClusterSpec& spec, const std::string& job) {
  const std::vector<int> indices = spec.task_indices(job);
  return !indices.empty() && indices.back() + 1 == static_cast<int>(indices.size());
}

}  // namespace

UnionResolver::UnionResolver(Config config) : config_(std::move(config)) {
  if (config_.resolvers.empty()) throw InvalidArgumentError("UnionResolver: expected at least one resolver");
  for (const ClusterResolverOption& resolver : config_.resolvers)
    if (!resolver.get()) throw InvalidArgumentError("UnionResolver: one of the resolvers is empty");
}

ClusterSpec UnionResolver::cluster_spec() const {
  std::map<std::string, std::map<int, std::string>> merged;
  std::map<std::string, bool> follow;  // whether each list of a job begins behind the last
  std::vector<ClusterSpec> specs;
  for (const ClusterResolverOption& resolver : config_.resolvers)
    specs.push_back(resolver.get()->cluster_spec());
  for (const ClusterSpec& spec : specs)
    for (const std::string& job : spec.jobs())
      follow[job] = follow.emplace(job, true).first->second && is_dense(spec, job);
  for (const ClusterSpec& spec : specs)
    for (const std::string& job : spec.jobs()) {
      std::map<int, std::string>& tasks = merged[job];
      const int offset = follow[job] ? static_cast<int>(tasks.size()) : 0;
      for (const int index : spec.task_indices(job))
        if (!tasks.emplace(offset + index, spec.task_address(job, index)).second)
          throw InvalidArgumentError("UnionResolver: two resolvers name task " + std::to_string(index) +
                                     " of job " + detail::in_quotes(job));
    }
  return ClusterSpec::sparse(std::move(merged));
}

std::string UnionResolver::task_type() const {
  return config_.task_type.empty() ? first().task_type() : config_.task_type;
}

int UnionResolver::task_id() const { return config_.task_id < 0 ? first().task_id() : config_.task_id; }

std::string UnionResolver::rpc_layer() const {
  return config_.rpc_layer.empty() ? first().rpc_layer() : config_.rpc_layer;
}

std::string UnionResolver::master(const MasterConfig& config) const {
  if (!config.task_type.empty() && config.task_id >= 0) return ClusterResolver::master(config);
  return first().master({.rpc_layer = config.rpc_layer.empty() ? config_.rpc_layer : config.rpc_layer});
}

std::map<std::string, int> UnionResolver::num_accelerators() const { return first().num_accelerators(); }

}  // namespace nyala
