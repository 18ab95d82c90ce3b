# Everything from outside. The names of the Debian packages are in scripts/packages.txt.

find_package(Threads REQUIRED)
find_package(OpenMP QUIET COMPONENTS CXX)
if(NOT OpenMP_CXX_FOUND)
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER} finds no OpenMP here. clang has it in a package of its own: install "
                      "libomp-dev (of clang 14: libomp-14-dev), or build with g++: -DCMAKE_CXX_COMPILER=g++")
endif()
# oneDNN 2.6 or 3.x, by way of CMAKE_PREFIX_PATH or dnnl_DIR, which CMake replaces silently where it is wrong.
if(dnnl_DIR AND NOT EXISTS "${dnnl_DIR}/dnnl-config.cmake")
  message(FATAL_ERROR "dnnl_DIR is '${dnnl_DIR}', where no dnnl-config.cmake lies")
endif()
find_package(dnnl CONFIG REQUIRED)
find_package(Eigen3 3.4 CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(nlohmann_json 3.11 CONFIG REQUIRED)
find_package(CURL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(NyalaHdf5 REQUIRED)

# Optional: between processes on several hosts.
set(NYALA_HAS_GLOO OFF)
if(NYALA_GLOO)
  find_package(Gloo CONFIG QUIET)
  if(Gloo_FOUND)
    include(NyalaFindGlooPairs)
    set(NYALA_HAS_GLOO ${NYALA_GLOO_TAKES_SOCKETS})
  endif()
endif()

find_path(NYALA_STB_INCLUDE_DIR stb/stb_image.h REQUIRED)
mark_as_advanced(NYALA_STB_INCLUDE_DIR)
add_library(nyala_stb INTERFACE)
target_include_directories(nyala_stb SYSTEM INTERFACE "${NYALA_STB_INCLUDE_DIR}")

message(STATUS "oneDNN ${dnnl_VERSION} (${dnnl_DIR})")
if(NYALA_HAS_GLOO)
  message(STATUS "Gloo ${GLOO_VERSION} (${Gloo_DIR})")
elseif(NYALA_GLOO AND Gloo_FOUND)
  message(STATUS "Gloo ${GLOO_VERSION} (${Gloo_DIR}) is not used: its pairs take no sockets from Nyala, as those of "
                 "Debian 12 do; processes have to be on one host")
else()
  message(STATUS "Gloo: none (libgloo-dev), so that processes have to be on one host")
endif()
