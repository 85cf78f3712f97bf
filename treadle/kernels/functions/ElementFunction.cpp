#include "treadle/kernels/functions/ElementFunction.h"

#include "treadle/kernels/arrays/Rearrange.h"

#include <algorithm>
#include <numeric>

namespace treadle {

static int64_t product(Dims dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

Expected<ElementFunction> ElementFunction::of(const NodeSpec &spec, std::string_view attr,
                                              std::vector<ValueType> results,
                                              FunctionLibrary *library) {
  return spec.attrs.get<FunctionRef>(attr).map([&](const FunctionRef &f) {
    return ElementFunction{{spec.name, spec.op},
                           Callee(f, std::move(results), ArgMode::Owned, library),
                           library && library->isElementwise(f.name)};
  });
}

std::optional<Tensors> ElementFunction::call(OpContext &ctx, Tensors args, Dims dims,
                                             size_t numResults) const {
  Expected<const Plan *> plan = callee.plan(args.size());
  if (!plan) {
    caller.fail(ctx, std::move(plan.error()));
    return std::nullopt;
  }
  for (size_t i = 0; i < args.size(); ++i)
    if (Expected<void> ok = convertArgument(**plan, i, args[i]); !ok) {
      caller.fail(ctx, std::move(ok.error()));
      return std::nullopt;
    }
  return isElementwise ? callWhole(ctx, **plan, std::move(args), dims, numResults)
                       : callEach(ctx, **plan, args, dims, numResults);
}

std::optional<Tensors> ElementFunction::callWhole(OpContext &ctx, const Plan &plan, Tensors args,
                                                  Dims dims, size_t numResults) const {
  Tensors results(numResults);
  if (!callFunction(plan, args, results, ctx))
    return std::nullopt;
  for (Tensor &result : results) {
    if (std::ranges::equal(result.dims(), dims))
      continue;
    // All arguments have one element, or there are none.
    auto whole = ctx.check(result.count() == product(dims) ? result.withDims(dims)
                                                           : rearrange::filled(result, dims));
    if (!whole)
      return std::nullopt;
    result = std::move(*whole);
  }
  return results;
}

std::optional<Tensors> ElementFunction::callEach(OpContext &ctx, const Plan &plan,
                                                 const Tensors &args, Dims dims,
                                                 size_t numResults) const {
  int64_t count = product(dims);
  Tensors results(numResults);
  for (int64_t i = 0; i < count; ++i) {
    Tensors scalars, one(numResults);
    for (const Tensor &arg : args)
      scalars.push_back(arg.view(arg.count() == 1 ? 0 : i, {}));
    if (!callFunction(plan, scalars, one, ctx))
      return std::nullopt;
    for (size_t r = 0; r < numResults; ++r) {
      if (i == 0) {
        auto whole = ctx.check(Tensor::make(one[r].dtype(), dims));
        if (!whole)
          return std::nullopt;
        results[r] = std::move(*whole);
      }
      size_t size = dtypeSize(one[r].dtype());
      std::memcpy(static_cast<char *>(results[r].raw()) + static_cast<size_t>(i) * size,
                  one[r].raw(), size);
    }
  }
  if (count == 0)
    for (size_t r = 0; r < numResults; ++r)
      results[r] = *Tensor::make(args[r].dtype(), dims);
  return results;
}

} // namespace treadle
