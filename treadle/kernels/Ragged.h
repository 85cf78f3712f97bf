// The value behind RaggedTensorToVariant: rows of different lengths, kept as row ends and one
// tensor.
#pragma once

#include "treadle/kernels/Variants.h"

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

} // namespace treadle
