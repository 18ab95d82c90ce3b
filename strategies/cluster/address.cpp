#include <nyala/strategies/cluster/address.h>

#include <arpa/inet.h>

#include <algorithm>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/strategies/cluster/environment.h>

namespace nyala::detail {

std::string HostPort::text() const {
  const bool six = host.find(':') != std::string::npos;
  return (six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool is_host(const std::string& text) {
  const auto fits = [](char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == '_'; };
  return !text.empty() && text.size() <= 253 && text[0] != '-' && std::all_of(text.begin(), text.end(), fits);
}

std::optional<HostPort> parse_address(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  const std::optional<int> port = parse_whole_number(std::string_view(text).substr(colon + 1), 1, 65535);
  if (!port) return std::nullopt;
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    in6_addr parsed;
    const bool six = inet_pton(AF_INET6, host.c_str(), &parsed) == 1;
    return six ? std::optional(HostPort{host, *port}) : std::nullopt;
  }
  return is_host(host) ? std::optional(HostPort{host, *port}) : std::nullopt;
}

bool is_loopback_host(const std::string& host) {
  return host == "localhost" || host == "::1" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos);
}

}  // namespace nyala::detail
