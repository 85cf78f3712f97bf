// Barriers: elements whose components are inserted separately, by key, and which are taken in FIFO
// order of keys once they are complete.
#include "treadle/kernels/Handles.h"
#include "treadle/kernels/exchange/Queue.h"

#include "treadle/kernels/ElementShapes.h"

#include <algorithm>
#include <unordered_map>

namespace treadle {
namespace {

using Types = std::vector<DType>;

/// A barrier. Complete elements are in a queue, as their number, key and components. Thread-safe.
class Barrier final : public Resource {
public:
  static constexpr std::string_view kindName = "barrier";
  std::string_view kind() const override { return kindName; }

  Barrier(const Types &dtypes, const std::vector<PartialShape> &shapes);

  /// Inserts component `component` for each key: one row of `values`.
  void insert(OpContext &ctx, int64_t component, std::span<const std::string> keys,
              const Tensor &values);
  void take(OpContext &ctx, int64_t count, bool allowsFewer);
  void close(OpContext &ctx, bool cancelsPending);
  int64_t completeCount() const { return ready->size(); }
  int64_t incompleteCount() const {
    std::lock_guard lock(mutex);
    return static_cast<int64_t>(incomplete.size());
  }

  // Number of queue components before the barrier's own.
  static constexpr size_t ownComponents = 2;
  const QueueTraits &traits() const { return ready->traits; }

private:
  std::optional<Error> checkInsert(int64_t component, std::span<const std::string> keys,
                                   const Tensor &values) const;

  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Elements =
      std::unordered_map<BudgetedString, StoredTuple, Hash, std::equal_to<>,
                         BudgetedAllocator<std::pair<const BudgetedString, StoredTuple>>>;
  Elements::iterator begin(const std::string &key);

