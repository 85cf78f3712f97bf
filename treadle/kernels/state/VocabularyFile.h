// Text files that initialize lookup tables: a key and a value per line.
#pragma once

#include "treadle/checkpoint/FileAccess.h"
#include "treadle/tensor/Tensor.h"

#include <string>
#include <utility>

namespace treadle {

struct VocabularyFormat {
  static constexpr int64_t wholeLine = -2, lineNumber = -1;
  int64_t keyColumn, valueColumn; // column index, or one of the above
  int64_t numLines;               // -1: all
  int64_t firstLine;              // number of lines to skip
  std::string delimiter;          // a single character
};

/// Reads the keys and values of a file. NotFound if it doesn't exist; InvalidArgument for lines
/// without a required column, for invalid numbers, and for a file with fewer lines than expected.
Expected<std::pair<Tensor, Tensor>> readVocabulary(const std::string &path,
                                                   const VocabularyFormat &format, DType key,
                                                   DType value, const FileAccess &files);

} // namespace treadle
