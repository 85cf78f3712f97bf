// Datasets without functions.
#include "treadle/kernels/datasets/Dataset.h"
#include "treadle/kernels/datasets/Families.h"

#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <mutex>

namespace treadle {
namespace {

struct State {
  Caller caller;
  std::vector<DType> types; // of the elements
};

template <KernelFn fn> Expected<BoundKernel> bind(const BindContext &node) {
  return boundWith(fn, State{{std::string(node.node), std::string(node.op)},
                             node.attrs.getOr("output_types", std::vector<DType>())});
}

const Caller &callerOf(OpContext &ctx) { return ctx.state<State>().caller; }

Tensors inputsFrom(OpContext &ctx, int first, int end) {
  Tensors inputs;
  for (int i = first; i < end; ++i)
    inputs.push_back(ctx.takeInput(i));
  return inputs;
}

// --- sources ------------------------------------------------------------------------------------

void tensorDataset(OpContext &ctx) {
  Tensors components = inputsFrom(ctx, 0, ctx.numInputs());
  outputDataset(ctx, callerOf(ctx), {}, 1, [components] {
    return [components, isOver = false](OpContext &, Tensors &element) mutable {
      if (std::exchange(isOver, true))
        return IterationStep::End;
      element = components;
      return IterationStep::Element;
    };
  });
}

/// Returns row `i` of `count`.
Tensors rowOf(const Tensors &whole, int64_t i, int64_t count) {
  Tensors row;
  for (const Tensor &t : whole)
    row.push_back(t.view(i * (t.count() / count), t.dims().subspan(1)));
  return row;
}

/// Returns the common number of rows; nullopt after failing the op.
std::optional<int64_t> commonRows(OpContext &ctx, const Caller &caller, const Tensors &whole) {
  for (const Tensor &t : whole)
    if (t.rank() == 0 || t.dim(0) != whole[0].dim(0)) {
      caller.fail(ctx,
                  invalidArgument("a component is ", tensorTypeText(t), ", but the first is ",
                                  tensorTypeText(whole[0]), ", expected equal numbers of rows"));
      return std::nullopt;
    }
  return whole.empty() ? 0 : whole[0].dim(0);
}

Next rowsOf(Tensors whole, int64_t count) {
  return [whole = std::move(whole), count, i = int64_t{0}](OpContext &, Tensors &element) mutable {
    if (i == count)
      return IterationStep::End;
    element = rowOf(whole, i++, count);
    return IterationStep::Element;
  };
}

void slices(OpContext &ctx) {
  Tensors whole = inputsFrom(ctx, 0, ctx.numInputs());
  if (auto count = commonRows(ctx, callerOf(ctx), whole))
    outputDataset(ctx, callerOf(ctx), {}, *count,
                  [whole, count = *count] { return rowsOf(whole, count); });
}

Expected<Tensor> scalarOf(DType dtype, int64_t value) {
  Tensor t = Tensor::makeScalar(DType::Int64);
  if (!visitType(dtype, RealTypes(), [&]<typename T>() {
        t = Tensor::makeScalar(dtype);
        *t.data<T>() = static_cast<T>(value);
      }))
    return Unexpected(unimplemented("a range of dtype ", dtypeName(dtype)));
  return t;
}

void range(OpContext &ctx) {
  const auto &[caller, types] = ctx.state<State>();
  auto start = scalarInput(ctx, 0, caller), stop = scalarInput(ctx, 1, caller),
       step = scalarInput(ctx, 2, caller);
  if (!start || !stop || !step)
    return;
  if (*step == 0)
    return caller.fail(ctx, invalidArgument("step is 0, expected a nonzero number"));
  DType dtype = types.empty() ? DType::Int64 : types[0];
  if (Expected<Tensor> first = scalarOf(dtype, *start); !first)
    return caller.fail(ctx, std::move(first.error()));
  __int128 way = static_cast<__int128>(*stop) - *start;
  __int128 count = (way > 0) == (*step > 0) ? (way + *step - (*step > 0 ? 1 : -1)) / *step : 0;
  auto most = static_cast<__int128>(std::numeric_limits<int64_t>::max());
  outputDataset(ctx, caller, {}, static_cast<int64_t>(std::min(count, most)),
                [dtype, start = *start, step = *step, count] {
                  return [=, i = __int128{0}](OpContext &, Tensors &element) mutable {
                    if (i >= count)
                      return IterationStep::End;
                    element = {*scalarOf(dtype, static_cast<int64_t>(start + i++ * step))};
                    return IterationStep::Element;
                  };
                });
}

// --- derived datasets ---------------------------------------------------------------------------

/// Forwards the dataset: the op affects how elements are computed, but not which.
void forwardDataset(OpContext &ctx) {
  if (datasetInput(ctx, 0, callerOf(ctx)))
    ctx.setOutput(0, ctx.takeInput(0));
}

void batch(OpContext &ctx) {
  const Caller &caller = callerOf(ctx);
  Ref<Dataset> source = datasetInput(ctx, 0, caller);
  auto size = scalarInput(ctx, 1, caller);
  auto drops = ctx.numInputs() > 2 ? scalarInput(ctx, ctx.numInputs() - 1, caller)
                                   : std::optional<int64_t>(false);
  if (!source || !size || !drops)
    return;
  if (*size <= 0)
    return caller.fail(ctx, invalidArgument("the batch size is ", *size, ", expected at least 1"));
  outputDataset(ctx, caller, {source}, batches(source->cardinality, *size, *drops),
                [=, size = *size, drops = *drops != 0] {
                  return batched(source->iterate(), size, drops,
                                 [caller](OpContext &ctx, const auto &rows, Tensors &element) {
                                   return stack(ctx, caller, rows, element);
                                 });
                });
}

/// Pads component `c` of all rows to a common shape with `padding`.
IterationStep padComponent(OpContext &ctx, const Caller &caller, const std::vector<Tensors> &rows,
                           size_t c, const DimVector &wanted, const Tensor &padding,
                           Tensors &batch) {
  DType dtype = padding.dtype();
  DimVector dims;
  dims.push(std::ssize(rows));
  for (size_t d = 0; d < wanted.size(); ++d) {
    int64_t size = wanted[d];
    for (const Tensors &row : rows)
      if (wanted[d] < 0 && row[c].rank() == std::ssize(wanted))
        size = std::max(size, row[c].dim(static_cast<int>(d)));
    dims.push(std::max<int64_t>(size, 0));
  }
  auto whole = ctx.check(Tensor::make(dtype, dims));
  if (!whole)
    return IterationStep::Failed;
  fillElements(dtype, whole->raw(), padding.raw(), whole->count());
  Dims place = Dims(dims).subspan(1);
  int64_t placeSize = countBetween(dims, 1, dims.size());
  DimVector strides = rowMajorStrides(place);
  for (size_t row = 0; row < rows.size(); ++row) {
    const Tensor &part = rows[row][c];
    bool fits = part.dtype() == dtype && part.rank() == std::ssize(place);
    for (int d = 0; fits && d < part.rank(); ++d)
      fits = part.dim(d) <= place[static_cast<size_t>(d)];
    if (!fits)
      return failed(ctx, caller,
                    invalidArgument("component ", c, " of an element is ", tensorTypeText(part),
                                    ", which doesn't fit into ", dtypeName(dtype),
                                    dimsText(place)));
    if (part.count())
      copyStrided(dtype, part.dims(),
                  elementAt(dtype, whole->raw(), static_cast<int64_t>(row) * placeSize), strides,
                  part.raw(), rowMajorStrides(part.dims()));
  }
  batch.push_back(std::move(*whole));
  return IterationStep::Element;
}

/// Inputs: dataset, batch size, a shape and a padding value for each component, drop_remainder.
void paddedBatch(OpContext &ctx) {
  const Caller &caller = callerOf(ctx);
  bool hasDrop = caller.op.ends_with("V2");
  int components = (ctx.numInputs() - 2 - hasDrop) / 2;
  Ref<Dataset> source = datasetInput(ctx, 0, caller);
  auto size = scalarInput(ctx, 1, caller);
  auto drops =
      hasDrop ? scalarInput(ctx, ctx.numInputs() - 1, caller) : std::optional<int64_t>(false);
  if (!source || !size || !drops)
    return;
  if (*size <= 0)
    return caller.fail(ctx, invalidArgument("the batch size is ", *size, ", expected at least 1"));
  std::vector<DimVector> shapes;
  for (int c = 0; c < components; ++c)
    shapes.push_back(readIndices(ctx.input(2 + c)));
  Tensors paddings = inputsFrom(ctx, 2 + components, 2 + 2 * components);
  for (const Tensor &padding : paddings)
    if (!padding.isScalar())
      return caller.fail(ctx, invalidArgument("a padding value is ", tensorTypeText(padding),
                                              ", expected a scalar"));
  auto join = [=](OpContext &ctx, const std::vector<Tensors> &rows, Tensors &element) {
    element.clear();
    for (const Tensors &row : rows)
      if (row.size() != shapes.size())
        return failed(ctx, caller,
                      invalidArgument("an element has ", row.size(), " components, expected ",
                                      shapes.size()));
    for (size_t c = 0; c < shapes.size(); ++c)
      if (padComponent(ctx, caller, rows, c, shapes[c], paddings[c], element) ==
          IterationStep::Failed)
        return IterationStep::Failed;
    return IterationStep::Element;
  };
  outputDataset(ctx, caller, {source}, batches(source->cardinality, *size, *drops),
                [=, size = *size, drops = *drops != 0] {
                  return batched(source->iterate(), size, drops, join);
                });
}

void unbatch(OpContext &ctx) {
  const Caller &caller = callerOf(ctx);
  Ref<Dataset> source = TREADLE_OR_RETURN(datasetInput(ctx, 0, caller));
  outputDataset(ctx, caller, {source}, Dataset::unknown, [=] {
    return [caller, from = source->iterate(), rows = Next()](OpContext &ctx,
                                                             Tensors &element) mutable {
      for (;;) {
        if (IterationStep step = rows ? nextElement(rows, ctx, element) : IterationStep::End;
            step != IterationStep::End)
          return step;
        Tensors whole;
        if (IterationStep step = nextElement(from, ctx, whole); step != IterationStep::Element)
          return step;
        auto count = commonRows(ctx, caller, whole);
        if (!count)
          return IterationStep::Failed;
        rows = rowsOf(std::move(whole), *count);
      }
    };
  });
}

void zip(OpContext &ctx) {
  const Caller &caller = callerOf(ctx);
  std::vector<Ref<Dataset>> sources;
  int64_t cardinality = Dataset::infinite;
  for (int i = 0; i < ctx.numInputs(); ++i) {
    Ref<Dataset> source = TREADLE_OR_RETURN(datasetInput(ctx, i, caller));
    int64_t own = source->cardinality;
    if (own == Dataset::unknown || cardinality == Dataset::unknown)
      cardinality = Dataset::unknown;
    else if (own != Dataset::infinite)
      cardinality = cardinality == Dataset::infinite ? own : std::min(own, cardinality);
    sources.push_back(std::move(source));
  }
  outputDataset(ctx, caller, sources, cardinality, [sources] {
    std::vector<Next> from;
    for (const Ref<Dataset> &source : sources)
      from.push_back(source->iterate());
    return [from](OpContext &ctx, Tensors &element) {
      element.clear();
      for (const Next &next : from) {
        Tensors part;
        if (IterationStep step = nextElement(next, ctx, part); step != IterationStep::Element)
          return step;
        std::ranges::move(part, std::back_inserter(element));
      }
      return IterationStep::Element;
    };
  });
}

int64_t sum(int64_t a, int64_t b) {
  if (a == Dataset::infinite || b == Dataset::infinite)
    return Dataset::infinite;
  int64_t total = 0;
  return a < 0 || b < 0 || __builtin_add_overflow(a, b, &total) ? Dataset::unknown : total;
}

void concatenate(OpContext &ctx) {
  const Caller &caller = callerOf(ctx);
  Ref<Dataset> first = datasetInput(ctx, 0, caller);
  Ref<Dataset> second = TREADLE_OR_RETURN(first ? datasetInput(ctx, 1, caller) : nullptr);
  outputDataset(ctx, caller, {first, second}, sum(first->cardinality, second->cardinality), [=] {
    return [from = first->iterate(), second, isSecond = false](OpContext &ctx,
                                                               Tensors &element) mutable {
      IterationStep step = nextElement(from, ctx, element);
      if (step != IterationStep::End || std::exchange(isSecond, true))
        return step;
      from = second->iterate();
      return nextElement(from, ctx, element);
    };
  });
}

int64_t repeated(int64_t cardinality, int64_t count) {
  int64_t total = 0;
  if (count == 0 || cardinality == 0)
    return 0;
  if (count < 0)
    return Dataset::infinite;
  if (cardinality < 0)
    return cardinality;
  return __builtin_mul_overflow(cardinality, count, &total) ? Dataset::unknown : total;
}

void repeat(OpContext &ctx) {
  const Caller &caller = callerOf(ctx);
  Ref<Dataset> source = datasetInput(ctx, 0, caller);
  auto count = scalarInput(ctx, 1, caller);
  if (!source || !count)
    return;
  outputDataset(
      ctx, caller, {source}, repeated(source->cardinality, *count), [source, count = *count] {
        return [=, from = Next(), round = int64_t{0}](OpContext &ctx, Tensors &element) mutable {
          if (IterationStep step = from ? nextElement(from, ctx, element) : IterationStep::End;
              step != IterationStep::End)
            return step;
          if (count >= 0 && round++ >= count)
            return IterationStep::End;
          from = source->iterate();
          IterationStep step = nextElement(from, ctx, element);
          if (step == IterationStep::End) // an empty one stays empty
            round = count;
          return step;
        };
      });
}

void take(OpContext &ctx) {
  const Caller &caller = callerOf(ctx);
  Ref<Dataset> source = datasetInput(ctx, 0, caller);
  auto count = scalarInput(ctx, 1, caller);
  if (!source || !count)
    return;
  int64_t own = source->cardinality;
  int64_t most = *count < 0 ? own : own >= 0 ? std::min(own, *count) : *count;
  outputDataset(
      ctx, caller, {source}, own == Dataset::unknown ? own : most, [source, count = *count] {
        return [from = source->iterate(), left = count](OpContext &ctx, Tensors &element) mutable {
          if (left == 0)
            return IterationStep::End;
          left -= left > 0;
          return nextElement(from, ctx, element);
        };
      });
}

void skipFirst(OpContext &ctx) {
  const Caller &caller = callerOf(ctx);
  Ref<Dataset> source = datasetInput(ctx, 0, caller);
  auto count = scalarInput(ctx, 1, caller);
  if (!source || !count)
    return;
  int64_t own = source->cardinality;
  int64_t left = *count < 0 ? 0 : own < 0 ? own : std::max<int64_t>(own - *count, 0);
  outputDataset(ctx, caller, {source}, left, [source, count = *count] {
    return [from = source->iterate(), toSkip = count](OpContext &ctx, Tensors &element) mutable {
      if (toSkip < 0)
        return IterationStep::End;
      IterationStep step = skip(from, ctx, std::exchange(toSkip, 0));
      return step == IterationStep::Element ? nextElement(from, ctx, element) : step;
    };
  });
}

void shard(OpContext &ctx) {
  const Caller &caller = callerOf(ctx);
  Ref<Dataset> source = datasetInput(ctx, 0, caller);
  auto shards = scalarInput(ctx, 1, caller), index = scalarInput(ctx, 2, caller);
  if (!source || !shards || !index)
    return;
  if (*shards < 1 || *index < 0 || *index >= *shards)
    return caller.fail(ctx,
                       invalidArgument("shard ", *index, " of ", *shards,
                                       ", expected an index from 0 below the number of shards"));
  int64_t own = source->cardinality;
  outputDataset(ctx, caller, {source},
                own < 0 ? own : own / *shards + (own % *shards > *index ? 1 : 0),
                [source, shards = *shards, index = *index] {
                  return [=, from = source->iterate(), toSkip = index](OpContext &ctx,
                                                                       Tensors &element) mutable {
                    IterationStep step = skip(from, ctx, std::exchange(toSkip, shards - 1));
                    return step == IterationStep::Element ? nextElement(from, ctx, element) : step;
                  };
                });
}

// --- datasets that store elements ---------------------------------------------------------------

/// Returns a dataset of these elements.
Tensor datasetOf(std::vector<Tensors> elements) {
  auto kept = std::make_shared<const std::vector<Tensors>>(std::move(elements));
  return makeVariant(makeRef<Dataset>(std::ssize(*kept), 1, [kept] {
    return [kept, i = size_t{0}](OpContext &, Tensors &element) mutable {
      if (i == kept->size())
        return IterationStep::End;
      element = (*kept)[i++];
      return IterationStep::Element;
    };
  }));
}

/// Windows over a dataset's elements: a dataset for each component.
class Windows {
public:
  Windows(Next source, int64_t size, int64_t shift, int64_t stride, bool dropsRemainder)
      : source(std::move(source)), size(size), shift(shift), stride(stride),
        dropsRemainder(dropsRemainder) {}

