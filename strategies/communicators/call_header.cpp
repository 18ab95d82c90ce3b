#include <nyala/strategies/communicators/call_header.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace nyala::detail {

namespace {

constexpr const char* kCollectiveNames[] = {"all_reduce", "reduce_scatter", "all_gather", "broadcast",
                                            "barrier"};
constexpr const char* kCollectiveOps[] = {"sum", "max", "min"};

template <size_t n, class Enum>
const char* name_in(const char* const (&names)[n], Enum value) {
  const auto index = static_cast<size_t>(value);
  return index < n ? names[index] : "unknown";
}

}  // namespace

uint64_t stable_hash(const void* data, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  const auto* at = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ at[i]) * 0x100000001b3u;
  return hash;
}

void CallHeader::set_what(std::string_view text) {
  what_hash = stable_hash(text.data(), text.size());
  constexpr size_t kMost = sizeof what - 1;
  std::string shown(text);
  if (shown.size() > kMost) {  // what differs may stand at its end
    constexpr std::string_view kGap = "...";
    constexpr size_t kFirst = (kMost - kGap.size()) / 2, kLast = kMost - kGap.size() - kFirst;
    shown.replace(kFirst, shown.size() - kFirst - kLast, kGap);
  }
  std::copy_n(shown.data(), shown.size(), what);
  std::fill(what + shown.size(), what + sizeof what, '\0');
}

bool same_call(const CallHeader& a, const CallHeader& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

std::string call_text(const CallHeader& header) {
  std::string text = name_in(kCollectiveNames, header.kind);
  const size_t length = ::strnlen(header.what, sizeof header.what);
  if (length > 0) text += " '" + std::string(header.what, length) + "'";
  const std::string count = std::to_string(header.count);
  switch (header.kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::reduce_scatter: {
      const bool known = header.dtype.index() <= DType::float16.index();
      return text + " (" + name_in(kCollectiveOps, header.op) + " of " + count + " " +
             (known ? std::string(name_of(header.dtype)) : "unknown") + ")";
    }
    case CollectiveKind::broadcast:
      return text + " (" + count + " bytes of rank " + std::to_string(header.root) + ")";
    case CollectiveKind::all_gather:
      return text + " (" + count + " bytes)";
    default:
      return text;
  }
}

}  // namespace nyala::detail
