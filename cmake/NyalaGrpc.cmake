# With gRPC, where it is found, strategies/control has grpc_settings.cpp and grpc_transport.cpp, else their twin
# no_grpc.cpp.

set(NYALA_HAS_GRPC OFF)
set(NYALA_GRPC_PC "") # for pkg-config
if(NYALA_GRPC)
  find_package(NyalaGrpc QUIET)
  set(NYALA_HAS_GRPC ${NyalaGrpc_FOUND})
endif()
if(NYALA_HAS_GRPC)
  set(unused "/strategies/control/no_grpc.cpp$")
  list(JOIN NYALA_GRPC_LIBRARIES " " NYALA_GRPC_PC)
  target_link_libraries(nyala_strategies PRIVATE nyala_deps::grpc)
  set_source_files_properties("${PROJECT_SOURCE_DIR}/strategies/control/grpc_settings.cpp"
                              "${PROJECT_SOURCE_DIR}/strategies/control/grpc_transport.cpp"
                              PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  message(STATUS "gRPC: ${NYALA_GRPC_LIBRARY}")
else()
  set(unused "/strategies/control/grpc_(settings|transport).cpp$")
  message(STATUS "gRPC: none (libgrpc++-dev), so that there is no control plane of several processes")
endif()
get_target_property(strategy_sources nyala_strategies SOURCES)
list(FILTER strategy_sources EXCLUDE REGEX "${unused}")
set_target_properties(nyala_strategies PROPERTIES SOURCES "${strategy_sources}")
