# With NYALA_CUDA the sources below folders named `cuda` join the library of their folder, in place of no_cuda.cpp.

if(NYALA_CUDA)
  find_package(CUDAToolkit REQUIRED)
  file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/backend/*.cpp"
       "${PROJECT_SOURCE_DIR}/backend/*.cu")
  list(FILTER cuda_sources INCLUDE REGEX "/cuda/")
  if(cuda_sources MATCHES "\\.cu(;|$)")
    enable_language(CUDA)
  endif()
  message(STATUS "CUDA toolkit ${CUDAToolkit_VERSION}")
  target_sources(nyala_backend PRIVATE ${cuda_sources})
  target_link_libraries(nyala_backend PRIVATE CUDA::cudart)
endif()
