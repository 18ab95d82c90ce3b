#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <nyala/strategies/control/control_message.h>

namespace nyala::detail {

/// The generations that count among those that some processes know: the last established one, and those that
/// were announced after it. One that is established has replaced all before it: each of its members knows it.
std::vector<ControlBase> joint_bases(std::span<const ControlBase> known);

/// The first generation of which no majority is in `here`; none where all have one. Of an even number half is
/// enough where the lowest rank is among them. So two parts of one generation never both go on.
std::optional<ControlBase> base_without_majority(std::span<const ControlBase> bases,
                                                 const std::set<uint64_t>& here);

/// Takes note of a generation that was announced to this process, or in which all have come.
void note_base(std::vector<ControlBase>& bases, ControlBase base);

}  // namespace nyala::detail
