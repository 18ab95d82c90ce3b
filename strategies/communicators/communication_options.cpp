#include <nyala/strategies/communicators/communication_options.h>

#include <string>

#include <nyala/backend/core/error.h>

namespace nyala {

std::string_view name_of(CommunicationImplementation implementation) {
  switch (implementation) {
    case CommunicationImplementation::automatic:
      return "automatic";
    case CommunicationImplementation::shared_memory:
      return "shared_memory";
    case CommunicationImplementation::gloo:
      return "gloo";
    case CommunicationImplementation::nccl:
      return "nccl";
  }
  return "unknown";
}

void detail::check_communication_options(const CommunicationOptions& options) {
  if (options.bytes_per_pack < 0)
    throw InvalidArgumentError("CommunicationOptions: bytes_per_pack: expected 0 or more, received " +
                               std::to_string(options.bytes_per_pack));
  if (options.timeout.count() <= 0)
    throw InvalidArgumentError("CommunicationOptions: timeout: expected more than 0 ms, received " +
                               std::to_string(options.timeout.count()));
  if (!is_wire_dtype(options.wire_dtype))
    throw InvalidArgumentError(
        "CommunicationOptions: wire_dtype: expected float32 or bfloat16, received " +
        std::string(name_of(options.wire_dtype)) +
        (options.wire_dtype == DType::float16 ? "; sums of gradients leave the range of float16" : ""));
}

}  // namespace nyala
