#include <nyala/backend/core/error.h>
#include <nyala/strategies/control/control_transport.h>

namespace nyala::detail {

ControlSecurity control_security_of(const Environment& environment) {
  const auto text = [&](const char* name) { return environment.get(name).value_or(""); };
  const std::string insecure = text("NYALA_INSECURE");
  if (!insecure.empty() && insecure != "0" && insecure != "1")
    throw_wrong_setting("NYALA_INSECURE", "0 or 1", in_quotes(insecure));
  return {.token = text("NYALA_TOKEN"),
          .ca_file = text("NYALA_TLS_CA"),
          .certificate_file = text("NYALA_TLS_CERT"),
          .key_file = text("NYALA_TLS_KEY"),
          .insecure = insecure == "1"};
}

void check_control_security(const HostPort& address, const ControlSecurity& security) {
  const int files =
      !security.ca_file.empty() + !security.certificate_file.empty() + !security.key_file.empty();
  if (files != 0 && files != 3)
    throw InvalidArgumentError(
        "control plane: TLS needs three files, the authority's certificate (NYALA_TLS_CA), this process' "
        "certificate "
        "(NYALA_TLS_CERT) and its key (NYALA_TLS_KEY); received " +
        std::to_string(files));
  if (security.token.size() > kMaxControlToken)
    throw InvalidArgumentError("control plane: a token of " + std::to_string(security.token.size()) +
                               " bytes, at most " + std::to_string(kMaxControlToken));
  if (is_loopback_host(address.host) || files == 3 || !security.token.empty() || security.insecure) return;
  throw InvalidArgumentError("control plane: " + address.text() +
                             " can be reached from other machines, and neither a token nor TLS says who may "
                             "take part. Give all processes the "
                             "same NYALA_TOKEN, or certificates (NYALA_TLS_CA, NYALA_TLS_CERT, "
                             "NYALA_TLS_KEY), or set NYALA_INSECURE=1 where "
                             "nobody else is in that network.");
}

}  // namespace nyala::detail
