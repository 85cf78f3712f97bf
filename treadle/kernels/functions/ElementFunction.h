// Internal to the folder: scalar functions that ops apply to all elements of tensors.
#pragma once

#include "treadle/runtime/FunctionOps.h"
#include "treadle/runtime/Kernel.h"

namespace treadle {

using Tensors = std::vector<Tensor>;

/// A scalar function. A function of elementwise ops only is called with whole tensors, any other
/// once per element with scalars.
struct ElementFunction {
  Caller caller;
  Callee callee;
  bool isElementwise;

  /// Returns the function that the attribute `attr` names; `results` are its result types.
  static Expected<ElementFunction> of(const NodeSpec &spec, std::string_view attr,
                                      std::vector<ValueType> results, FunctionLibrary *library);

  /// Applies the function to all elements. The arguments have the shape `dims` or one element.
  /// Returns nullopt, with ctx failed, on errors.
  std::optional<Tensors> call(OpContext &ctx, Tensors args, Dims dims, size_t numResults) const;

private:
  std::optional<Tensors> callWhole(OpContext &ctx, const Plan &plan, Tensors args, Dims dims,
                                   size_t numResults) const;
  std::optional<Tensors> callEach(OpContext &ctx, const Plan &plan, const Tensors &args, Dims dims,
                                  size_t numResults) const;
};

} // namespace treadle
