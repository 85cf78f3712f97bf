# Defines treadle::treadle, the shared library, and treadle::static, if libtreadle.a is installed.
include(${CMAKE_CURRENT_LIST_DIR}/treadleTargets.cmake)
get_filename_component(treadle_archive "${CMAKE_CURRENT_LIST_DIR}/../../libtreadle.a" ABSOLUTE)
if(EXISTS ${treadle_archive} AND NOT TARGET treadle::static)
  get_target_property(treadle_headers treadle::treadle INTERFACE_INCLUDE_DIRECTORIES)
  add_library(treadle::static STATIC IMPORTED)
  set_target_properties(treadle::static PROPERTIES
    IMPORTED_LOCATION ${treadle_archive}
    INTERFACE_INCLUDE_DIRECTORIES "${treadle_headers}"
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_LINK_LIBRARIES "stdc++;m")
  unset(treadle_headers)
endif()
unset(treadle_archive)
