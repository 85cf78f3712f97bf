// Loads optional shared libraries.
#pragma once

#include <dlfcn.h>
#include <sys/auxv.h>

namespace treadle {

/// Like dlopen. Returns null in a statically linked program: the loaded library would need a C
/// library of its own.
inline void *openSharedLibrary(const char *path, int flags) {
  return getauxval(AT_BASE) ? dlopen(path, flags) : nullptr;
}

} // namespace treadle
