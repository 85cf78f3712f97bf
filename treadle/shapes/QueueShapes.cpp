// Shape functions of queues, barriers, accumulators, tables and stacks: handles and elements.
#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {
namespace {

/// A v1 handle is a vector of two strings, later ones are scalars.
template <bool isOld> ShapeResults queue(const ShapeQuery &query) {
  return {KnownValue(isOld ? Shape{2} : Shape::scalar(), query.shapesAttr("shapes"))};
}

// The priority is the first component.
template <bool isOld> ShapeResults priorityQueue(const ShapeQuery &query) {
  std::vector<Shape> shapes = query.shapesAttr("shapes");
  shapes.insert(shapes.begin(), Shape::scalar());
  return {KnownValue(isOld ? Shape{2} : Shape::scalar(), shapes)};
}

/// Components that are enqueued or dequeued, `rows` at a time.
ShapeResults dequeued(const ShapeQuery &query, const Shape &rows) {
  ShapeResults out;
  for (size_t i = 0; i < query.numResults(); ++i)
    out.values.emplace_back(rows + query.held(0, i));
  return out;
}

ShapeResults dequeueOne(const ShapeQuery &query) { return dequeued(query, Shape::scalar()); }
ShapeResults dequeueMany(const ShapeQuery &query) { return dequeued(query, {query.dimFrom(1)}); }
ShapeResults dequeueUpTo(const ShapeQuery &query) { return dequeued(query, {Shape::unknown}); }

template <bool isMany> ShapeResults enqueued(const ShapeQuery &query) {
  for (size_t i = 1; i < query.numInputs(); ++i) {
    Shape given = isMany ? query.shape(i).drop(1) : query.shape(i), held = query.held(0, i - 1);
    if (!merge(given, held))
      return shapeError(str("component ", i - 1, " has shape ", given.text(),
                            ", but the queue expects ", held.text()));
  }
  return {};
}

template <bool isOld> ShapeResults accumulator(const ShapeQuery &query) {
  return {KnownValue(isOld ? Shape{2} : Shape::scalar(), {query.shapeAttr("shape")})};
}

// Results of a barrier: indices, keys, and for each component a row per key.
ShapeResults takenFromBarrier(const ShapeQuery &query) {
  ShapeResults out{Shape{Shape::unknown}, Shape{Shape::unknown}};
  for (size_t i = 2; i < query.numResults(); ++i)
    out.values.emplace_back(Shape{Shape::unknown} + query.held(0, i - 2));
  return out;
}

/// Held shapes of keys and values.
template <bool isOld> ShapeResults tableOfScalars(const ShapeQuery &) {
  return {KnownValue(isOld ? Shape{2} : Shape::scalar(), {Shape::scalar(), Shape::scalar()})};
}

template <bool isOld> ShapeResults tableOfTensors(const ShapeQuery &query) {
  return {KnownValue(isOld ? Shape{2} : Shape::scalar(),
                     {Shape::scalar(), query.shapeAttr("value_shape")})};
}

template <bool isOld> ShapeResults denseTable(const ShapeQuery &query) {
  return {KnownValue(isOld ? Shape{2} : Shape::scalar(),
                     {query.shape(0), query.shapeAttr("value_shape")})};
}

// A value for each key; a table's keys may have dimensions of their own.
ShapeResults found(const ShapeQuery &query) {
  Shape key = query.held(0, 0), value = query.held(0, 1);
  const Shape &keys = query.shape(1);
  if (!key.hasRank() || !keys.hasRank() || keys.rank() < key.rank())
    return {};
  return {keys.take(keys.rank() - key.rank()) + value};
}

// Dense tables export matrices of all buckets, others a row for each key.
ShapeResults exported(const ShapeQuery &) { return {}; }

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"* -> []",
       {"QueueSize", "QueueSizeV2", "QueueIsClosed", "QueueIsClosedV2", "BarrierReadySize",
        "BarrierIncompleteSize", "AccumulatorNumAccumulated", "ResourceAccumulatorNumAccumulated",
        "LookupTableSize", "LookupTableSizeV2"}},
      {"* -> ", {"QueueClose", "QueueCloseV2", "BarrierClose", "StackClose", "StackCloseV2"}},
      {"*, * -> ",
       {"LookupTableRemoveV2", "InitializeTableFromTextFile", "InitializeTableFromTextFileV2",
        "AccumulatorSetGlobalStep", "ResourceAccumulatorSetGlobalStep"}},
      {"*, [n], [n] -> ", {"InitializeTable", "InitializeTableV2"}},
      {"*, [n], * -> ", {"BarrierInsertMany"}},
      {"*, *, * -> ",
       {"LookupTableInsert", "LookupTableInsertV2", "LookupTableImport", "LookupTableImportV2",
        "AccumulatorApplyGradient", "ResourceAccumulatorApplyGradient"}},
      {"*, *, *, *, * -> ", {"SparseAccumulatorApplyGradient"}},
      {"*:X, [] -> X", {"AccumulatorTakeGradient", "ResourceAccumulatorTakeGradient"}},
      {"*, [] -> [?], *, [?]", {"SparseAccumulatorTakeGradient"}},
      {"-> [2]", {"Stack"}},
      {"[] -> []", {"StackV2"}},
      {"*, X -> X", {"StackPush", "StackPushV2"}},
      {"* -> *", {"StackPop", "StackPopV2"}},
  };
  return table;
}

