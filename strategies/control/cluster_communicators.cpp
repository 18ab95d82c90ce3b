#include <nyala/strategies/control/cluster_communicators.h>

#include <algorithm>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/communicators/gloo_communicator.h>
#include <nyala/strategies/communicators/hierarchical_communicator.h>
#include <nyala/strategies/communicators/nccl_communicator.h>
#include <nyala/strategies/communicators/shared_memory_communicator.h>

namespace nyala::detail {

ClusterCommunicators::ClusterCommunicators(CommunicatorOptions options,
                                           const std::vector<ControlMember>& members,
                                           std::shared_ptr<Rendezvous> rendezvous)
    : options_(std::move(options)), rendezvous_(std::move(rendezvous)) {
  const std::string& own = members[static_cast<size_t>(options_.rank)].place;
  std::vector<std::string> places;
  for (size_t rank = 0; rank < members.size(); ++rank) {
    const std::string& place = members[rank].place;
    if (std::find(places.begin(), places.end(), place) == places.end()) {
      if (place == own) host_ = static_cast<int>(places.size());
      places.push_back(place);
      if (places.size() <= 16) hosts_text_ += (hosts_text_.empty() ? "" : ", ") + members[rank].host;
    }
    if (place != own) continue;
    if (static_cast<int>(rank) < options_.rank) ++rank_in_host_;
    ++size_of_host_;
  }
  num_hosts_ = static_cast<int>(places.size());
}

ProcessCommunicators ClusterCommunicators::make(CommunicationImplementation implementation,
                                                std::stop_token stop, FormedBy formed_by) const {
  ProcessCommunicators made;
  made.steps = make_one(implementation, "steps", stop, formed_by);
  made.gradients = make_one(implementation, "gradients", stop, formed_by);
  return made;
}

std::shared_ptr<Communicator> ClusterCommunicators::make_one(CommunicationImplementation implementation,
                                                             const std::string& name,
                                                             const std::stop_token& stop,
                                                             FormedBy formed_by) const {
  CommunicatorOptions all = options_;
  all.name = name;
  switch (implementation) {
    case CommunicationImplementation::gloo:
      return gloo_communicator(all, rendezvous_, stop, formed_by);
    case CommunicationImplementation::nccl:
      return nccl_communicator(all, *rendezvous_);
    case CommunicationImplementation::shared_memory:
      if (num_hosts_ == 1) return shared_memory_communicator(all, *rendezvous_, stop, formed_by);
      throw InvalidArgumentError(
          "CommunicationOptions: implementation: expected automatic or gloo, since the processes share no "
          "memory (" +
          std::to_string(num_hosts_) + " hosts, containers or users: " + hosts_text_ +
          "), received shared_memory");
    case CommunicationImplementation::automatic:
      break;
  }
  if (num_hosts_ == 1) return shared_memory_communicator(all, *rendezvous_, stop, formed_by);
  return num_hosts_ == all.size ? gloo_communicator(all, rendezvous_, stop, formed_by)
                                : over_hosts(all, stop, formed_by);
}

std::shared_ptr<Communicator> ClusterCommunicators::over_hosts(const CommunicatorOptions& all,
                                                               const std::stop_token& stop,
                                                               FormedBy formed_by) const {
  CommunicatorOptions here = all;
  here.name = all.name + "-host" + std::to_string(host_);
  here.rank = rank_in_host_;
  here.size = size_of_host_;
  const auto inside = shared_memory_communicator(here, *rendezvous_, stop, formed_by);
  std::shared_ptr<Communicator> between;
  if (rank_in_host_ == 0) {
    CommunicatorOptions hosts = all;
    hosts.name = all.name + "-hosts";
    hosts.rank = host_;
    hosts.size = num_hosts_;
    between = gloo_communicator(hosts, rendezvous_, stop, formed_by);
  }
  const std::stop_callback end_when_told(stop, [&] {
    for (const auto& part : {inside, between})
      if (part) part->end("the group was given up while it formed");
  });
  return hierarchical_communicator(all, inside, between, formed_by);
}

}  // namespace nyala::detail
