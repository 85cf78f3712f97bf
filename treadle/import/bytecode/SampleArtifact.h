// Writes small portable artifacts, for tests: also some that no writer would make.
#pragma once

#include "treadle/import/bytecode/Assembly.h"

#include <string>
#include <vector>

namespace treadle::bytecode {

using Artifact = Assembly;

/// (x: tensor<4xf32>) -> tensor<f32>: the sum of x + [1, 2, 3, 4]. With parts of all kinds.
std::string sampleArtifact(uint64_t version = Newest);
/// The same as text.
extern const char *const sampleText;

} // namespace treadle::bytecode
