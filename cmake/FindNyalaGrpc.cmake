# gRPC's C++ library as nyala_deps::grpc. Its own package asks for protobuf and its compilers, which are not used here;
# this one looks for the headers and libraries, and is installed with the package.

find_path(NYALA_GRPC_INCLUDE_DIR grpcpp/generic/generic_stub.h)
find_library(NYALA_GRPC_LIBRARY grpc++)
find_library(NYALA_GRPC_CORE_LIBRARY grpc)
find_library(NYALA_GPR_LIBRARY gpr)
find_library(NYALA_ABSL_SYNCHRONIZATION_LIBRARY absl_synchronization) # functions of gRPC's headers call it
mark_as_advanced(NYALA_GRPC_INCLUDE_DIR NYALA_GRPC_LIBRARY NYALA_GRPC_CORE_LIBRARY NYALA_GPR_LIBRARY
                 NYALA_ABSL_SYNCHRONIZATION_LIBRARY)
set(NYALA_GRPC_LIBRARIES "${NYALA_GRPC_LIBRARY};${NYALA_GRPC_CORE_LIBRARY};${NYALA_GPR_LIBRARY};${NYALA_ABSL_SYNCHRONIZATION_LIBRARY}")

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NyalaGrpc REQUIRED_VARS NYALA_GRPC_LIBRARY NYALA_GRPC_CORE_LIBRARY NYALA_GPR_LIBRARY
                                  NYALA_ABSL_SYNCHRONIZATION_LIBRARY NYALA_GRPC_INCLUDE_DIR NAME_MISMATCHED) # the installed package includes this file

if(NyalaGrpc_FOUND AND NOT TARGET nyala_deps::grpc)
  add_library(nyala_deps::grpc UNKNOWN IMPORTED)
  set_target_properties(nyala_deps::grpc PROPERTIES IMPORTED_LOCATION "${NYALA_GRPC_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${NYALA_GRPC_INCLUDE_DIR}"
                        INTERFACE_LINK_LIBRARIES "${NYALA_GRPC_LIBRARIES}")
endif()