  IterationStep operator()(OpContext &ctx, Tensors &element) {
    if (fill(ctx) == IterationStep::Failed)
      return IterationStep::Failed;
    if (buffer.empty() || (dropsRemainder && std::ssize(buffer) < reach()))
      return IterationStep::End;
    element.clear();
    for (size_t c = 0; c < buffer[0].size(); ++c)
      element.push_back(datasetOf(component(c)));
    return move(ctx);
  }

private:
  int64_t reach() const { return (size - 1) * stride + 1; }

  IterationStep fill(OpContext &ctx) {
    while (!isOver && std::ssize(buffer) < reach()) {
      Tensors row;
      IterationStep step = nextElement(source, ctx, row);
      if (step == IterationStep::Failed)
        return step;
      isOver = step == IterationStep::End;
      if (!isOver)
        buffer.push_back(std::move(row));
    }
    return IterationStep::Element;
  }

  std::vector<Tensors> component(size_t c) const {
    std::vector<Tensors> rows;
    for (int64_t at = 0; at < std::min(std::ssize(buffer), reach()); at += stride)
      if (const Tensors &row = buffer[static_cast<size_t>(at)]; c < row.size())
        rows.push_back({row[c]});
    return rows;
  }

  IterationStep move(OpContext &ctx) {
    int64_t fromBuffer = std::min(shift, std::ssize(buffer));
    buffer.erase(buffer.begin(), buffer.begin() + fromBuffer);
    IterationStep step = isOver ? IterationStep::End : skip(source, ctx, shift - fromBuffer);
    isOver |= step == IterationStep::End;
    return step == IterationStep::Failed ? step : IterationStep::Element;
  }

