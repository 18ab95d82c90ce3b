# Flags of single source files. Which of the variants runs is decided at run time, by the CPU found: nothing here
# follows the machine that compiles. Headers precompiled without these flags are of no use here.

set(NYALA_AVX2_FLAGS -mavx2 -mfma -mf16c)
set(NYALA_AVX512_FLAGS -mavx512f -mavx512bw -mavx512dq -mavx512vl ${NYALA_AVX2_FLAGS})

file(GLOB_RECURSE kernel_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/backend/kernels/*.cpp")
foreach(source IN LISTS kernel_sources)
  set(flags -fno-math-errno -fno-trapping-math $<$<CONFIG:Release>:-O3>)
  if(source MATCHES "_avx512\\.cpp$")
    list(APPEND flags ${NYALA_AVX512_FLAGS})
  elseif(source MATCHES "_avx2\\.cpp$")
    list(APPEND flags ${NYALA_AVX2_FLAGS})
  endif()
  set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS "${flags}" SKIP_PRECOMPILE_HEADERS ON)
endforeach()

# Loops over what ranks bring are kernels as well.
set_source_files_properties("${PROJECT_SOURCE_DIR}/strategies/communicators/combine.cpp" PROPERTIES
                            COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3>" SKIP_PRECOMPILE_HEADERS ON
                            SKIP_UNITY_BUILD_INCLUSION ON)
