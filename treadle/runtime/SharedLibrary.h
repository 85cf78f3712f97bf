// Shared libraries that a program loads where they are there.
#pragma once

#include <dlfcn.h>
#include <sys/auxv.h>

namespace treadle {

/// As dlopen; null in a program that was linked statically: what it loaded would need a C library
/// of its own.
inline void *openSharedLibrary(const char *path, int flags) {
  return getauxval(AT_BASE) ? dlopen(path, flags) : nullptr;
}

} // namespace treadle
