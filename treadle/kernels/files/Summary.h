// Summaries for TensorBoard: serialized `Summary` messages, passed as strings.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <string>
#include <string_view>

namespace treadle {

/// Returns a summary of one value. The concatenation of summaries is a summary of all their values.
std::string scalarSummary(std::string_view tag, float value);
/// `metadata` is a serialized `SummaryMetadata`.
std::string tensorSummary(std::string_view tag, const Tensor &tensor, std::string_view metadata,
                          bool keepsEmptyMetadata = true);

/// Returns a histogram with bucket limits that grow by 10%. InvalidArgument for non-finite values.
Expected<std::string> histogramSummary(std::string_view tag, const Tensor &values);

/// Returns summaries of at most `most` of the images [batch,height,width,channels]; non-finite
/// pixels get that color.
Expected<std::string> imageSummary(std::string_view tag, const Tensor &images, int64_t most,
                                   const Tensor &badColor);

/// Returns a summary of one value whose field `field` (of `Summary.Value`) is `bytes`.
std::string partSummary(std::string_view tag, uint32_t field, std::string_view bytes);

/// Converts an element of a real dtype or a bool to a float.
float realAt(const Tensor &tensor, int64_t i);

} // namespace treadle
