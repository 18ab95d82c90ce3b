#include <nyala/backend/runtime/system_random.h>

#include <random>

namespace nyala {

uint64_t detail::system_random() {
  std::random_device device;
  return static_cast<uint64_t>(device()) << 32 | device();
}

}  // namespace nyala
