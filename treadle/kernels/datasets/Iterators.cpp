// Iterators: positions in a dataset that persist between runs.
#include "treadle/kernels/Handles.h"
#include "treadle/kernels/datasets/Dataset.h"
#include "treadle/kernels/datasets/Families.h"
#include "treadle/kernels/lists/Optional.h"

#include <mutex>

namespace treadle {
namespace {

/// An iterator resource. Thread-safe: calls are serialized.
class Iterator final : public Resource {
public:
  static constexpr std::string_view kindName = "iterator";
  std::string_view kind() const override { return kindName; }

  void restart(Next iteration) {
    std::lock_guard lock(mutex);
    next = std::move(iteration);
    isMade = true;
  }

  IterationStep advance(OpContext &ctx, const Caller &caller, Tensors &element) {
    std::lock_guard lock(mutex);
    if (!isMade)
      return failed(
          ctx, caller,
          failedPrecondition("the iterator has no dataset yet; run its MakeIterator node first"));
    IterationStep step = next ? nextElement(next, ctx, element) : IterationStep::End;
    if (step == IterationStep::End)
      next = nullptr;
    return step;
  }

private:
  std::mutex mutex;
  Next next; // empty at the end
  bool isMade = false;
};

struct State {
  Caller caller;
  std::vector<DType> types;
  ResourceName resource;
  CachedHandle handle = {};
};

template <KernelFn fn> Expected<BoundKernel> bind(const BindContext &node) {
  return boundWith(fn, State{{std::string(node.node), std::string(node.op)},
                             {node.outputTypes.begin(), node.outputTypes.end()},
                             ResourceName::ofOrNode(node)});
}

const Caller &callerOf(OpContext &ctx) { return ctx.state<State>().caller; }

void makeNamed(OpContext &ctx) {
  const auto &state = ctx.state<State>();
  ResourceManager &resources = ctx.run().resources;
  ctx.setOutput(0, state.handle.get(resources, [&] {
    return makeHandle(resources.lookupOrCreate<Iterator>(
        state.resource.container, state.resource.name, [] { return makeRef<Iterator>(); }));
  }));
}

void makeAnonymous(OpContext &ctx) {
  ctx.setOutput(0, makeHandle(makeRef<Iterator>()));
  if (ctx.numOutputs() > 1) // the deleter: not needed
    ctx.setOutput(1, makeVariant(makeRef<TensorObject>(ctx.output(0))));
}

/// A cache's handle; the elements are stored with the dataset.
class CacheHandle final : public Resource {
public:
  std::string_view kind() const override { return "dataset cache"; }
};

void makeCache(OpContext &ctx) { ctx.setOutput(0, makeHandle(makeRef<CacheHandle>())); }

/// Does nothing: the iterator is freed with its last handle.
void deleteIterator(OpContext &) {}

void start(OpContext &ctx) {
  Ref<Dataset> dataset = TREADLE_OR_RETURN(datasetInput(ctx, 0, callerOf(ctx)));
  if (auto *iterator = resourceInput<Iterator>(ctx, 1))
    iterator->restart(dataset->iterate());
}

void getNext(OpContext &ctx) {
  const auto &state = ctx.state<State>();
  Tensors element;
  auto *iterator = resourceInput<Iterator>(ctx, 0);
  IterationStep step =
      iterator ? iterator->advance(ctx, state.caller, element) : IterationStep::Failed;
  if (step == IterationStep::End)
    return ctx.fail(outOfRange("the iterator is at the end of its dataset"));
  if (step == IterationStep::Element)
    outputElement(ctx, state.caller, state.types, std::move(element));
}

void getNextAsOptional(OpContext &ctx) {
  Tensors element;
  auto *iterator = resourceInput<Iterator>(ctx, 0);
  IterationStep step =
      iterator ? iterator->advance(ctx, callerOf(ctx), element) : IterationStep::Failed;
  if (step != IterationStep::Failed)
    ctx.setOutput(0, makeVariant(step == IterationStep::End
                                     ? makeRef<OptionalObject>()
                                     : makeRef<OptionalObject>(std::move(element))));
}

void singleElement(OpContext &ctx) {
  const auto &state = ctx.state<State>();
  Ref<Dataset> dataset = TREADLE_OR_RETURN(datasetInput(ctx, 0, state.caller));
  Next next = dataset->iterate();
  Tensors element, another;
  IterationStep step = nextElement(next, ctx, element);
  if (step == IterationStep::End)
    return ctx.fail(invalidArgument("the dataset is empty, expected one element"));
  if (step == IterationStep::Element)
    step = nextElement(next, ctx, another);
  if (step == IterationStep::Element)
    return ctx.fail(invalidArgument("the dataset has more than one element, expected one"));
  if (step == IterationStep::End)
    outputElement(ctx, state.caller, state.types, std::move(element));
}

void cardinality(OpContext &ctx) {
  if (Ref<Dataset> dataset = datasetInput(ctx, 0, callerOf(ctx)))
    ctx.setOutput(0, Tensor::scalar(DType::Int64, dataset->cardinality));
}

const KernelEntry table[] = {
    {"AnonymousIterator", bind<makeAnonymous>},
    {"AnonymousIteratorV2", bind<makeAnonymous>},
    {"AnonymousIteratorV3", bind<makeAnonymous>},
    {"DatasetCardinality", bind<cardinality>},
    {"DatasetToSingleElement", bind<singleElement>},
    {"DeleteIterator", bind<deleteIterator>},
    {"DummyMemoryCache", bind<makeCache>},
    {"Iterator", bind<makeNamed>},
    {"IteratorGetNext", bind<getNext>},
    {"IteratorGetNextAsOptional", bind<getNextAsOptional>},
    {"IteratorGetNextSync", bind<getNext>},
    {"IteratorV2", bind<makeNamed>},
    {"MakeIterator", bind<start>},
};

} // namespace

std::span<const KernelEntry> iteratorKernels() { return table; }

} // namespace treadle
