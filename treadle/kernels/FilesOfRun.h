// Which files the kernels of a run may open.
#pragma once

#include "treadle/checkpoint/FileAccess.h"
#include "treadle/runtime/Kernel.h"
#include "treadle/runtime/Run.h"

namespace treadle {

/// What the graph was granted; nothing where nobody said.
inline const FileAccess &filesOf(OpContext &ctx) {
  const FileAccess *files = ctx.run().files;
  return files ? *files : FileAccess::none();
}

} // namespace treadle
