#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nyala::detail {

/// What a process asks of the control plane.
/// `find` asks any process that could serve where the control plane is, and is answered at once.
enum class ControlCall : uint8_t { join, watch, set, get, wait, barrier, agree, abort, preempt, leave, find };

/// Names and values that all processes have to have in common.
using ControlFacts = std::vector<std::pair<std::string, std::string>>;

/// A generation as a process knows it: those of which a majority has to take part in the next one.
struct ControlBase {
  uint64_t generation = 0;
  bool is_established = false;           ///< all its members have come; else it was only announced
  std::vector<uint64_t> processes = {};  ///< the lowest rank's first

  friend bool operator==(const ControlBase&, const ControlBase&) = default;
};

struct ControlRequest {
  ControlCall call = ControlCall::get;
  int32_t rank = 0, size = 1;  ///< as the process was started; a generation may give it another rank
  uint32_t timeout_ms = 0;
  uint64_t generation = 0;
  uint64_t process = 0;  ///< drawn by each process at its start: another one with the same rank differs
  uint64_t seen = 0;     ///< of a watch: how many notices it knows
  std::string token = {};
  std::string name =
      {};  ///< a key, a barrier, what is agreed on; of a join the host; of an abort kForGood or ""
  std::string value = {};  ///< of a key; the text of an abort or a notice; of a join the address,
                           ///< of a find where the asker would serve
  std::string place = {};  ///< of a join: the same for processes that can share memory
  ControlFacts facts = {};
  std::vector<ControlBase> bases = {};  ///< of a join, where processes elect who serves
};

/// The key by which a member says whether those who come later may end this generation: "1"; unset: not yet.
inline constexpr const char* kTakesNewcomers = "takes-newcomers";

/// Of an abort behind which its processes begin no other generation.
inline constexpr const char* kForGood = "for good";

enum class ControlStatus : uint8_t { ok, refused, timeout, aborted, lost, closing, over, elsewhere };

struct ControlMember {
  std::string host, address, place;
  int32_t started_as = 0;  ///< its rank when it was started
  uint64_t process = 0;
};

struct ControlReply {
  ControlStatus status = ControlStatus::ok;
  bool found = false;  ///< of get; of find: whether a generation lives there
  /// Of a join: the asker's in this generation; of elsewhere: who serves, as it was started; else that was
  /// lost or began an abort.
  int32_t rank = -1;
  uint64_t generation = 0;
  uint64_t notices = 0;    ///< of a watch: how many there are
  std::string value = {};  ///< of a key; the last notice; of elsewhere: where, "" where that is not known
  std::string text = {};   ///< why the status is not ok
  std::vector<ControlMember> members = {};
};

/// The most that a message may have; a decoder takes no more, whatever a message says.
inline constexpr size_t kMaxControlMessage = 4 << 20, kMaxControlText = 65536, kMaxControlName = 256,
                        kMaxControlToken = 4096, kMaxControlFacts = 64, kMaxControlMembers = 4096,
                        kMaxControlBases = 64;

/// As bytes: numbers little-endian, texts with their length in front. Throw InvalidArgumentError for what is
/// longer than the most.
std::string encode(const ControlRequest& request);
std::string encode(const ControlReply& reply);

/// Throw CommunicationError naming the place for bytes that are no message: another version, an unknown kind,
/// a length beyond the end or the most, bytes left over.
ControlRequest decode_control_request(std::string_view bytes);
ControlReply decode_control_reply(std::string_view bytes);

}  // namespace nyala::detail
