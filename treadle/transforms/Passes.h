// The constructors and registration of all passes over graphs.
#pragma once

#include "mlir/Pass/Pass.h"

#include <string_view>
#include <vector>

namespace treadle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "treadle/transforms/Passes.h.inc"

/// Registers the named pipelines (tfg-default and others). Call it after registerTreadlePasses().
void registerTreadlePipelines();

/// Returns the names of all passes and pipelines.
std::vector<std::string_view> passNames();

} // namespace treadle
