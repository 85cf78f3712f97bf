// Values on the command line: `5`, `[1,2,3]`, `2x3xf32=0`, `@file.npy`, `@file.npz:member`,
// `random`.
#pragma once

#include "treadle/treadle.h"

namespace treadle::cli {

/// The expected type of an input, if the graph specifies it.
struct InputType {
  std::string name; // for messages
  DType dtype = DType::Invalid;
  bool hasRank = false;
  std::vector<int64_t> dims;
};

/// Parses a value. If neither `wanted` nor the text gives a dtype, integers are int32 and other
/// numbers float32. `seed` selects the stream of `random`. `note` receives a message if a shape was
/// assumed.
Expected<Tensor> parseValue(std::string_view text, const InputType &wanted, uint64_t seed,
                            std::string &note);

/// `float32[?,3]`, `int32[]`, `float32 of any shape`.
std::string typeText(DType dtype, bool hasRank, Dims dims);

} // namespace treadle::cli
