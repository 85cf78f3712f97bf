// Writes small portable artifacts for tests, including malformed ones.
#pragma once

#include "treadle/import/bytecode/Assembly.h"

#include <string>
#include <vector>

namespace treadle::bytecode {

using Artifact = Assembly;

/// Returns (x: tensor<4xf32>) -> tensor<f32>: the sum of x + [1, 2, 3, 4]. It contains sections of
/// all kinds.
std::string sampleArtifact(uint64_t version = Newest);
/// The program of `sampleArtifact` as text.
extern const char *const sampleText;

} // namespace treadle::bytecode
