// Internal to the folder: functions of scalars that ops call for all elements of tensors.
#pragma once

#include "treadle/runtime/FunctionOps.h"
#include "treadle/runtime/Kernel.h"

namespace treadle {

using Tensors = std::vector<Tensor>;

/// A function of scalars. One that is made of elementwise ops is called with whole tensors, any
/// other with scalars, for each element.
struct ElementFunction {
  Caller caller;
  Callee callee;
  bool isElementwise;

  /// The function that the attribute `attr` names; `results` are the types of what it gives.
  static Expected<ElementFunction> of(const NodeSpec &spec, std::string_view attr,
                                      std::vector<ValueType> results, FunctionLibrary *library);

  /// The function for all elements; arguments are of the shape `dims`, or of one element. Nothing,
  /// having failed.
  std::optional<Tensors> call(OpContext &ctx, Tensors args, Dims dims, size_t numResults) const;

private:
  std::optional<Tensors> callWhole(OpContext &ctx, const Plan &plan, Tensors args, Dims dims,
                                   size_t numResults) const;
  std::optional<Tensors> callEach(OpContext &ctx, const Plan &plan, const Tensors &args, Dims dims,
                                  size_t numResults) const;
};

} // namespace treadle
