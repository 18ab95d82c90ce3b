# The C library of HDF5 as nyala_deps::hdf5. CMake's own FindHDF5 runs a compiler wrapper and wants the C language
# enabled in the including project; this one looks at the places where Debian and others put it, and is installed
# with the package, so that a project written in C++ alone can find nyala.

find_path(NYALA_HDF5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
find_library(NYALA_HDF5_LIBRARY NAMES hdf5_serial hdf5 PATH_SUFFIXES hdf5/serial)
mark_as_advanced(NYALA_HDF5_INCLUDE_DIR NYALA_HDF5_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NyalaHdf5 REQUIRED_VARS NYALA_HDF5_LIBRARY NYALA_HDF5_INCLUDE_DIR
                                  NAME_MISMATCHED) # the installed package includes this file

if(NyalaHdf5_FOUND AND NOT TARGET nyala_deps::hdf5)
  add_library(nyala_deps::hdf5 UNKNOWN IMPORTED)
  set_target_properties(nyala_deps::hdf5 PROPERTIES IMPORTED_LOCATION "${NYALA_HDF5_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${NYALA_HDF5_INCLUDE_DIR}")
endif()
