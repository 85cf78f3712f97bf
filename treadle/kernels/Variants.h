// Tensors of variants: creation, access, and arithmetic on the values that they hold. Gradients of
// functions that pass lists and optionals through are sums of such values.
#pragma once

#include "treadle/runtime/Kernel.h"

namespace treadle {

/// A tensor as an element of another: the stored form of serialized tensors.
class TensorObject final : public VariantObject {
public:
  static constexpr std::string_view kindName = "tensor";
  std::string_view kind() const override { return kindName; }

  explicit TensorObject(Tensor value) : value(std::move(value)) {}
  const Tensor value;
};

/// Returns a scalar that holds `object`.
Tensor makeVariant(Ref<VariantObject> object);

/// Returns the object of class T in a scalar variant tensor; null if it holds another or none.
template <typename T> T *variantIn(const Tensor &t) {
  if (t.dtype() != DType::Variant || t.count() != 1)
    return nullptr;
  VariantObject *object = t.data<Variant>()->object.get();
  return object && object->kind() == T::kindName ? static_cast<T *>(object) : nullptr;
}

/// Returns the zeros of every element (a list of zeros for a list, ...), for ZerosLike. An empty
/// element stays empty. Unimplemented if the kind of an element has no zeros.
Expected<Tensor> zerosLikeVariants(const Tensor &like);

/// Returns the elementwise sum of two tensors of one shape, for AddN and AddV2.
Expected<Tensor> addVariantTensors(const Tensor &a, const Tensor &b);

} // namespace treadle
