# The files that `cmake --install` installs, by component: program, library, and development
# (headers, a CMake package and a file for pkg-config).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS treadle_command RUNTIME COMPONENT program)
install(FILES ${CMAKE_BINARY_DIR}/library/treadle.1
  DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES ${CMAKE_BINARY_DIR}/library/treadle.bash RENAME treadle
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
# Programs with models in object files are linked with it.
install(TARGETS treadle_program LIBRARY COMPONENT library)
if(NOT TREADLE_SANITIZER)
  install(FILES ${CMAKE_BINARY_DIR}/static/libtreadle_runtime.a
    DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
endif()
# It exists only if the target treadle_static was built.
install(FILES ${CMAKE_BINARY_DIR}/static/libtreadle.a
  DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development OPTIONAL)
install(TARGETS treadle_shared EXPORT treadle
  LIBRARY COMPONENT library NAMELINK_COMPONENT development)

# The public headers and the headers that they include.
file(GLOB public_headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/treadle/*.h)
set(unread ${public_headers})
while(unread)
  list(POP_FRONT unread header)
  file(STRINGS ${PROJECT_SOURCE_DIR}/${header} lines REGEX "^#include \"treadle/")
  foreach(line ${lines})
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" used "${line}")
    if(NOT used IN_LIST public_headers)
      list(APPEND public_headers ${used})
      list(APPEND unread ${used})
    endif()
  endforeach()
endwhile()
foreach(header ${public_headers})
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${PROJECT_SOURCE_DIR}/${header}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT development)
endforeach()
# The only third-party header that Treadle's headers include is installed with them.
find_path(TL_EXPECTED_INCLUDE_DIR tl/expected.hpp REQUIRED)
set(external_headers ${CMAKE_INSTALL_INCLUDEDIR}/treadle/external)
install(FILES ${TL_EXPECTED_INCLUDE_DIR}/tl/expected.hpp
  DESTINATION ${external_headers}/tl COMPONENT development)

target_include_directories(treadle_shared INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<INSTALL_INTERFACE:${external_headers}>)
target_compile_features(treadle_shared INTERFACE cxx_std_20)
set_target_properties(treadle_shared PROPERTIES EXPORT_NAME treadle)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/treadle)
install(EXPORT treadle NAMESPACE treadle:: FILE treadleTargets.cmake
  DESTINATION ${package} COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/treadleConfig.cmake
  DESTINATION ${package} COMPONENT development)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/treadleConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/treadleConfigVersion.cmake
  DESTINATION ${package} COMPONENT development)

# Paths relative to the file itself, so that the installation can be moved.
file(RELATIVE_PATH include_from_pc
  /${CMAKE_INSTALL_LIBDIR}/pkgconfig /${CMAKE_INSTALL_INCLUDEDIR})
configure_file(${PROJECT_SOURCE_DIR}/cmake/treadle.pc.in ${CMAKE_CURRENT_BINARY_DIR}/treadle.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/treadle.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
