// What a process was told of a generation it cannot unsay: its members may be at work. What it was not told
// it does not know. So a generation counts from the moment when it was announced, beside the last one in
// which all had come, and stands alone once all have come in it: from then on none of its members can be
// counted for another generation without bringing it along.
#include <nyala/strategies/control/control_quorum.h>

#include <algorithm>

namespace nyala::detail {

std::vector<ControlBase> joint_bases(std::span<const ControlBase> known) {
  uint64_t established = 0;
  for (const ControlBase& base : known)
    if (base.is_established) established = std::max(established, base.generation);
  std::vector<ControlBase> joint;
  for (const ControlBase& base : known) {
    const bool counts = base.is_established ? base.generation == established : base.generation > established;
    const auto is_same = [&](const ControlBase& other) { return other.processes == base.processes; };
    if (counts && std::ranges::none_of(joint, is_same)) joint.push_back(base);
  }
  return joint;
}

std::optional<ControlBase> base_without_majority(std::span<const ControlBase> bases,
                                                 const std::set<uint64_t>& here) {
  for (const ControlBase& base : bases) {
    const auto count = 2 * static_cast<size_t>(std::ranges::count_if(
                               base.processes, [&](uint64_t process) { return here.contains(process); }));
    const size_t all = base.processes.size();
    const bool is_half = count == all && all > 0 && here.contains(base.processes.front());
    if (count <= all && !is_half) return base;
  }
  return std::nullopt;
}

void note_base(std::vector<ControlBase>& bases, ControlBase base) {
  bases.push_back(std::move(base));
  bases = joint_bases(bases);
}

}  // namespace nyala::detail
