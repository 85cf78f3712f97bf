// Internal to this folder: the values behind dataset ops.
#pragma once

#include "treadle/kernels/Variants.h"
#include "treadle/runtime/FunctionOps.h"

#include <functional>

namespace treadle {

using Tensors = std::vector<Tensor>;

/// The result of requesting an element.
enum class IterationStep : uint8_t { Element, End, Failed };

/// An iterator: returns the next element. Failed: the context has the error. Must not be called
/// again after Failed or End. Not thread-safe.
using Next = std::function<IterationStep(OpContext &ctx, Tensors &element)>;

/// A sequence of elements, each a tuple of tensors. Immutable; iterations are independent.
class Dataset final : public VariantObject {
public:
  static constexpr std::string_view kindName = "dataset";
  std::string_view kind() const override { return kindName; }

  /// Special cardinalities.
  static constexpr int64_t infinite = -1, unknown = -2;

  /// `depth` is the number of chained datasets, this one included.
  Dataset(int64_t cardinality, int depth, std::function<Next()> iterate)
      : cardinality(cardinality), depth(depth), iterate(std::move(iterate)) {}

  const int64_t cardinality;
  const int depth;
  const std::function<Next()> iterate;
};

/// Returns the dataset in input `i`; null after failing the op.
Ref<Dataset> datasetInput(OpContext &ctx, int i, const Caller &caller);

/// Sets output 0 to a dataset derived from `sources`.
void outputDataset(OpContext &ctx, const Caller &caller, const std::vector<Ref<Dataset>> &sources,
                   int64_t cardinality, std::function<Next()> iterate);

/// Returns the next element of `source`; fails if the run was stopped.
IterationStep nextElement(const Next &source, OpContext &ctx, Tensors &element);

/// Skips up to `count` elements; returns Element if there were that many.
IterationStep skip(const Next &source, OpContext &ctx, int64_t count);

/// Reports the error and returns IterationStep::Failed.
IterationStep failed(OpContext &ctx, const Caller &caller, Error error);

/// Stacks rows of equal shapes to one element with an additional first dimension.
IterationStep stack(OpContext &ctx, const Caller &caller, const std::vector<Tensors> &rows,
                    Tensors &batch);

/// Sets the outputs to an element. InvalidArgument unless it has these dtypes.
void outputElement(OpContext &ctx, const Caller &caller, std::span<const DType> types,
                   Tensors element);

/// Returns a scalar input, an integer or a bool; nullopt after failing the op.
std::optional<int64_t> scalarInput(OpContext &ctx, int i, const Caller &caller);

/// Returns the number of batches in `count` elements.
int64_t batches(int64_t count, int64_t size, bool dropsRemainder);

/// Groups elements into batches of `size`, and converts each to one element with `join`.
using JoinRows = std::function<IterationStep(OpContext &, const std::vector<Tensors> &, Tensors &)>;
Next batched(Next source, int64_t size, bool dropsRemainder, JoinRows join);

} // namespace treadle
