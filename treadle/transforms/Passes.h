// Passes over graphs: constructors and registration.
#pragma once

#include "mlir/Pass/Pass.h"

#include <string_view>
#include <vector>

namespace treadle {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "treadle/transforms/Passes.h.inc"

/// Makes the named pipelines known (tfg-default and others); after registerTreadlePasses().
void registerTreadlePipelines();

/// The names of all passes and pipelines.
std::vector<std::string_view> passNames();

} // namespace treadle
