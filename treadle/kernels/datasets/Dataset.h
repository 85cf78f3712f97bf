// Internal to the folder: the values behind dataset ops.
#pragma once

#include "treadle/kernels/Variants.h"
#include "treadle/runtime/FunctionOps.h"

#include <functional>

namespace treadle {

using Tensors = std::vector<Tensor>;

/// What asking for an element gave.
enum class Step : uint8_t { Element, End, Failed };

/// An iteration: gives the next element. Failed: the context has the error. It isn't called again
/// after that or after End. Used by one thread at a time.
using Next = std::function<Step(OpContext &ctx, Tensors &element)>;

/// A sequence of elements, each of them some tensors. Immutable; iterations don't see each other.
class Dataset final : public VariantObject {
public:
  static constexpr std::string_view kindName = "dataset";
  std::string_view kind() const override { return kindName; }

  /// In place of a cardinality.
  static constexpr int64_t infinite = -1, unknown = -2;

  /// `depth`: how many datasets stand behind each other, this one included.
  Dataset(int64_t cardinality, int depth, std::function<Next()> iterate)
      : cardinality(cardinality), depth(depth), iterate(std::move(iterate)) {}

  const int64_t cardinality;
  const int depth;
  const std::function<Next()> iterate;
};

/// The dataset in input `i`; null, having failed.
Ref<Dataset> datasetInput(OpContext &ctx, int i, const Caller &caller);

/// Gives a dataset that is made of `sources` as output 0.
void giveDataset(OpContext &ctx, const Caller &caller, const std::vector<Ref<Dataset>> &sources,
                 int64_t cardinality, std::function<Next()> iterate);

/// The next element of `source`, unless the run was stopped.
Step pull(const Next &source, OpContext &ctx, Tensors &element);

/// Skips up to `count` elements: Element if there were so many.
Step skip(const Next &source, OpContext &ctx, int64_t count);

/// Step::Failed with this error.
Step failed(OpContext &ctx, const Caller &caller, Error error);

/// Rows of equal shapes as one element with a dimension more, in front.
Step stack(OpContext &ctx, const Caller &caller, const std::vector<Tensors> &rows, Tensors &batch);

/// Gives an element as the outputs. InvalidArgument unless it has the outputs' dtypes.
void giveElement(OpContext &ctx, const Caller &caller, std::span<const DType> types,
                 Tensors element);

/// An input that is a scalar: an integer or a bool; nothing, having failed.
std::optional<int64_t> scalarInput(OpContext &ctx, int i, const Caller &caller);

/// How many batches `count` elements make.
int64_t batches(int64_t count, int64_t size, bool dropsRemainder);

/// Takes elements in batches of `size`, and makes one element of each by `join`.
using JoinRows = std::function<Step(OpContext &, const std::vector<Tensors> &, Tensors &)>;
Next batched(Next source, int64_t size, bool dropsRemainder, JoinRows join);

} // namespace treadle
