#pragma once

#include <optional>
#include <string>

namespace nyala::detail {

/// "host:port" in parts; of "[::1]:80" the host is "::1".
struct HostPort {
  std::string host;
  int port = 0;

  /// As parse_address() reads it.
  std::string text() const;
};

/// What an address has to be like, for messages.
inline constexpr const char* kAddressForm = "an address host:port with a port from 1 to 65535";

/// None unless the text is a host (letters, digits, '.', '-', '_'; IPv6 in brackets) and a port from 1 to
/// 65535.
std::optional<HostPort> parse_address(const std::string& text);

/// Whether it is a host of kAddressForm.
bool is_host(const std::string& text);

/// Whether the name is that of this machine to itself: localhost, 127.x.x.x, ::1. Looks nothing up.
bool is_loopback_host(const std::string& host);

}  // namespace nyala::detail
