// Form and checks: TensorFlow's tfconfig_cluster_resolver.py and multi_worker_util.py.
#include <nyala/strategies/cluster/tf_config_cluster_resolver.h>

#include <limits>

#include <nyala/backend/core/error.h>
#include <nyala/files/json/json_text.h>
#include <nyala/files/json/strict_json.h>
#include <nyala/strategies/cluster/cluster_task.h>

namespace nyala {

namespace {

constexpr const char* kTFConfig = "TF_CONFIG";
constexpr const char* kTFConfigExample =
    R"(For example {"cluster": {"worker": ["a:2222", "b:2222"]}, "task": {"type": "worker", "index": 0}}.)";

[[noreturn]] void throw_wrong_tf_config(const std::string& place, const std::string& expected,
                                        const Json& received, const std::string& hint = "") {
  detail::throw_wrong_setting(kTFConfig + (place.empty() ? "" : ": " + place), expected,
                              detail::in_quotes(readable_json(received)), hint);
}

Json parse_tf_config(const std::string& text) {
  Json json;
  try {
    json = parse_json(text, kTFConfig, JsonLimits{.values = kFreeJsonValues, .unique_keys = true});
  } catch (const Error& error) {
    detail::throw_wrong_setting(kTFConfig, "JSON", detail::in_quotes(text) + " (" + error.what() + ")",
                                kTFConfigExample);
  }
  if (!json.is_object()) throw_wrong_tf_config("", "an object", json, kTFConfigExample);
  return json;
}

std::string text_of(const Json& json, const std::string& place) {
  if (!json.is_string()) throw_wrong_tf_config(place, "a text", json);
  return json.get<std::string>();
}

/// A number, or a number as text.
int index_of(const Json& json, const std::string& place) {
  constexpr int kMost = 1'000'000;
  if (json.is_number_integer() && json.get<double>() >= 0 && json.get<double>() <= kMost)
    return json.get<int>();
  if (json.is_string())
    if (const auto number = detail::parse_whole_number(json.get<std::string>(), 0, kMost)) return *number;
  throw_wrong_tf_config(place, "a whole number from 0", json, "A text that is a number will do.");
}

std::map<int, std::string> tasks_of(const Json& json, const std::string& place) {
  std::map<int, std::string> tasks;
  if (json.is_array()) {
    for (const Json& address : json) {
      const int index = static_cast<int>(tasks.size());
      tasks.emplace(index, text_of(address, place + "[" + std::to_string(index) + "]"));
    }
  } else if (json.is_object()) {
    for (const auto& [index, address] : json.items())
      tasks.emplace(index_of(Json(index), place + ": an index"),
                    text_of(address, place + "[" + detail::in_quotes(index) + "]"));
  } else {
    throw_wrong_tf_config(place, "a list of addresses", json, kTFConfigExample);
  }
  return tasks;
}

ClusterSpec cluster_of(const Json& config) {
  if (config.contains("sparseCluster"))
    detail::throw_wrong_setting(std::string(kTFConfig) + ": sparseCluster",
                                "a cluster in which each task knows all others",
                                "one in which it knows itself and the parameter servers",
                                "Turn off the TFJob's enableDynamicWorker.");
  if (!config.contains("cluster")) return {};
  const Json& cluster = config["cluster"];
  if (!cluster.is_object())
    throw_wrong_tf_config("cluster", "an object from jobs to addresses", cluster, kTFConfigExample);
  if (cluster.contains("chief") && cluster.contains("master"))
    throw_wrong_tf_config("cluster", "either 'chief' or 'master', which is its old name", cluster);
  std::map<std::string, std::map<int, std::string>> jobs;
  for (const auto& [job, tasks] : cluster.items())
    jobs.emplace(job == "master" ? "chief" : job, tasks_of(tasks, "cluster." + job));
  return ClusterSpec::sparse(std::move(jobs));
}

std::string text_at(const Json& object, const std::string& key, const std::string& place) {
  return object.contains(key) ? text_of(object[key], place + key) : "";
}

}  // namespace

TFConfigClusterResolver::TFConfigClusterResolver(const Config& config)
    : EnvironmentResolver(config.rpc_layer, config.task_type, config.task_id) {
  const Json json = parse_tf_config(config.environment.get(kTFConfig).value_or("{}"));
  cluster_ = cluster_of(json);
  const Json task = json.contains("task") ? json["task"] : Json::object();
  if (!task.is_object())
    throw_wrong_tf_config("task", "an object with type and index", task, kTFConfigExample);
  if (task_type_.empty()) task_type_ = text_at(task, "type", "task.");
  if (task_type_ == "master") task_type_ = "chief";
  if (task_id_ < 0 && task.contains("index")) task_id_ = index_of(task["index"], "task.index");
  if (rpc_layer_.empty()) rpc_layer_ = text_at(json, "rpc_layer", "");
  if (rpc_layer_.empty()) rpc_layer_ = "grpc";
  session_master_ = text_at(json, "session_master", "");
  if (cluster_.empty()) {
    if (json.contains("task"))
      throw_wrong_tf_config("", "a cluster beside the task, or neither", json, kTFConfigExample);
    return;
  }
  if (task_type_.empty() || task_id_ < 0)
    throw_wrong_tf_config("task", "the type and index of this process in the cluster", task,
                          kTFConfigExample);
  check_cluster(cluster_, {task_type_, task_id_}, kTFConfig);
}

std::string TFConfigClusterResolver::master(const MasterConfig& config) const {
  if (!session_master_.empty()) return session_master_;
  const bool alone = cluster_.jobs().size() == 1 && cluster_.num_tasks(cluster_.jobs()[0]) == 1;
  return alone ? "" : ClusterResolver::master(config);
}

}  // namespace nyala
