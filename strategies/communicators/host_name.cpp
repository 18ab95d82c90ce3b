#include <nyala/strategies/communicators/host_name.h>

#include <unistd.h>

namespace nyala::detail {

const std::string& host_name() {
  static const std::string& name = *new std::string([] {
    char text[256] = {};
    return ::gethostname(text, sizeof text - 1) == 0 && text[0] ? std::string(text)
                                                                : std::string("this host");
  }());
  return name;
}

}  // namespace nyala::detail
