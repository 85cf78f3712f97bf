// Packing of ragged tensors into variants, one for the whole tensor or one per row, and unpacking.
#include "treadle/kernels/sparse/Ragged.h"

#include "treadle/kernels/ElementShapes.h"

#include <algorithm>

namespace treadle {

// --- splits ------------------------------------------------------------------------------------

Tensor makeSplits(DType dtype, std::span<const int64_t> values) {
  Tensor splits = *Tensor::make(dtype, {static_cast<int64_t>(values.size())});
  if (dtype == DType::Int64)
    std::ranges::copy(values, splits.data<int64_t>());
  else
    std::ranges::copy(values, splits.data<int32_t>());
  return splits;
}

namespace {

// Checks that splits begin at zero, don't decrease, and end at `rows`.
Expected<void> checkSplits(const Tensor &splits, int64_t rows) {
  if (splits.rank() != 1 || splits.count() < 1 || indexAt(splits, 0) != 0)
    return Unexpected(invalidArgument("row splits are ", tensorTypeText(splits),
                                      ", expected a vector that starts with 0"));
  for (int64_t i = 1; i < splits.count(); ++i)
    if (indexAt(splits, i) < indexAt(splits, i - 1))
      return Unexpected(invalidArgument("row splits decrease from ", indexAt(splits, i - 1), " to ",
                                        indexAt(splits, i), ", expected them to increase"));
  if (int64_t last = indexAt(splits, splits.count() - 1); last != rows)
    return Unexpected(
        invalidArgument("the last row split is ", last, ", expected the number of rows ", rows));
  return {};
}

} // namespace

Expected<void> checkRagged(std::span<const Tensor> splits, const Tensor &values) {
  if (!splits.empty() && values.rank() == 0)
    return Unexpected(invalidArgument("the values of a ragged tensor are a scalar"));
  for (size_t k = 0; k < splits.size(); ++k) {
    int64_t rows = k + 1 < splits.size() ? splits[k + 1].count() - 1 : values.dim(0);
    TREADLE_TRY(checkSplits(splits[k], rows));
  }
  return {};
}

namespace {

// --- to variants -------------------------------------------------------------------------------

// Returns row `i` of a ragged tensor with at least one level of splits.
Ref<VariantObject> raggedRow(std::span<const Tensor> splits, const Tensor &values, int64_t i) {
  int64_t begin = indexAt(splits[0], i), end = indexAt(splits[0], i + 1);
  std::vector<Tensor> own;
  for (const Tensor &level : splits.subspan(1)) {
    std::vector<int64_t> shifted;
    int64_t first = indexAt(level, begin), last = indexAt(level, end);
    for (int64_t k = begin; k <= end; ++k)
      shifted.push_back(indexAt(level, k) - first);
    own.push_back(makeSplits(level.dtype(), shifted));
    begin = first;
    end = last;
  }
  return makeRef<RaggedObject>(std::move(own), rowsOf(values, begin, end - begin));
}

void toRows(OpContext &ctx, std::span<const Tensor> splits, const Tensor &values) {
  if (splits.empty() && values.rank() == 0)
    return ctx.fail(invalidArgument("the values are a scalar, which has no rows"));
  int64_t count = splits.empty() ? values.dim(0) : splits[0].count() - 1;
  Tensor *out = ctx.allocateOutput(0, DType::Variant, {count});
  for (int64_t i = 0; out && i < count; ++i)
    out->data<Variant>()[i].object =
        splits.empty()
            ? Ref<VariantObject>(makeRef<RaggedObject>(std::vector<Tensor>(), rowOf(values, i)))
            : raggedRow(splits, values, i);
}

void toVariant(OpContext &ctx) {
  std::vector<Tensor> splits;
  for (int i = 0; i + 1 < ctx.numInputs(); ++i)
    splits.push_back(ctx.input(i));
  Tensor values = ctx.input(ctx.numInputs() - 1);
  if (auto good = checkRagged(splits, values); !good)
    return ctx.fail(std::move(good.error()));
  if (ctx.state<bool>()) // batched_input
    return toRows(ctx, splits, values);
  ctx.setOutput(0, makeVariant(makeRef<RaggedObject>(std::move(splits), std::move(values))));
}

Expected<BoundKernel> bindToVariant(const BindContext &node) {
  return boundWith(toVariant, node.attrs.getOr("batched_input", false));
}

// --- from variants -----------------------------------------------------------------------------

struct FromState {
  int64_t inputRank, outputRank;
  DType dtype, splitsDType;
};

using Components = std::vector<const RaggedObject *>;

// Returns the ragged tensors in `encoded`, each with `rank` levels of splits.
std::optional<Components> componentsOf(OpContext &ctx, const Tensor &encoded, int64_t rank,
                                       DType dtype, DType splitsDType) {
  Components all;
  for (const Variant &variant : encoded.values<Variant>()) {
    const VariantObject *object = variant.object.get();
    if (!object || object->kind() != RaggedObject::kindName) {
      ctx.fail(invalidArgument("element ", all.size(), " of ", tensorTypeText(encoded),
                               " is not a ragged tensor"));
      return std::nullopt;
    }
    auto *ragged = static_cast<const RaggedObject *>(object);
    bool hasSplits = std::ranges::all_of(
        ragged->splits, [&](const Tensor &splits) { return splits.dtype() == splitsDType; });
    if (ragged->values.dtype() != dtype || !hasSplits ||
        static_cast<int64_t>(ragged->splits.size()) != rank ||
        (!all.empty() && ragged->values.rank() != all[0]->values.rank())) {
      ctx.fail(invalidArgument("element ", all.size(), " is a ragged tensor of ",
                               ragged->splits.size(), " levels over ",
                               tensorTypeText(ragged->values), ", expected ", rank, " levels over ",
                               dtypeName(dtype), ", like the others"));
      return std::nullopt;
    }
    all.push_back(ragged);
  }
  return all;
}

// Outputs uniform splits for all dimensions of `encoded` but the last.
bool setUniformSplits(OpContext &ctx, Dims dims, DType dtype) {
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < dims.size(); ++d) {
    rows *= dims[d];
    Tensor *splits = ctx.allocateOutput(static_cast<int>(d), dtype, {rows + 1});
    if (!splits)
      return false;
    for (int64_t i = 0; i <= rows; ++i)
      if (dtype == DType::Int64)
        splits->data<int64_t>()[i] = i * dims[d + 1];
      else
        splits->data<int32_t>()[i] = static_cast<int32_t>(i * dims[d + 1]);
  }
  return true;
}

int64_t outerLength(const RaggedObject &component) {
  return component.splits.empty() ? component.values.dim(0) : component.splits[0].count() - 1;
}

// Concatenates level `k` of all components; level -1 is the lengths of the components.
Tensor concatenateSplits(const Components &components, int64_t k, DType dtype) {
  std::vector<int64_t> joined = {0};
  for (const RaggedObject *component : components) {
    int64_t base = joined.back();
    if (k < 0) {
      joined.push_back(base + outerLength(*component));
      continue;
    }
    for (int64_t i = 1; i < component->splits[k].count(); ++i)
      joined.push_back(base + indexAt(component->splits[k], i));
  }
  return makeSplits(dtype, joined);
}

// Concatenates the components' values along their first dimension.
void outputConcatenatedValues(OpContext &ctx, const Components &components, DType dtype) {
  DimVector dims(size_t{1});
  for (size_t i = 0; i < components.size(); ++i) {
    Dims own = components[i]->values.dims();
    if (i == 0)
      dims = DimVector(own);
    else if (!std::ranges::equal(own.subspan(1), components[0]->values.dims().subspan(1)))
      return ctx.fail(invalidArgument("values have shapes ", dimsText(components[0]->values.dims()),
                                      " and ", dimsText(own),
                                      ", expected the same after the first dimension"));
    else
      dims[0] += own[0];
  }
  Tensor *out = ctx.allocateOutput(ctx.numOutputs() - 1, dtype, dims);
  int64_t at = 0;
  for (const RaggedObject *component : components) {
    if (!out)
      return;
    copyElements(dtype, elementAt(dtype, out->raw(), at), component->values.raw(),
                 component->values.count());
    at += component->values.count();
  }
}

// Stacks components without splits along a new dimension.
void outputStackedValues(OpContext &ctx, const Components &components, DType dtype) {
  std::vector<Tensor> values;
  for (const RaggedObject *component : components) {
    values.push_back(component->values);
    if (!std::ranges::equal(values.front().dims(), values.back().dims()))
      return ctx.fail(invalidArgument("values have shapes ", dimsText(values.front().dims()),
                                      " and ", dimsText(values.back().dims()),
                                      ", expected the same"));
  }
  if (auto out =
          ctx.check(stackTensors(dtype, values, values.empty() ? Dims() : values.front().dims())))
    ctx.setOutput(ctx.numOutputs() - 1, std::move(*out));
}

void outputWhole(OpContext &ctx, const RaggedObject &ragged) {
  for (size_t k = 0; k < ragged.splits.size(); ++k)
    ctx.setOutput(static_cast<int>(k), ragged.splits[k]);
  ctx.setOutput(ctx.numOutputs() - 1, ragged.values);
}

void fromVariant(OpContext &ctx) {
  const auto &state = ctx.state<FromState>();
  const Tensor &encoded = ctx.input(0);
  int64_t levels = encoded.rank(), rank = state.inputRank;
  if (rank == -1)
    rank = state.outputRank - levels;
  if (rank < -1 || rank + levels != state.outputRank)
    return ctx.fail(invalidArgument("output_ragged_rank is ", state.outputRank,
                                    ", expected the rank ", levels,
                                    " of the encoded tensor plus input_ragged_rank ", rank));
  auto components = TREADLE_OR_RETURN(
      componentsOf(ctx, encoded, std::max<int64_t>(rank, 0), state.dtype, state.splitsDType));
  if (levels == 0)
    return outputWhole(ctx, *components.front());
  if (!setUniformSplits(ctx, encoded.dims(), state.splitsDType))
    return;
  if (rank < 0)
    return outputStackedValues(ctx, components, state.dtype);
  for (const RaggedObject *component : components)
    if (component->values.rank() == 0)
      return ctx.fail(invalidArgument("a row of the ragged tensor is a scalar"));
  for (int64_t k = -1; k < rank; ++k)
    ctx.setOutput(static_cast<int>(levels + k),
                  concatenateSplits(components, k, state.splitsDType));
  outputConcatenatedValues(ctx, components, state.dtype);
}

Expected<BoundKernel> bindFromVariant(const BindContext &node) {
  auto inputRank = node.attrs.get<int64_t>("input_ragged_rank");
  auto outputRank = node.attrs.get<int64_t>("output_ragged_rank");
  if (!inputRank || !outputRank)
    return Unexpected(!inputRank ? std::move(inputRank.error()) : std::move(outputRank.error()));
  return boundWith(fromVariant, FromState{*inputRank, *outputRank, node.outputTypes.back(),
                                          node.attrs.getOr("Tsplits", DType::Int64)});
}

// --- gradient of packing rows ------------------------------------------------------------------

// Inputs: a variant for each row, the row splits, the shape of the values. A row without a variant
// has a zero gradient.
void toVariantGradient(OpContext &ctx) {
  DType dtype = ctx.state<DType>();
  const Tensor &encoded = ctx.input(0), &splits = ctx.input(1), &shape = ctx.input(2);
  if (shape.rank() != 1 || splits.rank() != 1)
    return ctx.fail(invalidArgument("row splits are ", tensorTypeText(splits),
                                    " and the shape of values is ", tensorTypeText(shape),
                                    ", expected vectors"));
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtype, readIndices(shape)));
  zeroElements(dtype, out->raw(), out->count());
  bool isWhole = encoded.rank() == 0;
  if (!isWhole && splits.count() != encoded.count() + 1)
    return ctx.fail(invalidArgument("there are ", splits.count(), " row splits for ",
                                    encoded.count(), " rows, expected one more than rows"));
  int64_t rows = out->rank() ? out->dim(0) : 1, width = rows ? out->count() / rows : 0;
  for (int64_t i = 0; i < encoded.count(); ++i) {
    const VariantObject *object = encoded.data<Variant>()[i].object.get();
    if (!object)
      continue;
    if (object->kind() != RaggedObject::kindName)
      return ctx.fail(invalidArgument("element ", i, " is not a ragged tensor"));
    const Tensor &values = static_cast<const RaggedObject *>(object)->values;
    int64_t begin = isWhole ? 0 : indexAt(splits, i) * width;
    if (values.dtype() != dtype || begin < 0 || begin > out->count() ||
        values.count() > out->count() - begin)
      return ctx.fail(invalidArgument("the gradient of row ", i, " is ", tensorTypeText(values),
                                      ", which does not fit into ", tensorTypeText(*out)));
    copyElements(dtype, elementAt(dtype, out->raw(), begin), values.raw(), values.count());
  }
}

Expected<BoundKernel> bindGradient(const BindContext &node) {
  return boundWith(toVariantGradient, node.outputTypes[0]);
}

const KernelEntry raggedTable[] = {
    {"RaggedTensorFromVariant", bindFromVariant},
    {"RaggedTensorToVariant", bindToVariant},
    {"RaggedTensorToVariantGradient", bindGradient},
};

} // namespace

std::span<const KernelEntry> raggedKernels() { return raggedTable; }

} // namespace treadle