constexpr ShapeEntry functions[] = {
    {"FIFOQueue", queue<true>},
    {"FIFOQueueV2", queue<false>},
    {"PaddingFIFOQueue", queue<true>},
    {"PaddingFIFOQueueV2", queue<false>},
    {"RandomShuffleQueue", queue<true>},
    {"RandomShuffleQueueV2", queue<false>},
    {"PriorityQueue", priorityQueue<true>},
    {"PriorityQueueV2", priorityQueue<false>},
    {"QueueDequeue", dequeueOne},
    {"QueueDequeueV2", dequeueOne},
    {"QueueDequeueMany", dequeueMany},
    {"QueueDequeueManyV2", dequeueMany},
    {"QueueDequeueUpTo", dequeueUpTo},
    {"QueueDequeueUpToV2", dequeueUpTo},
    {"QueueEnqueue", enqueued<false>},
    {"QueueEnqueueV2", enqueued<false>},
    {"QueueEnqueueMany", enqueued<true>},
    {"QueueEnqueueManyV2", enqueued<true>},
    {"Barrier", queue<true>},
    {"BarrierTakeMany", takenFromBarrier},
    {"ConditionalAccumulator", accumulator<true>},
    {"ResourceConditionalAccumulator", accumulator<false>},
    {"SparseConditionalAccumulator", accumulator<true>},
    {"HashTable", tableOfScalars<true>},
    {"HashTableV2", tableOfScalars<false>},
    {"AnonymousHashTable", tableOfScalars<false>},
    {"MutableHashTable", tableOfScalars<true>},
    {"MutableHashTableV2", tableOfScalars<false>},
    {"AnonymousMutableHashTable", tableOfScalars<false>},
    {"MutableHashTableOfTensors", tableOfTensors<true>},
    {"MutableHashTableOfTensorsV2", tableOfTensors<false>},
    {"AnonymousMutableHashTableOfTensors", tableOfTensors<false>},
    {"MutableDenseHashTable", denseTable<true>},
    {"MutableDenseHashTableV2", denseTable<false>},
    {"AnonymousMutableDenseHashTable", denseTable<false>},
    {"LookupTableFind", found},
    {"LookupTableFindV2", found},
    {"LookupTableExport", exported},
    {"LookupTableExportV2", exported},
};

} // namespace

ShapeFamily queueShapes() { return {signatures(), functions}; }

} // namespace treadle
