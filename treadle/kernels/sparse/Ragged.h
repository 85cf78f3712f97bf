// The value behind RaggedTensorToVariant: rows of different lengths, kept as row ends and one
// tensor.
#pragma once

#include "treadle/kernels/Variants.h"

#include <span>
#include <vector>

namespace treadle {

/// Row splits from the outermost dimension inwards, and the values of the innermost rows.
class RaggedObject final : public VariantObject {
public:
  static constexpr std::string_view kindName = "ragged tensor";
  std::string_view kind() const override { return kindName; }

  RaggedObject(std::vector<Tensor> splits, Tensor values)
      : splits(std::move(splits)), values(std::move(values)) {}

  const std::vector<Tensor> splits;
  const Tensor values;
};

/// Splits as a tensor of int32 or int64.
Tensor makeSplits(DType dtype, std::span<const int64_t> values);

/// InvalidArgument unless the splits, from the outermost inwards, and the values fit together.
Expected<void> checkRagged(std::span<const Tensor> splits, const Tensor &values);

} // namespace treadle
