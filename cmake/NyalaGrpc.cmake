# With gRPC, where it is found, strategies/control and strategies/parameter_server have their files grpc_*.cpp, else the
# twins no_grpc*.cpp.

set(NYALA_HAS_GRPC OFF)
set(NYALA_GRPC_PC "") # for pkg-config
if(NYALA_GRPC)
  find_package(NyalaGrpc QUIET)
  set(NYALA_HAS_GRPC ${NyalaGrpc_FOUND})
endif()
if(NYALA_HAS_GRPC)
  set(unused "/strategies/[a-z_]+/no_grpc[a-z_]*.cpp$")
  list(JOIN NYALA_GRPC_LIBRARIES " " NYALA_GRPC_PC)
  target_link_libraries(nyala_strategies PRIVATE nyala_deps::grpc)
  file(GLOB grpc_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/strategies/control/grpc_*.cpp"
       "${PROJECT_SOURCE_DIR}/strategies/parameter_server/grpc_*.cpp")
  set_source_files_properties(${grpc_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  message(STATUS "gRPC: ${NYALA_GRPC_LIBRARY}")
else()
  set(unused "/strategies/[a-z_]+/grpc_[a-z_]+.cpp$")
  message(STATUS "gRPC: none (libgrpc++-dev), so that there is no control plane of several processes")
endif()
get_target_property(strategy_sources nyala_strategies SOURCES)
list(FILTER strategy_sources EXCLUDE REGEX "${unused}")
set_target_properties(nyala_strategies PROPERTIES SOURCES "${strategy_sources}")
