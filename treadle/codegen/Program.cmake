# The library for programs with compiled functions: kernels and their C interface. It exports the
# functions that compiled code calls, and nothing else.
add_library(treadle_program_parts OBJECT
  Program.cpp RunFunction.cpp Tables.cpp CallFrame.cpp ListCalls.cpp)
target_link_libraries(treadle_program_parts PUBLIC treadle_kernels)
if(NOT TREADLE_RUNTIME_ONLY)
  add_library(treadle_program SHARED)
  target_link_libraries(treadle_program PRIVATE treadle_program_parts)
  set_target_properties(treadle_program PROPERTIES OUTPUT_NAME treadle_runtime)
  target_link_libraries(treadle_program PRIVATE treadle_kernels)
  target_link_options(treadle_program PRIVATE
    -Wl,--exclude-libs,ALL -Wl,--gc-sections
    -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/Program.map)
  set_target_properties(treadle_program PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/Program.map)
endif()

# The same as an archive, from which linkers take the used parts: the kernels of each level are
# separate functions (join_level.py).
if(NOT TREADLE_SANITIZER)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/static)
  set(runtime_archive ${CMAKE_BINARY_DIR}/static/libtreadle_runtime.a) # a folder has this name in lib/
  set(rooms treadle_kernels treadle_checkpoint treadle_collective treadle_runtime treadle_ops treadle_tensor)
  get_target_property(static_levels treadle_kernels TREADLE_STATIC_LEVELS)
  if(NOT static_levels)
    set(static_levels "")
  endif()
  set(script "CREATE ${runtime_archive}\n")
  foreach(room ${rooms})
    string(APPEND script "ADDLIB $<TARGET_FILE:${room}>\n")
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/runtime.mri CONTENT "${script}SAVE\nEND\n")
  add_custom_command(OUTPUT ${runtime_archive}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${runtime_archive}
    COMMAND ${CMAKE_AR} -M < ${CMAKE_CURRENT_BINARY_DIR}/runtime.mri
    COMMAND ${CMAKE_AR} qs ${runtime_archive} ${static_levels} $<TARGET_OBJECTS:treadle_program_parts>
    DEPENDS ${rooms} ${static_levels} ${CMAKE_CURRENT_BINARY_DIR}/runtime.mri
      $<TARGET_OBJECTS:treadle_program_parts>
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(treadle_runtime_archive ALL DEPENDS ${runtime_archive})
endif()
