// Datasets that apply functions to elements. Functions run when elements are requested, within the
// op that requests them.
#include "treadle/kernels/datasets/Dataset.h"
#include "treadle/kernels/datasets/Families.h"

#include "treadle/kernels/ElementCopy.h"

#include <algorithm>

namespace treadle {
namespace {

/// A function with its captures, which follow its other arguments.
struct CapturingFunction {
  Caller caller;
  std::shared_ptr<const Callee> callee;
  size_t numResults = 0;
  Tensors captured;

  IterationStep call(OpContext &ctx, Tensors args, Tensors &results) const;
};

IterationStep CapturingFunction::call(OpContext &ctx, Tensors args, Tensors &results) const {
  args.insert(args.end(), captured.begin(), captured.end());
  Expected<const Plan *> plan = callee->plan(args.size());
  if (!plan)
    return failed(ctx, caller, std::move(plan.error()));
  for (size_t i = 0; i < args.size(); ++i)
    if (Expected<void> ok = convertArgument(**plan, i, args[i]); !ok)
      return failed(ctx, caller, std::move(ok.error()));
  results.assign(numResults, Tensor());
  return callFunction(**plan, args, results, ctx) ? IterationStep::Element : IterationStep::Failed;
}

struct State {
  CapturingFunction function; // without captures
  size_t numState = 0, numCaptured = 0;
  std::vector<DType> outputTypes; // of the node
};

/// Inputs: dataset, initial state, captures, and further inputs.
CapturingFunction capturing(OpContext &ctx) {
  const State &state = ctx.state<State>();
  CapturingFunction function = state.function;
  for (size_t i = 0; i < state.numCaptured; ++i)
    function.captured.push_back(ctx.input(static_cast<int>(1 + state.numState + i)));
  return function;
}

Tensors initialState(OpContext &ctx) {
  Tensors values;
  for (size_t i = 0; i < ctx.state<State>().numState; ++i)
    values.push_back(ctx.input(static_cast<int>(1 + i)));
  return values;
}

int firstOption(OpContext &ctx) {
  const State &state = ctx.state<State>();
  return static_cast<int>(1 + state.numState + state.numCaptured);
}

/// Evaluates the predicate on an element; returns Failed or Element.
IterationStep test(const CapturingFunction &predicate, OpContext &ctx, const Tensors &element,
                   bool &isTrue) {
  Tensors results;
  if (predicate.call(ctx, element, results) == IterationStep::Failed)
    return IterationStep::Failed;
  if (!results[0].isScalar())
    return failed(ctx, predicate.caller,
                  invalidArgument("its predicate returns ", tensorTypeText(results[0]),
                                  ", expected a scalar"));
  isTrue = results[0].scalarValue<bool>();
  return IterationStep::Element;
}

// --- map and filter -----------------------------------------------------------------------------

Next mapped(Next source, CapturingFunction function) {
  return [source = std::move(source), function = std::move(function)](OpContext &ctx,
                                                                      Tensors &element) {
    Tensors args;
    IterationStep step = nextElement(source, ctx, args);
    return step == IterationStep::Element ? function.call(ctx, std::move(args), element) : step;
  };
}

void map(OpContext &ctx) {
  CapturingFunction function = capturing(ctx);
  if (Ref<Dataset> source = datasetInput(ctx, 0, function.caller))
    outputDataset(ctx, function.caller, {source}, source->cardinality,
                  [=] { return mapped(source->iterate(), function); });
}

void mapAndBatch(OpContext &ctx) {
  CapturingFunction function = capturing(ctx);
  const Caller &caller = function.caller;
  Ref<Dataset> source = datasetInput(ctx, 0, caller);
  int option = firstOption(ctx);
  auto size = scalarInput(ctx, option, caller), drops = scalarInput(ctx, option + 2, caller);
  if (!source || !size || !drops)
    return;
  if (*size <= 0)
    return caller.fail(ctx, invalidArgument("the batch size is ", *size, ", expected at least 1"));
  outputDataset(ctx, caller, {source}, batches(source->cardinality, *size, *drops),
                [=, size = *size, drops = *drops != 0] {
                  return batched(mapped(source->iterate(), function), size, drops,
                                 [=](OpContext &ctx, const auto &rows, Tensors &element) {
                                   return stack(ctx, function.caller, rows, element);
                                 });
                });
}

/// Yields the elements that satisfy the predicate; with `isPrefix`, ends at the first one that
/// doesn't.
template <bool isPrefix> void filter(OpContext &ctx) {
  CapturingFunction predicate = capturing(ctx);
  Ref<Dataset> source = TREADLE_OR_RETURN(datasetInput(ctx, 0, predicate.caller));
  outputDataset(ctx, predicate.caller, {source}, Dataset::unknown, [=] {
    return [=, from = source->iterate()](OpContext &ctx, Tensors &element) {
      for (;;) {
        bool holds = false;
        IterationStep step = nextElement(from, ctx, element);
        if (step == IterationStep::Element)
          step = test(predicate, ctx, element, holds);
        if (step != IterationStep::Element || holds)
          return step;
        if (isPrefix)
          return IterationStep::End;
      }
    };
  });
}

// --- nested datasets ----------------------------------------------------------------------------

/// Opens an iteration of the dataset that the function returns for the next element.
IterationStep openNext(const Next &source, const CapturingFunction &function, OpContext &ctx,
                       Next &opened) {
  Tensors args, results;
  if (IterationStep step = nextElement(source, ctx, args); step != IterationStep::Element)
    return step;
  if (function.call(ctx, std::move(args), results) == IterationStep::Failed)
    return IterationStep::Failed;
  auto *dataset = variantIn<Dataset>(results[0]);
  if (!dataset)
    return failed(ctx, function.caller, invalidArgument("its function doesn't return a dataset"));
  opened = dataset->iterate();
  return IterationStep::Element;
}

/// Interleaves `cycle` datasets, `block` elements of each in turn.
class Interleaved {
public:
  Interleaved(Next source, CapturingFunction function, int64_t cycle, int64_t block)
      : source(std::move(source)), function(std::move(function)), block(block),
        open(static_cast<size_t>(cycle)) {}

