#include <nyala/backend/core/version.h>

namespace nyala {

std::string_view version() { return NYALA_VERSION; }

}  // namespace nyala
