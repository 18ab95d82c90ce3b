# Only what a program can reach is installed: these headers and all that they include. The others are how the
# libraries are made.

cmake_policy(PUSH)
cmake_policy(VERSION 3.25) # the install script that includes this file sets none

set(NYALA_PUBLIC_HEADERS nyala.h fwd.h api/eigen.h)
set(NYALA_EXAMPLE_HEADERS examples/support/arguments.h examples/support/strategy_argument.h) # so that examples compile

# nyala_install_headers(<source> <destination>): run at install time.
function(nyala_install_headers source destination)
  set(open ${NYALA_PUBLIC_HEADERS} ${NYALA_EXAMPLE_HEADERS})
  set(done "")
  while(open)
    list(POP_FRONT open header)
    if(header IN_LIST done)
      continue()
    endif()
    list(APPEND done "${header}")
    file(STRINGS "${source}/${header}" lines REGEX "^#include <nyala/")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include <nyala/([^>]*)>.*" "\\1" included "${line}")
      list(APPEND open "${included}")
    endforeach()
    cmake_path(GET header PARENT_PATH folder)
    file(INSTALL DESTINATION "${destination}/${folder}" TYPE FILE FILES "${source}/${header}")
  endwhile()
endfunction()

cmake_policy(POP)
