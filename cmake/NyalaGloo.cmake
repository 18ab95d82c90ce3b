# With Gloo, where it is found, gloo_communicator.cpp joins the strategies in place of no_gloo.cpp.

if(NYALA_HAS_GLOO)
  target_sources(nyala_strategies PRIVATE "${PROJECT_SOURCE_DIR}/strategies/communicators/gloo_communicator.cpp")
  target_link_libraries(nyala_strategies PRIVATE gloo)
endif()
