# With Gloo, where it is found, gloo_communicator.cpp and gloo_links.cpp join the strategies in place of no_gloo.cpp.

if(NYALA_HAS_GLOO)
  set(gloo_folder "${PROJECT_SOURCE_DIR}/strategies/communicators")
  target_sources(nyala_strategies PRIVATE "${gloo_folder}/gloo_communicator.cpp" "${gloo_folder}/gloo_links.cpp")
  target_link_libraries(nyala_strategies PRIVATE gloo)
  set_source_files_properties("${gloo_folder}/gloo_links.cpp" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
                              INCLUDE_DIRECTORIES "${NYALA_GLOO_HEADERS}")
endif()
