#include <nyala/strategies/cluster/first_worker.h>

#include <cstdint>

#include <nyala/backend/core/error.h>

namespace nyala::detail {

ClusterSpec workers_behind(const HostPort& first, int count) {
  std::vector<std::string> addresses(static_cast<size_t>(count));
  addresses[0] = first.text();
  return ClusterSpec({{"worker", addresses}});
}

std::string required_host(const Environment& environment, const VariableRule& rule) {
  std::string text = required_variable(environment, rule);
  const std::string probe = text.find(':') == std::string::npos ? text : "[" + text + "]";
  if (!parse_address(probe + ":1"))
    throw_wrong_setting(rule.name, "the name or address of a host", in_quotes(text), rule.hint);
  return text;
}

int port_of_text(const std::string& text) {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return 20000 + static_cast<int>(hash % 12768u);
}

}  // namespace nyala::detail
