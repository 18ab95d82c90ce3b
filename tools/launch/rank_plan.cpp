#include <nyala/tools/launch/rank_plan.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/files/json/json.h>
#include <nyala/strategies/cluster/address.h>
#include <nyala/strategies/cluster/environment.h>
#include <nyala/strategies/cluster/free_ports.h>
#include <nyala/strategies/control/own_address.h>
#include <nyala/strategies/communicators/host_name.h>

namespace nyala::tools {

namespace {

constexpr int kMostProcesses = 4096;

struct Host {
  std::string name;
  int places = 1;
};

/// "a:2,b" in parts.
std::vector<Host> parse_hosts(const std::string& list) {
  std::vector<Host> hosts;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string entry = list.substr(begin, end - begin);
    const size_t colon = entry.rfind(':');
    Host host{entry.substr(0, colon), 1};
    const auto places =
        colon == std::string::npos
            ? 1
            : detail::parse_whole_number(std::string_view(entry).substr(colon + 1), 1, kMostProcesses);
    if (!places || !detail::is_host(host.name))
      detail::throw_wrong_setting("--hosts", "hosts and how many processes each takes, such as a:2,b:2",
                                  detail::in_quotes(list));
    host.places = *places;
    if (std::any_of(hosts.begin(), hosts.end(), [&](const Host& other) { return other.name == host.name; }))
      throw InvalidArgumentError("--hosts names " + detail::in_quotes(host.name) + " twice");
    hosts.push_back(host);
    begin = end + 1;
  }
  return hosts;
}

/// Whether a process for that host is simply started.
bool is_this_machine(const std::string& host) {
  const std::string& own = detail::host_name();
  return detail::is_loopback_host(host) || host == own || host == own.substr(0, own.find('.'));
}

/// The hosts' places in order, the first `processes` of them.
std::vector<RankPlan> place_ranks(const std::vector<Host>& hosts, int processes) {
  std::vector<RankPlan> ranks;
  for (const Host& host : hosts) {
    const int here = std::min(host.places, processes - static_cast<int>(ranks.size()));
    for (int place = 0; place < here; ++place) {
      RankPlan rank;
      rank.rank = static_cast<int>(ranks.size());
      rank.name = "rank " + std::to_string(rank.rank);
      rank.local_rank = place;
      rank.local_size = here;
      rank.host = host.name;
      rank.is_local = is_this_machine(host.name);
      ranks.push_back(rank);
    }
  }
  return ranks;
}

/// "host:port" of each rank. What is free on another machine cannot be seen from here.
std::vector<std::string> rank_addresses(const std::vector<RankPlan>& ranks) {
  const bool all_here =
      std::all_of(ranks.begin(), ranks.end(), [](const RankPlan& rank) { return rank.is_local; });
  const std::vector<int> ports =
      all_here ? detail::free_ports(static_cast<int>(ranks.size())) : std::vector<int>();
  const int first = 20000 + static_cast<int>(::getpid() % 120) * 100;
  std::vector<std::string> addresses;
  for (const RankPlan& rank : ranks) {
    const int port = all_here ? ports[static_cast<size_t>(rank.rank)] : first + rank.local_rank;
    addresses.push_back((all_here ? "127.0.0.1" : rank.host) + ":" + std::to_string(port));
  }
  return addresses;
}

void add_variables(RankPlan& rank, const std::vector<std::string>& addresses) {
  const Json config = {{"cluster", {{"worker", addresses}}},
                       {"task", {{"type", "worker"}, {"index", rank.rank}}}};
  rank.variables = {{"TF_CONFIG", config.dump()},
                    {"NYALA_RANK", std::to_string(rank.rank)},
                    {"NYALA_WORLD_SIZE", std::to_string(addresses.size())},
                    {"NYALA_LOCAL_RANK", std::to_string(rank.local_rank)},
                    {"NYALA_LOCAL_WORLD_SIZE", std::to_string(rank.local_size)}};
  if (rank.is_local && !Environment().has("OMP_NUM_THREADS"))
    rank.variables.emplace_back("OMP_NUM_THREADS",
                                std::to_string(std::max(1, available_cores() / rank.local_size)));
}

/// One word for a shell, whatever is in it.
std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

/// What runs on the other host. Its standard input ends when the launcher or its ssh does, whatever ended
/// them; then the rank and all that it started are ended, too.
std::string remote_command(const LaunchConfig& config, const RankPlan& rank, int restart) {
  const int grace = std::max(1, static_cast<int>(config.grace));
  std::string text = "cd " + shell_word(std::filesystem::current_path().string()) + " || exit 1\n";
  text += "IFS= read -r NYALA_TOKEN || exit 1; export NYALA_TOKEN\n";
  text += "n=$(($(nproc)/" + std::to_string(rank.local_size) + ")); [ \"$n\" -ge 1 ] || n=1\n";
  text +=
      "export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$n} NYALA_RESTART_COUNT=" + std::to_string(restart) + "\n";
  for (const auto& [name, value] : rank.variables) text += "export " + name + "=" + shell_word(value) + "\n";
  std::string program;
  for (const std::string& word : config.command) program += " " + shell_word(word);
  text += "exec 3<&0\nsetsid" + program + " </dev/null 3<&- & p=$!\n";
  text += "{ while read -r _ <&3; do :; done; kill -TERM -$p; sleep " + std::to_string(grace) +
          "; kill -KILL -$p; } >/dev/null 2>&1 & w=$!\n";
  text += "wait $p; s=$?; kill $w 2>/dev/null; kill -KILL -$p 2>/dev/null; exit $s";
  return "exec sh -c " + shell_word(text);
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

}  // namespace

std::vector<RankPlan> plan_ranks(const LaunchConfig& config) {
  std::vector<Host> hosts = {{"localhost", std::max(1, config.processes)}};
  if (!config.hosts.empty()) hosts = parse_hosts(config.hosts);
  int places = 0;
  for (const Host& host : hosts) places += host.places;
  const int processes = config.processes > 0 ? config.processes : places;
  if (processes > places)
    detail::throw_wrong_setting("-n", "at most the " + std::to_string(places) + " places of --hosts",
                                std::to_string(processes));
  std::vector<RankPlan> ranks = place_ranks(hosts, processes);
  const bool has_loopback = std::any_of(
      ranks.begin(), ranks.end(), [](const RankPlan& rank) { return detail::is_loopback_host(rank.host); });
  const bool has_others =
      std::any_of(ranks.begin(), ranks.end(), [](const RankPlan& rank) { return !rank.is_local; });
  if (has_loopback && has_others)
    detail::throw_wrong_setting("--hosts", "the name by which other hosts reach this one", "localhost",
                                "On each host localhost is that host itself.");
  const std::vector<std::string> addresses = rank_addresses(ranks);
  for (RankPlan& rank : ranks) add_variables(rank, addresses);
  return ranks;
}

std::string coordinator_host(const LaunchConfig& config, const std::vector<RankPlan>& ranks) {
  if (!config.coordinator.empty()) return config.coordinator;
  std::string host = "127.0.0.1";
  for (const RankPlan& rank : ranks) {
    if (rank.is_local) continue;
    const std::string address = detail::address_towards({rank.host, 22});
    if (!address.empty()) return address;
    host = detail::host_name();  // ssh may know the other one by a name of its own
  }
  return host;
}

std::vector<std::string> arguments_of(const LaunchConfig& config, const RankPlan& rank, int restart) {
  if (rank.is_local) return config.command;
  const std::string command = remote_command(config, rank, restart);
  std::vector<std::string> arguments;
  for (size_t begin = 0; begin < config.ssh.size();) {
    const size_t end = std::min(config.ssh.find(' ', begin), config.ssh.size());
    if (end > begin)
      arguments.push_back(replaced(replaced(config.ssh.substr(begin, end - begin), "{host}", rank.host),
                                   "{command}", command));
    begin = end + 1;
  }
  return arguments;
}

std::vector<std::string> environment_of(const RankPlan& rank, int restart) {
  std::vector<std::pair<std::string, std::string>> variables = rank.variables;
  variables.emplace_back("NYALA_RESTART_COUNT", std::to_string(restart));
  if (!rank.token.empty()) variables.emplace_back("NYALA_TOKEN", rank.token);
  std::vector<std::string> all;
  for (char** entry = ::environ; *entry; ++entry) {
    const std::string text = *entry, name = text.substr(0, text.find('='));
    const auto is_set = [&](const auto& variable) { return variable.first == name; };
    if (std::none_of(variables.begin(), variables.end(), is_set)) all.push_back(text);
  }
  for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
  return all;
}

}  // namespace nyala::tools
