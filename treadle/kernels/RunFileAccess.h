// The files that the kernels of a run may open.
#pragma once

#include "treadle/checkpoint/FileAccess.h"
#include "treadle/runtime/Kernel.h"
#include "treadle/runtime/Run.h"

namespace treadle {

/// Returns the file access that the graph was granted; no files if none was.
inline const FileAccess &filesOf(OpContext &ctx) {
  const FileAccess *files = ctx.run().files;
  return files ? *files : FileAccess::none();
}

} // namespace treadle
