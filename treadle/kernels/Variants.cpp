#include "treadle/kernels/Variants.h"

#include "treadle/kernels/Update.h"
#include "treadle/kernels/lists/Optional.h"
#include "treadle/kernels/lists/TensorList.h"
#include "treadle/kernels/lists/TensorMap.h"

#include <algorithm>

namespace treadle {
namespace {

using Object = Ref<VariantObject>;

// --- optionals: one component after another ----------------------------------------------------

Expected<Object> zerosLikeOptional(const OptionalObject &optional) {
  if (!optional.hasValue)
    return Object(makeRef<OptionalObject>());
  std::vector<Tensor> zeros;
  for (const Tensor &component : optional.components) {
    Tensor zero = TREADLE_TRY(zerosLikeTensor(component));
    zeros.push_back(std::move(zero));
  }
  return Object(makeRef<OptionalObject>(std::move(zeros)));
}

Expected<Object> addOptionals(const OptionalObject &a, const OptionalObject &b) {
  if (a.hasValue != b.hasValue || a.components.size() != b.components.size())
    return Unexpected(invalidArgument("cannot add an optional of ", a.components.size(),
                                      " tensors and one of ", b.components.size()));
  if (!a.hasValue)
    return Object(makeRef<OptionalObject>());
  std::vector<Tensor> sums;
  for (size_t i = 0; i < a.components.size(); ++i) {
    Tensor sum = TREADLE_TRY(addTensors(a.components[i], b.components[i]));
    sums.push_back(std::move(sum));
  }
  return Object(makeRef<OptionalObject>(std::move(sums)));
}

// --- all kinds ---------------------------------------------------------------------------------

template <typename T> const T *as(const VariantObject *object) {
  return object && object->kind() == T::kindName ? static_cast<const T *>(object) : nullptr;
}

Expected<Object> zerosLike(const VariantObject *object) {
  if (!object)
    return Object();
  if (auto *list = as<TensorListObject>(object))
    return zerosLikeList(*list);
  if (auto *optional = as<OptionalObject>(object))
    return zerosLikeOptional(*optional);
  if (as<TensorMapObject>(object)) // a missing entry counts as zeros
    return Object(makeRef<TensorMapObject>());
  return Unexpected(unimplemented("a variant that holds a ", object->kind(), " has no zeros"));
}

Expected<Object> add(const VariantObject *a, const VariantObject *b) {
  if (!a && !b)
    return Object();
  if (as<TensorListObject>(a) && as<TensorListObject>(b))
    return addLists(*as<TensorListObject>(a), *as<TensorListObject>(b));
  if (as<OptionalObject>(a) && as<OptionalObject>(b))
    return addOptionals(*as<OptionalObject>(a), *as<OptionalObject>(b));
  if (as<TensorMapObject>(a) && as<TensorMapObject>(b))
    return addMaps(*as<TensorMapObject>(a), *as<TensorMapObject>(b));
  return Unexpected(invalidArgument("cannot add a ", a ? a->kind() : "variant without a value",
                                    " and a ", b ? b->kind() : "variant without a value"));
}

} // namespace

Tensor makeVariant(Ref<VariantObject> object) {
  Tensor t = Tensor::makeScalar(DType::Variant);
  t.data<Variant>()->object = std::move(object);
  return t;
}

Expected<Tensor> zerosLikeVariants(const Tensor &like) {
  Tensor out = TREADLE_TRY(Tensor::make(DType::Variant, like.dims()));
  for (int64_t i = 0; i < like.count(); ++i) {
    Object zero = TREADLE_TRY(zerosLike(like.data<Variant>()[i].object.get()));
    out.data<Variant>()[i].object = std::move(zero);
  }
  return out;
}

Expected<Tensor> addVariantTensors(const Tensor &a, const Tensor &b) {
  if (!std::ranges::equal(a.dims(), b.dims()))
    return Unexpected(invalidArgument("cannot add ", tensorTypeText(b), " to ", tensorTypeText(a),
                                      ": expected the same shape"));
  Tensor out = TREADLE_TRY(Tensor::make(DType::Variant, a.dims()));
  for (int64_t i = 0; i < a.count(); ++i) {
    Object sum =
        TREADLE_TRY(add(a.data<Variant>()[i].object.get(), b.data<Variant>()[i].object.get()));
    out.data<Variant>()[i].object = std::move(sum);
  }
  return out;
}

} // namespace treadle
