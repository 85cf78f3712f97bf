// Passes over graphs: constructors and registration.
#pragma once

#include "mlir/Pass/Pass.h"

namespace treadle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "treadle/transforms/Passes.h.inc"

/// Makes the named pipelines known (tfg-default and others); after registerTreadlePasses().
void registerTreadlePipelines();

} // namespace treadle
