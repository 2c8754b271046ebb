# Finds OpenBLAS with its C interface and defines CBLAS::CBLAS.
#
# Any conventional CBLAS keeps the filter's bounds; OpenBLAS is asked for because it is
# fast and can be held to one thread a call.
find_path(CBLAS_INCLUDE_DIR openblas_config.h
  PATH_SUFFIXES openblas openblas-pthread openblas-serial openblas-openmp)
find_library(CBLAS_LIBRARY openblas
  PATH_SUFFIXES openblas-pthread openblas-serial openblas-openmp)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CBLAS REQUIRED_VARS CBLAS_LIBRARY CBLAS_INCLUDE_DIR)
if(CBLAS_FOUND AND NOT TARGET CBLAS::CBLAS)
  add_library(CBLAS::CBLAS INTERFACE IMPORTED)
  target_include_directories(CBLAS::CBLAS SYSTEM INTERFACE "${CBLAS_INCLUDE_DIR}")
  target_link_libraries(CBLAS::CBLAS INTERFACE "${CBLAS_LIBRARY}")
endif()
mark_as_advanced(CBLAS_INCLUDE_DIR CBLAS_LIBRARY)
