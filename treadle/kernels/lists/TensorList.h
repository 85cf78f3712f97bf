// The variant value of TensorList ops.
#pragma once

#include "treadle/kernels/ElementShapes.h"
#include "treadle/kernels/Variants.h"
#include "treadle/tensor/BudgetedMemory.h"

#include <vector>

namespace treadle {

/// A list of tensors of one dtype whose shapes are compatible with `elementShape`. An empty Tensor
/// is a reserved element that was never set. Shared lists are immutable; an op that has the only
/// reference changes the list in place.
class TensorListObject final : public VariantObject {
public:
  static constexpr std::string_view kindName = "tensor list";
  std::string_view kind() const override { return kindName; }

  TensorListObject(DType dtype, PartialShape elementShape)
      : dtype(dtype), elementShape(std::move(elementShape)) {}
  Ref<TensorListObject> copy() const;

  DType dtype;
  PartialShape elementShape;
  int64_t maxElements = -1; // -1: unlimited
  const MemoryShare share;
  BudgetedVector<Tensor> elements{share};
};

/// Return a list of zeros, and the elementwise sum of two lists.
Expected<Ref<VariantObject>> zerosLikeList(const TensorListObject &list);
Expected<Ref<VariantObject>> addLists(const TensorListObject &a, const TensorListObject &b);

} // namespace treadle
