#include "treadle/runtime/Variable.h"

namespace treadle {

Tensor makeRefTensor(Ref<Variable> variable) {
  Tensor t = Tensor::makeScalar(DType::Int64); // room for a pointer
  TensorBlock *block = t.get();
  block->dtype = variable->dtype;
  block->isRef = 1;
  new (block->data) Ref<Resource>(std::move(variable));
  return t;
}

Error uninitialized(const Variable &variable) {
  return failedPrecondition("attempting to use uninitialized variable '", variable.name,
                            "'; run its initializer first");
}

Variable *variableOfHandle(const Tensor &handle) {
  if (!handle || handle.isRef() || handle.dtype() != DType::Resource || handle.count() != 1)
    return nullptr;
  Resource *resource = handle.data<ResourceHandle>()->resource.get();
  return resource && resource->kind() == Variable::kindName ? static_cast<Variable *>(resource)
                                                            : nullptr;
}

Variable &refVariable(const Tensor &tensor) {
  return static_cast<Variable &>(**tensor.data<Ref<Resource>>());
}

} // namespace treadle
