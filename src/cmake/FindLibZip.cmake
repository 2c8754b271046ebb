# Finds libzip and defines LibZip::zip.
#
# libzip's own package file also exports its command-line tools, and fails where a
# distribution packages those apart from the library.
find_path(LIBZIP_INCLUDE_DIR zip.h)
find_library(LIBZIP_LIBRARY zip)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibZip REQUIRED_VARS LIBZIP_LIBRARY LIBZIP_INCLUDE_DIR)
if(LibZip_FOUND AND NOT TARGET LibZip::zip)
  add_library(LibZip::zip INTERFACE IMPORTED)
  target_include_directories(LibZip::zip SYSTEM INTERFACE "${LIBZIP_INCLUDE_DIR}")
  target_link_libraries(LibZip::zip INTERFACE "${LIBZIP_LIBRARY}")
endif()
mark_as_advanced(LIBZIP_INCLUDE_DIR LIBZIP_LIBRARY)
