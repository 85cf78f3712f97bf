# Builds one Debian package per component: `cpack -B FOLDER` in the build folder.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME treadle)
set(CPACK_PACKAGE_VENDOR "The developers of Treadle")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The developers of Treadle <treadle@localhost>" CACHE STRING
  "Whom a Debian package names")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program library development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME treadle)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libtreadle0)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtreadle-dev)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "libtreadle0 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libtreadle0 (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
  "Runs, reshapes and explains dataflow graphs\n The command treadle.")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
  "Runs, reshapes and explains dataflow graphs: the library\n GraphDefs, SavedModels and programs in StableHLO, without TensorFlow.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "Runs, reshapes and explains dataflow graphs: headers\n For programs in C and C++.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_BINARY_DIR}/triggers")
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/triggers "activate-noawait ldconfig\n")
include(CPack)
