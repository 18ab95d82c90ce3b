# NYALA_GLOO_TAKES_SOCKETS: whether a class derived from Gloo's connection over TCP can be given a socket that is connected
# already, as gloo_links.cpp does. NYALA_GLOO_HEADERS: what its headers include and Debian's package lacks.
include(CheckCXXSourceCompiles)
include(CMakePushCheckState)

set(NYALA_GLOO_HEADERS "")
find_file(NYALA_GLOO_MEMORY_HEADER gloo/common/memory.h)
mark_as_advanced(NYALA_GLOO_MEMORY_HEADER)
if(NOT NYALA_GLOO_MEMORY_HEADER)
  set(NYALA_GLOO_HEADERS "${PROJECT_SOURCE_DIR}/cmake/gloo")
endif()

cmake_push_check_state()
list(APPEND CMAKE_REQUIRED_LIBRARIES gloo)
list(APPEND CMAKE_REQUIRED_INCLUDES ${NYALA_GLOO_HEADERS})
check_cxx_source_compiles("
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
struct Given : gloo::transport::tcp::Pair {
  using Pair::Pair;
  void handleEvents(int events) override { Pair::handleEvents(events); }
  void give(int socket) {
    device_->unregisterDescriptor(fd_, this);
    fd_ = socket;
    handleConnected();
    if (state_ == LISTENING && !rx_.ubuf) signalException(\"closed\");
  }
};
int main() { return sizeof(Given) + sizeof(gloo::transport::tcp::Context) > 0 ? 0 : 1; }
" NYALA_GLOO_TAKES_SOCKETS)
cmake_pop_check_state()
