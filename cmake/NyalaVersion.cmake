# NYALA_VERSION, from the one place where it is written.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../backend/core/version.h" lines REGEX "^#define NYALA_VERSION_")
string(REGEX REPLACE "[^0-9;]+" "" numbers "${lines}")
list(JOIN numbers "." NYALA_VERSION)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/../backend/core/version.h")