  IterationStep operator()(OpContext &ctx, Tensors &element) {
    while (!isOver || numOpen) {
      Next &current = open[at];
      if (!current && !isOver) {
        IterationStep step = openNext(source, function, ctx, current);
        if (step == IterationStep::Failed)
          return step;
        isOver = step == IterationStep::End;
        numOpen += step == IterationStep::Element;
      }
      IterationStep step = current ? nextElement(current, ctx, element) : IterationStep::End;
      if (step == IterationStep::Failed)
        return step;
      if (step == IterationStep::Element) {
        if (++taken == block)
          advance();
        return step;
      }
      numOpen -= current != nullptr;
      current = nullptr;
      advance();
    }
    return IterationStep::End;
  }

private:
  void advance() {
    at = (at + 1) % open.size();
    taken = 0;
  }

  Next source;
  CapturingFunction function;
  int64_t block, taken = 0;
  bool isOver = false;
  size_t at = 0, numOpen = 0;
  std::vector<Next> open;
};

void interleaveBy(OpContext &ctx, CapturingFunction function, int64_t cycle, int64_t block) {
  constexpr int64_t maxAtOnce = 1 << 20;
  if (cycle < 1 || cycle > maxAtOnce || block < 1)
    return function.caller.fail(ctx,
                                invalidArgument("cycle_length is ", cycle, " and block_length ",
                                                block, ", expected at least 1"));
  Ref<Dataset> source = datasetInput(ctx, 0, function.caller);
  if (source)
    outputDataset(ctx, function.caller, {source}, Dataset::unknown,
                  [=] { return Interleaved(source->iterate(), function, cycle, block); });
}

void flatMap(OpContext &ctx) { interleaveBy(ctx, capturing(ctx), 1, 1); }

void interleave(OpContext &ctx) {
  CapturingFunction function = capturing(ctx);
  auto cycle = scalarInput(ctx, firstOption(ctx), function.caller);
  auto block = scalarInput(ctx, firstOption(ctx) + 1, function.caller);
  if (cycle && block)
    interleaveBy(ctx, std::move(function), *cycle, *block);
}

// --- scan and reduce ----------------------------------------------------------------------------

Tensors joined(Tensors a, Tensors b) {
  std::ranges::move(b, std::back_inserter(a));
  return a;
}

void scan(OpContext &ctx) {
  CapturingFunction function = capturing(ctx);
  Ref<Dataset> source = TREADLE_OR_RETURN(datasetInput(ctx, 0, function.caller));
  outputDataset(
      ctx, function.caller, {source}, source->cardinality,
      [source, function, initial = initialState(ctx)] {
        return [=, from = source->iterate(), state = initial](OpContext &ctx,
                                                              Tensors &element) mutable {
          Tensors args, results;
          if (IterationStep step = nextElement(from, ctx, args); step != IterationStep::Element)
            return step;
          if (function.call(ctx, joined(state, std::move(args)), results) == IterationStep::Failed)
            return IterationStep::Failed;
          auto end = results.begin() + std::ssize(state);
          std::move(results.begin(), end, state.begin());
          element.assign(std::make_move_iterator(end), std::make_move_iterator(results.end()));
          return IterationStep::Element;
        };
      });
}

void reduce(OpContext &ctx) {
  CapturingFunction function = capturing(ctx);
  Ref<Dataset> source = TREADLE_OR_RETURN(datasetInput(ctx, 0, function.caller));
  Next from = source->iterate();
  for (Tensors state = initialState(ctx);;) {
    Tensors element, results;
    IterationStep step = nextElement(from, ctx, element);
    if (step == IterationStep::End)
      return outputElement(ctx, function.caller, ctx.state<State>().outputTypes, std::move(state));
    if (step == IterationStep::Element)
      step = function.call(ctx, joined(std::move(state), std::move(element)), results);
    if (step == IterationStep::Failed)
      return;
    state = std::move(results);
  }
}

// --- binding ------------------------------------------------------------------------------------

/// The function's output types, and the attribute that names the function.
struct Form {
  const char *attr;
  std::vector<DType> results;
};

Form predicateForm(const AttrMap &) { return {"predicate", {DType::Bool}}; }
Form datasetForm(const AttrMap &) { return {"f", {DType::Variant}}; }
Form elementForm(const AttrMap &attrs) {
  return {"f", attrs.getOr("output_types", std::vector<DType>())};
}
Form stateForm(const AttrMap &attrs) { return {"f", attrs.getOr("Tstate", std::vector<DType>())}; }
Form scanForm(const AttrMap &attrs) {
  Form form = stateForm(attrs);
  std::ranges::copy(elementForm(attrs).results, std::back_inserter(form.results));
  return form;
}

template <KernelFn fn, Form (*formOf)(const AttrMap &)>
Expected<BoundKernel> bind(const NodeSpec &spec, FunctionLibrary *library) {
  Form form = formOf(spec.attrs);
  State state{{{spec.name, spec.op}, nullptr, form.results.size(), {}},
              stateForm(spec.attrs).results.size(),
              spec.attrs.getOr("Targuments", std::vector<DType>()).size(),
              {}};
  for (ValueType type : spec.outputTypes)
    state.outputTypes.push_back(type.dtype);
  if (spec.inputs.size() < 1 + state.numState + state.numCaptured)
    return Unexpected(invalidArgument("it has ", spec.inputs.size(), " inputs, expected ",
                                      1 + state.numState + state.numCaptured, " at least"));
  FunctionRef function = TREADLE_TRY(spec.attrs.get<FunctionRef>(form.attr));
  std::vector<ValueType> results;
  for (DType dtype : form.results)
    results.push_back({dtype});
  state.function.callee =
      std::make_shared<const Callee>(function, std::move(results), ArgMode::Owned, library);
  return boundWith(fn, std::move(state));
}

constexpr FunctionKernelEntry table[] = {
    {"FilterDataset", bind<filter<false>, predicateForm>},
    {"FlatMapDataset", bind<flatMap, datasetForm>},
    {"InterleaveDataset", bind<interleave, datasetForm>},
    {"MapAndBatchDataset", bind<mapAndBatch, elementForm>},
    {"MapDataset", bind<map, elementForm>},
    {"ParallelFilterDataset", bind<filter<false>, predicateForm>},
    {"ParallelInterleaveDatasetV2", bind<interleave, datasetForm>},
    {"ParallelInterleaveDatasetV3", bind<interleave, datasetForm>},
    {"ParallelInterleaveDatasetV4", bind<interleave, datasetForm>},
    {"ParallelMapDataset", bind<map, elementForm>},
    {"ParallelMapDatasetV2", bind<map, elementForm>},
    {"ReduceDataset", bind<reduce, stateForm>},
    {"ScanDataset", bind<scan, scanForm>},
    {"TakeWhileDataset", bind<filter<true>, predicateForm>},
};

} // namespace

std::span<const FunctionKernelEntry> datasetFunctionKernels() { return table; }

} // namespace treadle
