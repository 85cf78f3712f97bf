// Values as the command line gives them: `5`, `[1,2,3]`, `2x3xf32=0`, `@file.npy`,
// `@file.npz:member`, `random`.
#pragma once

#include "treadle/treadle.h"

namespace treadle::cli {

/// What an input wants, where the graph says so.
struct Wanted {
  std::string name; // for messages
  DType dtype = DType::Invalid;
  bool hasRank = false;
  std::vector<int64_t> dims;
};

/// The tensor that `text` stands for; where the dtype is not known from `wanted` or from the text,
/// integers are int32 and other numbers float32. `seed` tells the streams of `random` apart. `note`
/// receives what was assumed, if anything was.
Expected<Tensor> parseValue(std::string_view text, const Wanted &wanted, uint64_t seed,
                            std::string &note);

/// `float32[?,3]`, `int32[]`, `float32 of any shape`.
std::string typeText(DType dtype, bool hasRank, Dims dims);

} // namespace treadle::cli