  const Ref<Queue> ready;
  const MemoryShare share;
  mutable std::mutex mutex; // guards the members below
  Elements incomplete{share};
  int64_t nextNumber = INT64_MIN; // as in TensorFlow, one number for all new keys of an op
  bool isClosed = false, isCancelled = false;
};

QueueTraits readyTraits(const Types &dtypes, const std::vector<PartialShape> &shapes) {
  QueueTraits traits{.op = "Barrier", .dtypes = {DType::Int64, DType::String}, .shapes = {}};
  traits.dtypes.insert(traits.dtypes.end(), dtypes.begin(), dtypes.end());
  traits.shapes.assign(Barrier::ownComponents, PartialShape::ranked({}));
  traits.shapes.insert(traits.shapes.end(), shapes.begin(), shapes.end());
  traits.shapes.resize(traits.dtypes.size());
  return traits;
}

Barrier::Barrier(const Types &dtypes, const std::vector<PartialShape> &shapes)
    : ready(makeRef<Queue>(readyTraits(dtypes, shapes), makePriorityStorage())) {}

// --- insertion ---------------------------------------------------------------------------------

std::optional<Error> Barrier::checkInsert(int64_t component, std::span<const std::string> keys,
                                          const Tensor &values) const {
  const PartialShape &shape = traits().shapes[component];
  if (values.rank() < 1 || values.dim(0) != static_cast<int64_t>(keys.size()) ||
      !shape.accepts(values.dims().subspan(1)))
    return invalidArgument("values is ", tensorTypeText(values), ", expected one row of shape ",
                           shape.text(), " for each of the ", keys.size(), " keys");
  std::vector<std::string_view> sorted(keys.begin(), keys.end());
  std::ranges::sort(sorted);
  if (auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return invalidArgument("the key '", *twice,
                           "' appears twice, so it has two values for one component");
  if (isCancelled || (isClosed && incomplete.empty()))
    return cancelled("the barrier is closed");
  for (const std::string &key : keys) {
    auto element = incomplete.find(std::string_view(key));
    if (isClosed && element == incomplete.end())
      return cancelled("the barrier is closed: it has no element with key '", key, "'");
    if (element != incomplete.end() && element->second.tuple[component])
      return invalidArgument("the key '", key, "' has a value for component ",
                             component - static_cast<int64_t>(ownComponents), " already");
  }
  return std::nullopt;
}

// Adds an element without components.
Barrier::Elements::iterator Barrier::begin(const std::string &key) {
  QueueTuple tuple(traits().dtypes.size());
  tuple[0] = Tensor::scalar(DType::Int64, nextNumber);
  tuple[1] = Tensor::scalarString(key);
  return incomplete.emplace(BudgetedString(key, share), StoredTuple(std::move(tuple), share)).first;
}

void Barrier::insert(OpContext &ctx, int64_t component, std::span<const std::string> keys,
                     const Tensor &values) {
  component += ownComponents;
  std::deque<QueueTuple> complete;
  std::unique_lock lock(mutex);
  if (auto error = checkInsert(component, keys, values))
    return ctx.fail(std::move(*error));
  bool hasNew = false;
  for (size_t i = 0; i < keys.size(); ++i) {
    auto element = incomplete.find(std::string_view(keys[i]));
    if (element == incomplete.end()) {
      element = begin(keys[i]);
      hasNew = true;
    }
    QueueTuple &tuple = element->second.tuple;
    tuple[component] = rowOf(values, static_cast<int64_t>(i));
    if (std::ranges::all_of(tuple, [](const Tensor &t) { return static_cast<bool>(t); })) {
      complete.push_back(std::move(tuple));
      incomplete.erase(element);
    }
  }
  if (hasNew)
    ++nextNumber;
  bool isLast = isClosed && incomplete.empty();
  lock.unlock();
  ready->enqueue(ctx, std::move(complete));
  if (isLast && !ready->isClosed())
    ready->close(ctx, false);
}

// --- removal -----------------------------------------------------------------------------------

void Barrier::take(OpContext &ctx, int64_t count, bool allowsFewer) {
  {
    std::lock_guard lock(mutex);
    if (isClosed) {
      int64_t available = ready->size();
      if (allowsFewer)
        count = std::min(count, available);
      else
        available += static_cast<int64_t>(incomplete.size());
      if (available < std::max<int64_t>(count, 1))
        return ctx.fail(outOfRange("the barrier is closed and has too few elements: ", count,
                                   " requested, ", available, " available"));
    }
  }
  ready->dequeue(ctx, allowsFewer ? Queue::DequeueMode::BatchUpTo : Queue::DequeueMode::Batch,
                 count);
}

void Barrier::close(OpContext &ctx, bool cancelsPending) {
  {
    std::lock_guard lock(mutex);
    if (isClosed && (isCancelled || !cancelsPending))
      return ctx.fail(cancelled("the barrier is closed already"));
    isClosed = true;
    isCancelled = cancelsPending;
    if (cancelsPending)
      incomplete.clear();
    if (!incomplete.empty())
      return; // the op that completes the last element closes the queue
  }
  ready->close(ctx, true); // nothing waits: barriers are unbounded
}

// --- ops ---------------------------------------------------------------------------------------

struct MakeState {
  Types dtypes;
  std::vector<PartialShape> shapes;
  ResourceName resource;
  CachedHandle handle = {};
};

bool areSame(const PartialShape &a, const PartialShape &b) {
  return a.hasRank == b.hasRank && a.dims == b.dims;
}

void makeBarrier(OpContext &ctx) {
  const auto &state = ctx.state<MakeState>();
  ResourceManager &resources = ctx.run().resources;
  bool isOther = false;
  QueueTraits wanted = readyTraits(state.dtypes, state.shapes);
  Tensor handle = state.handle.get(resources, [&] {
    Ref<Barrier> barrier =
        resources.lookupOrCreate<Barrier>(state.resource.container, state.resource.name, [&] {
          return makeRef<Barrier>(state.dtypes, state.shapes);
        });
    isOther = barrier->traits().dtypes != wanted.dtypes ||
              !std::ranges::equal(barrier->traits().shapes, wanted.shapes, areSame);
    return isOther ? Tensor()
                   : makeHandleFor(DType::String, true, std::move(barrier), state.resource);
  });
  if (isOther)
    return ctx.fail(invalidArgument("the barrier '", state.resource.name,
                                    "' has components of other dtypes or shapes"));
  ctx.setOutput(0, std::move(handle));
}

Expected<BoundKernel> bindMake(const BindContext &node) {
  auto dtypes = node.attrs.getOr("component_types", Types());
  auto shapes = node.attrs.getOr("shapes", std::vector<PartialShape>());
  if (!shapes.empty() && shapes.size() != dtypes.size())
    return Unexpected(invalidArgument("there are ", shapes.size(), " shapes for ", dtypes.size(),
                                      " components: expected one for each"));
  return boundWith(makeBarrier,
                   MakeState{std::move(dtypes), std::move(shapes), ResourceName::ofOrNode(node)});
}

void insertMany(OpContext &ctx) {
  auto *barrier = TREADLE_OR_RETURN(resourceInput<Barrier>(ctx, 0));
  auto component = ctx.state<int64_t>();
  const Tensor &keys = ctx.input(1), &values = ctx.input(2);
  std::span<const DType> dtypes(barrier->traits().dtypes);
  auto count = static_cast<int64_t>(dtypes.size() - Barrier::ownComponents);
  if (component < 0 || component >= count)
    return ctx.fail(invalidArgument("component_index is ", component, ", but the barrier has ",
                                    count, " components"));
  if (values.dtype() != dtypes[Barrier::ownComponents + component] || keys.rank() != 1)
    return ctx.fail(invalidArgument("keys and values are ", tensorTypeText(keys), " and ",
                                    tensorTypeText(values), ": expected a vector and rows of ",
                                    dtypeName(dtypes[Barrier::ownComponents + component])));
  barrier->insert(ctx, component, keys.values<std::string>(), values);
}

Expected<BoundKernel> bindInsert(const BindContext &node) {
  return boundWith(insertMany, node.attrs.getOr<int64_t>("component_index", 0));
}

struct TakeState {
  Types dtypes;
  bool allowsFewer;
};

void takeMany(OpContext &ctx) {
  const auto &state = ctx.state<TakeState>();
  auto *barrier = TREADLE_OR_RETURN(resourceInput<Barrier>(ctx, 0));
  if (barrier->traits().dtypes != state.dtypes)
    return ctx.fail(invalidArgument("the op's components don't have the dtypes of the barrier's"));
  int64_t count = ctx.input(1).count() == 1 ? indexAt(ctx.input(1), 0) : -1;
  if (count < 0)
    return ctx.fail(invalidArgument("the number of elements must be a scalar of at least 0, found ",
                                    tensorTypeText(ctx.input(1))));
  for (const PartialShape &shape : barrier->traits().shapes)
    if (!shape.isFullyKnown())
      return ctx.fail(invalidArgument("the barrier doesn't declare its components' shapes, so its "
                                      "elements can't be taken in batches"));
  barrier->take(ctx, count, state.allowsFewer);
}

Expected<BoundKernel> bindTake(const BindContext &node) {
  BoundKernel bound =
      boundWith(takeMany, TakeState{Types(node.outputTypes.begin(), node.outputTypes.end()),
                                    node.attrs.getOr("allow_small_batch", false)});
  bound.mayBlock = true;
  return bound;
}

void close(OpContext &ctx) {
  if (auto *barrier = resourceInput<Barrier>(ctx, 0))
    barrier->close(ctx, ctx.state<bool>());
}

Expected<BoundKernel> bindClose(const BindContext &node) {
  return boundWith(close, node.attrs.getOr("cancel_pending_enqueues", false));
}

template <int64_t (Barrier::*count)() const> void counted(OpContext &ctx) {
  if (auto *barrier = resourceInput<Barrier>(ctx, 0))
    ctx.setOutput(0, Tensor::scalar(DType::Int32, static_cast<int32_t>((barrier->*count)())));
}

const KernelEntry barrierTable[] = {
    {"Barrier", bindMake},
    {"BarrierClose", bindClose},
    {"BarrierIncompleteSize", bindPlain<counted<&Barrier::incompleteCount>>},
    {"BarrierInsertMany", bindInsert},
    {"BarrierReadySize", bindPlain<counted<&Barrier::completeCount>>},
    {"BarrierTakeMany", bindTake},
};

} // namespace

std::span<const KernelEntry> barrierKernels() { return barrierTable; }

} // namespace treadle
