// Summaries, as TensorBoard reads them: bytes of a protocol buffer `Summary`, which ops exchange as
// strings.
#pragma once

#include "treadle/tensor/Tensor.h"

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

/// Images [batch,height,width,channels], `most` of them; pixels that are not finite in that color.
Expected<std::string> imageSummary(std::string_view tag, const Tensor &images, int64_t most,
                                   const Tensor &badColor);

/// A summary of one value whose field `field` (of a `Summary.Value`) is `bytes`.
std::string partSummary(std::string_view tag, uint32_t field, std::string_view bytes);

/// A number of any real dtype, or a bool, as a float.
float realAt(const Tensor &tensor, int64_t i);

} // namespace treadle
