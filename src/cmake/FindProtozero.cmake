# Finds protozero, which is headers only, and defines Protozero::protozero.
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Protozero REQUIRED_VARS PROTOZERO_INCLUDE_DIR)
if(Protozero_FOUND AND NOT TARGET Protozero::protozero)
  add_library(Protozero::protozero INTERFACE IMPORTED)
  target_include_directories(Protozero::protozero SYSTEM INTERFACE "${PROTOZERO_INCLUDE_DIR}")
endif()
mark_as_advanced(PROTOZERO_INCLUDE_DIR)
