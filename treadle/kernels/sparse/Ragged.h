// The variant value of RaggedTensorToVariant.
#pragma once

#include "treadle/kernels/Variants.h"

#include <span>
#include <vector>

namespace treadle {

/// A ragged tensor: row splits from the outermost dimension inwards, and the values of the
/// innermost rows.
class RaggedObject final : public VariantObject {
public:
  static constexpr std::string_view kindName = "ragged tensor";
  std::string_view kind() const override { return kindName; }

  RaggedObject(std::vector<Tensor> splits, Tensor values)
      : splits(std::move(splits)), values(std::move(values)) {}

  const std::vector<Tensor> splits;
  const Tensor values;
};

/// Converts splits to an int32 or int64 tensor.
Tensor makeSplits(DType dtype, std::span<const int64_t> values);

/// Returns InvalidArgument unless splits (outermost first) and values are consistent.
Expected<void> checkRagged(std::span<const Tensor> splits, const Tensor &values);

} // namespace treadle
