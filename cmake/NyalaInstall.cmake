# cmake --install, and what find_package(nyala CONFIG) reads: the target nyala::nyala.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY NYALA_LIBRARIES)
install(TARGETS nyala ${libraries} EXPORT nyalaTargets ARCHIVE LIBRARY)
install(CODE "include(\"${PROJECT_SOURCE_DIR}/cmake/NyalaPublicHeaders.cmake\")
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_PREFIX NORMALIZE OUTPUT_VARIABLE prefix)
cmake_path(APPEND prefix \"${CMAKE_INSTALL_INCLUDEDIR}\" nyala OUTPUT_VARIABLE headers)
nyala_install_headers(\"${PROJECT_SOURCE_DIR}\" \"\${headers}\")")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/nyala")
install(EXPORT nyalaTargets NAMESPACE nyala:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/nyalaConfig.cmake.in "${PROJECT_BINARY_DIR}/nyalaConfig.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/nyalaConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/nyalaConfig.cmake" "${PROJECT_BINARY_DIR}/nyalaConfigVersion.cmake"
        cmake/FindNyalaHdf5.cmake cmake/FindNyalaGrpc.cmake DESTINATION "${package_dir}")

file(RELATIVE_PATH pc_to_prefix "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
set(NYALA_GLOO_FILE $<TARGET_FILE:gloo>)
if(NOT NYALA_HAS_GLOO)
  set(NYALA_GLOO_FILE "")
endif()
configure_file(cmake/nyala.pc.in "${PROJECT_BINARY_DIR}/nyala.pc.in" @ONLY)
file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/nyala.pc" INPUT "${PROJECT_BINARY_DIR}/nyala.pc.in")
install(FILES "${PROJECT_BINARY_DIR}/nyala.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
