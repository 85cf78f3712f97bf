// Summaries, as TensorBoard reads them: bytes of a protocol buffer `Summary`, which ops exchange as
// strings.
#pragma once

#include "treadle/runtime/Tensor.h"

#include <string>
#include <string_view>

namespace treadle {

/// Summaries of one value. The bytes of several after each other are one of them all.
std::string scalarSummary(std::string_view tag, float value);
/// With the metadata, the bytes of a `SummaryMetadata`.
std::string tensorSummary(std::string_view tag, const Tensor &tensor, std::string_view metadata,
                          bool keepsEmptyMetadata = true);

/// How many of some values fall between limits that grow by tenths. InvalidArgument for values that
/// are not finite.
Expected<std::string> histogramSummary(std::string_view tag, const Tensor &values);

/// A number of any real dtype, or a bool, as a float.
float realAt(const Tensor &tensor, int64_t i);

} // namespace treadle
