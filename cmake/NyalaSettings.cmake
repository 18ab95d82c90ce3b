# Settings that hold for every target: language, build type, warnings, sanitizers, ccache, the include root.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Inside another project its build type holds. Where it has none, our own sources are optimised all the same.
set(NYALA_OPTIMISATION "")
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  else()
    set(NYALA_OPTIMISATION -O2)
  endif()
endif()

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(NYALA_CCACHE ccache)
  mark_as_advanced(NYALA_CCACHE)
  if(NYALA_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${NYALA_CCACHE}")
  endif()
endif()

# Headers are included as <nyala/api/layers/core/dense.h>, in the tree as when installed: the build tree links its root.
set(NYALA_INCLUDE_ROOT "${PROJECT_BINARY_DIR}/include")
file(MAKE_DIRECTORY "${NYALA_INCLUDE_ROOT}")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}" "${NYALA_INCLUDE_ROOT}/nyala" SYMBOLIC)

# nyala_target_settings(<target>): warnings and sanitizers, for our own targets only.
function(nyala_target_settings target)
  target_compile_options(${target} PRIVATE ${NYALA_OPTIMISATION} -Wall -Wextra -Wshadow $<$<BOOL:${NYALA_WARNINGS_AS_ERRORS}>:-Werror>)
  if(NYALA_SANITIZE)
    set(flags -fsanitize=${NYALA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_compile_options(${target} PRIVATE ${flags})
    target_link_options(${target} PUBLIC ${flags})
  endif()
endfunction()

# nyala_precompile_headers(<target> [<header>...]): the standard headers that most files need, and these of other
# libraries, are read once per target. None of our own is among them: a compiler cache may answer with a precompiled
# header from before such a header was changed.
function(nyala_precompile_headers target)
  if(NYALA_PRECOMPILED_HEADERS)
    # So that ccache may keep what includes them.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory>
                              <mutex> <optional> <set> <span> <stdexcept> <string> <string_view>
                              <utility> <vector> ${ARGN})
  endif()
endfunction()

# nyala_unity_build(<target> <source>... [EXCEPT <regex>...]): with NYALA_UNITY_BUILD the sources of one folder are
# compiled together, eight at a time, but for those whose path matches; nothing else changes, and each file compiles
# alone as well. What lies in one folder must not give two things one name, not even in unnamed namespaces
# (tests/repo/unity_names_test.cpp checks the tests: one that shares a name has a namespace of its file's name).
function(nyala_unity_build target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "EXCEPT")
  if(NOT NYALA_UNITY_BUILD)
    return()
  endif()
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    set(together TRUE)
    foreach(pattern IN LISTS arg_EXCEPT)
      if(source MATCHES "${pattern}")
        set(together FALSE)
      endif()
    endforeach()
    if(together)
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE group)
      cmake_path(GET group PARENT_PATH group)
      string(REPLACE "/" "_" group "${group}")
      math(EXPR count_${group} "0${count_${group}} + 1")
      math(EXPR batch "(${count_${group}} - 1) / 8 + 1")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${group}_${batch}")
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