  Next source;
  const int64_t size, shift, stride;
  const bool dropsRemainder;
  bool isOver = false;
  std::deque<Tensors> buffer;
};

void window(OpContext &ctx) {
  const Caller &caller = callerOf(ctx);
  Ref<Dataset> source = datasetInput(ctx, 0, caller);
  auto size = scalarInput(ctx, 1, caller), shift = scalarInput(ctx, 2, caller),
       stride = scalarInput(ctx, 3, caller), drops = scalarInput(ctx, 4, caller);
  if (!source || !size || !shift || !stride || !drops)
    return;
  constexpr int64_t most = int64_t{1} << 31;
  for (int64_t number : {*size, *shift, *stride})
    if (number < 1 || number >= most)
      return caller.fail(ctx, invalidArgument("size, shift and stride are ", *size, ", ", *shift,
                                              " and ", *stride, ", expected at least 1"));
  outputDataset(ctx, caller, {source}, Dataset::unknown,
                [source, size = *size, shift = *shift, stride = *stride, drops = *drops != 0] {
                  return Windows(source->iterate(), size, shift, stride, drops);
                });
}

/// The elements of the first iteration that reached the end.
struct CachedElements {
  std::mutex mutex;
  std::shared_ptr<const std::vector<Tensors>> elements; // guarded by the mutex
};

Next cachingIterator(Next from, std::shared_ptr<CachedElements> kept) {
  return [from = std::move(from), kept, seen = std::vector<Tensors>()](OpContext &ctx,
                                                                       Tensors &element) mutable {
    IterationStep step = nextElement(from, ctx, element);
    if (step == IterationStep::Element)
      seen.push_back(element);
    if (step == IterationStep::End) {
      std::lock_guard lock(kept->mutex);
      kept->elements = std::make_shared<const std::vector<Tensors>>(std::move(seen));
    }
    return step;
  };
}

void cache(OpContext &ctx) {
  const Caller &caller = callerOf(ctx);
  Ref<Dataset> source = TREADLE_OR_RETURN(datasetInput(ctx, 0, caller));
  const Tensor &file = ctx.input(1);
  if (!file.isScalar() || !file.data<std::string>()->empty())
    return caller.fail(
        ctx, unimplemented("it caches elements in a file; only caches in memory are supported"));
  auto kept = std::make_shared<CachedElements>();
  outputDataset(ctx, caller, {source}, source->cardinality, [source, kept]() -> Next {
    std::lock_guard lock(kept->mutex);
    if (!kept->elements)
      return cachingIterator(source->iterate(), kept);
    return [all = kept->elements, i = size_t{0}](OpContext &, Tensors &element) mutable {
      if (i == all->size())
        return IterationStep::End;
      element = (*all)[i++];
      return IterationStep::Element;
    };
  });
}

const KernelEntry table[] = {
    {"BatchDataset", bind<batch>},
    {"BatchDatasetV2", bind<batch>},
    {"CacheDataset", bind<cache>},
    {"CacheDatasetV2", bind<cache>},
    {"ConcatenateDataset", bind<concatenate>},
    {"FinalizeDataset", bind<forwardDataset>},
    {"MaxIntraOpParallelismDataset", bind<forwardDataset>},
    {"ModelDataset", bind<forwardDataset>},
    {"OptimizeDataset", bind<forwardDataset>},
    {"OptimizeDatasetV2", bind<forwardDataset>},
    {"OptionsDataset", bind<forwardDataset>},
    {"PaddedBatchDataset", bind<paddedBatch>},
    {"PaddedBatchDatasetV2", bind<paddedBatch>},
    {"ParallelBatchDataset", bind<batch>},
    {"PrefetchDataset", bind<forwardDataset>},
    {"PrivateThreadPoolDataset", bind<forwardDataset>},
    {"RangeDataset", bind<range>},
    {"RepeatDataset", bind<repeat>},
    {"RewriteDataset", bind<forwardDataset>},
    {"ShardDataset", bind<shard>},
    {"SkipDataset", bind<skipFirst>},
    {"TakeDataset", bind<take>},
    {"TensorDataset", bind<tensorDataset>},
    {"TensorSliceDataset", bind<slices>},
    {"UnbatchDataset", bind<unbatch>},
    {"WindowDataset", bind<window>},
    {"ZipDataset", bind<zip>},
};

} // namespace

std::span<const KernelEntry> datasetKernels() { return table; }

} // namespace treadle
