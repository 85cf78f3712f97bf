# Cross-compiles libtreadle_runtime.a for AArch64. It needs Debian's crossbuild-essential-arm64 and
# libjpeg62-turbo-dev:arm64, whose headers depend on the processor.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_DISABLE_FIND_PACKAGE_MPI ON)

# Nothing is linked, so the headers of the libraries suffice.
file(TOUCH ${CMAKE_BINARY_DIR}/library.a)
foreach(library
    FARMHASH_LIBRARY GIF_LIBRARY ICU_UC_LIBRARY_RELEASE JPEG_LIBRARY_RELEASE PNG_LIBRARY_RELEASE
    RE2_LIBRARY TREADLE_ISAL WEBP_DEMUX_LIBRARY WEBP_LIBRARY ZLIB_LIBRARY_RELEASE)
  set(${library} ${CMAKE_BINARY_DIR}/library.a)
endforeach()
