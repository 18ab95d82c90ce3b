# nyala_add_library(<folder> [PUBLIC ...] [PRIVATE ...] [HEADER_ONLY ...])
#   One library nyala_<folder> from all sources below <folder>, static unless BUILD_SHARED_LIBS is on. HEADER_ONLY names header libraries that only
#   the .cpp files of the folder see: they are needed to build, not to use the installed package.
#   Sources below a folder `cuda` are left to NyalaCuda.cmake; no_cuda.cpp is their twin without the toolkit. So is
#   no_gloo.cpp that of what NyalaGloo.cmake adds.
#   A folder without sources becomes an interface library, so that the chain of libraries stays whole.
function(nyala_add_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PUBLIC;PRIVATE;HEADER_ONLY;ALONE")
  set(target nyala_${folder})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "/cuda/|/gloo_[a-z]+\\.cpp$")
  if(NYALA_HAS_GLOO)
    list(FILTER sources EXCLUDE REGEX "/no_gloo\\.cpp$")
  endif()
  if(NYALA_CUDA)
    list(FILTER sources EXCLUDE REGEX "/no_cuda\\.cpp$")
  endif()
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(FILTER sources EXCLUDE REGEX "_(avx2|avx512)\\.cpp$")
  endif()

  if(sources)
    set(public PUBLIC)
    add_library(${target} ${sources})
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${NYALA_ABI} DEFINE_SYMBOL ""
                          INSTALL_RPATH "$ORIGIN")
    # Shared ones stay when the plugin that brought them is closed: threads wait inside.
    target_link_options(${target} PRIVATE $<$<BOOL:${BUILD_SHARED_LIBS}>:LINKER:-z,nodelete>)
    nyala_target_settings(${target})
    nyala_precompile_headers(${target})
    nyala_unity_build(${target} ${sources} EXCEPT ${arg_ALONE})
    target_link_libraries(${target} PRIVATE ${arg_PRIVATE})
    foreach(library IN LISTS arg_HEADER_ONLY)
      target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:${library}>)
    endforeach()
  else()
    set(public INTERFACE)
    add_library(${target} INTERFACE)
  endif()
  target_compile_features(${target} ${public} cxx_std_20)
  target_link_libraries(${target} ${public} ${arg_PUBLIC})
  target_include_directories(${target} ${public} "$<BUILD_INTERFACE:${NYALA_INCLUDE_ROOT}>"
                             "$<INSTALL_INTERFACE:include>")
  set_property(GLOBAL APPEND PROPERTY NYALA_LIBRARIES ${target})
endfunction()
