# See CMakeLists.txt. Stops with an error at the first step that fails.
function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
  message(STATUS "${what}: ok")
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")
set(prefix "${WORK_DIR}/prefix")
step("install" "${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${prefix}")

# The tree must not be needed any more: nothing that was installed may name it.
file(GLOB_RECURSE config_files "${prefix}/*.cmake")
if(NOT config_files)
  message(FATAL_ERROR "no CMake package was installed")
endif()
foreach(file IN LISTS config_files)
  file(READ "${file}" text)
  string(FIND "${text}" "${BUILD_DIR}/include" place)
  if(NOT place EQUAL -1)
    message(FATAL_ERROR "${file} names the build tree")
  endif()
endforeach()

file(COPY "${PROJECT_DIR}/" DESTINATION "${WORK_DIR}/project")
step("configure" "${CMAKE_COMMAND}" -S "${WORK_DIR}/project" -B "${WORK_DIR}/build" -G "${GENERATOR}"
     "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_PREFIX_PATH=${prefix};${PREFIX_PATH}" "-Ddnnl_DIR=${dnnl_DIR}"
     "-DEXPECTED_VERSION=${VERSION}")
step("build" "${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
step("run" "${WORK_DIR}/build/outside")
if(NOT output MATCHES "nyala ${VERSION}: trained")
  message(FATAL_ERROR "the program printed something else:\n${output}")
endif()
message(STATUS "${output}")

# The examples, of which one uses each of the headers that they share.
step("configure examples" "${CMAKE_COMMAND}" -S "${PROJECT_DIR}/../../../examples" -B "${WORK_DIR}/examples"
     -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_PREFIX_PATH=${prefix};${PREFIX_PATH}"
     "-Ddnnl_DIR=${dnnl_DIR}" -DCMAKE_BUILD_TYPE=Debug)
step("build examples" "${CMAKE_COMMAND}" --build "${WORK_DIR}/examples" --target several_processes cut_features)

# The same program by way of pkg-config.
find_program(PKG_CONFIG pkg-config)
if(PKG_CONFIG)
  file(GLOB_RECURSE pc "${prefix}/nyala.pc")
  cmake_path(GET pc PARENT_PATH pc_folder)
  set(ENV{PKG_CONFIG_PATH} "${pc_folder}")
  step("pkg-config" "${PKG_CONFIG}" --cflags nyala)
  separate_arguments(flags UNIX_COMMAND "${output}")
  step("compile" "${CXX}" -c "${WORK_DIR}/project/main.cpp" ${flags} -o "${WORK_DIR}/main.o")
  foreach(which "--libs" "--libs --static") # the second asks for nothing that is not installed with Nyala's packages
    separate_arguments(which UNIX_COMMAND "${which}")
    step("pkg-config" "${PKG_CONFIG}" ${which} nyala)
    separate_arguments(libraries UNIX_COMMAND "${output}")
    step("link" "${CXX}" "${WORK_DIR}/main.o" ${libraries} -o "${WORK_DIR}/by_pkg_config")
    step("run" "${WORK_DIR}/by_pkg_config")
  endforeach()
  step("compile an example" "${CXX}" -fsyntax-only "${PROJECT_DIR}/../../../examples/csv_regression.cpp" ${flags})
endif()

# Inside another project (not built: that would be the whole library once more).
step("as a part" "${CMAKE_COMMAND}" -S "${PROJECT_DIR}/../parent" -B "${WORK_DIR}/parent" -G "${GENERATOR}"
     "-DCMAKE_CXX_COMPILER=${CXX}" "-DNYALA_SOURCE=${PROJECT_DIR}/../../.." "-Ddnnl_DIR=${dnnl_DIR}"
     "-DCMAKE_PREFIX_PATH=${PREFIX_PATH}")
step("install of the whole" "${CMAKE_COMMAND}" -DCMAKE_INSTALL_PREFIX=${WORK_DIR}/nothing
     -P "${WORK_DIR}/parent/cmake_install.cmake")
if(EXISTS "${WORK_DIR}/nothing")
  message(FATAL_ERROR "Nyala was installed with the project that it is a part of")
endif()
file(REMOVE_RECURSE "${WORK_DIR}")
