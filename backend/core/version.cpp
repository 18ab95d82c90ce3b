#include <nyala/backend/core/version.h>

#define NYALA_TEXT_OF(number) #number
#define NYALA_DOTTED(major, minor, patch) \
  NYALA_TEXT_OF(major) "." NYALA_TEXT_OF(minor) "." NYALA_TEXT_OF(patch)

namespace nyala {

std::string_view version() {
  return NYALA_DOTTED(NYALA_VERSION_MAJOR, NYALA_VERSION_MINOR, NYALA_VERSION_PATCH);
}

}  // namespace nyala
