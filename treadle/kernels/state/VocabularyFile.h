// Text files that lookup tables are filled from: a key and a value a line.
#pragma once

#include "treadle/checkpoint/FileAccess.h"
#include "treadle/tensor/Tensor.h"

#include <string>
#include <utility>

namespace treadle {

struct VocabularyFormat {
  static constexpr int64_t wholeLine = -2, lineNumber = -1;
  int64_t keyColumn, valueColumn; // or one of those
  int64_t numLines;               // -1: all
  int64_t firstLine;              // lines before it are skipped
  std::string delimiter;          // one character
};

/// The keys and values of a file. NotFound if it isn't there; InvalidArgument for lines that lack a
/// column, for what is no number, and for a file of fewer lines than stated.
Expected<std::pair<Tensor, Tensor>> readVocabulary(const std::string &path,
                                                   const VocabularyFormat &format, DType key,
                                                   DType value, const FileAccess &files);

} // namespace treadle
