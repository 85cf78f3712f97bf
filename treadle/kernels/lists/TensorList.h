// The value behind the TensorList ops.
#pragma once

#include "treadle/kernels/ElementShapes.h"
#include "treadle/kernels/Variants.h"
#include "treadle/tensor/KeptMemory.h"

#include <vector>

namespace treadle {

/// Tensors of one dtype whose shapes agree with `elementShape`. An empty Tensor is an element that
/// was reserved and never set. Shared lists are never changed; an op that has the only reference
/// changes it in place.
class TensorListObject final : public VariantObject {
public:
  static constexpr std::string_view kindName = "tensor list";
  std::string_view kind() const override { return kindName; }

  TensorListObject(DType dtype, PartialShape elementShape)
      : dtype(dtype), elementShape(std::move(elementShape)) {}
  Ref<TensorListObject> copy() const;

  DType dtype;
  PartialShape elementShape;
  int64_t maxElements = -1; // -1: any number
  const MemoryShare share;
  KeptVector<Tensor> elements{share};
};

/// Zeros for every element, and elements summed in pairs.
Expected<Ref<VariantObject>> zerosLikeList(const TensorListObject &list);
Expected<Ref<VariantObject>> addLists(const TensorListObject &a, const TensorListObject &b);

} // namespace treadle
