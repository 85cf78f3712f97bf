// Tensors of variants: making them, looking into them, and what arithmetic means for what they
// hold. Gradients of functions that pass lists and optionals on are sums of such values.
#pragma once

#include "treadle/runtime/Kernel.h"

namespace treadle {

/// A tensor as an element of another: what serialized tensors are kept as.
class TensorObject final : public VariantObject {
public:
  static constexpr std::string_view kindName = "tensor";
  std::string_view kind() const override { return kindName; }

  explicit TensorObject(Tensor value) : value(std::move(value)) {}
  const Tensor value;
};

/// A scalar that holds `object`.
Tensor makeVariant(Ref<VariantObject> object);

/// The object of that class in a tensor of one variant; null where there is another, or nothing.
template <typename T> T *variantIn(const Tensor &t) {
  if (t.dtype() != DType::Variant || t.count() != 1)
    return nullptr;
  VariantObject *object = t.data<Variant>()->object.get();
  return object && object->kind() == T::kindName ? static_cast<T *>(object) : nullptr;
}

/// Zeros of every element (a list of zeros for a list, ...), for ZerosLike. An element that holds
/// nothing stays so. Unimplemented where an element's kind has no zeros.
Expected<Tensor> zerosLikeVariants(const Tensor &like);

/// The sum of two tensors of one shape, element by element, for AddN and AddV2.
Expected<Tensor> addVariantTensors(const Tensor &a, const Tensor &b);

} // namespace treadle
