// Staging areas with keys; parts of a tuple may be put and taken separately.
#include "treadle/kernels/exchange/Staging.h"

#include "treadle/kernels/ElementCopy.h"
#include "treadle/tensor/BudgetedMemory.h"

#include <algorithm>
#include <map>

namespace treadle {
namespace {

using Tuple = std::vector<Tensor>; // missing parts are empty tensors
using Indices = std::vector<int64_t>;

class KeyedStagingArea final : public StagingArea {
public:
  static constexpr std::string_view kindName = "staging area with keys";
  std::string_view kind() const override { return kindName; }

  KeyedStagingArea(int64_t capacity, int64_t memoryLimit, const std::vector<DType> &dtypes)
      : capacity(capacity), memoryLimit(memoryLimit), width(std::ssize(dtypes)) {}

  void put(OpContext &ctx, int64_t key, Indices indices, Tuple parts);
  /// Outputs parts of the tuple under a key; removes them unless it peeks.
  void take(OpContext &ctx, int64_t key, Indices indices, bool peeks);
  /// Outputs the lowest key and parts of its tuple.
  void takeAny(OpContext &ctx, Indices indices);
  void clear(OpContext &ctx);
  size_t size() {
    return now([this] { return complete.size(); });
  }
  size_t incompleteSize() {
    return now([this] { return incomplete.size(); });
  }

private:
  using KeptParts = BudgetedVector<Tensor>;
  using Tuples = std::map<int64_t, KeptParts, std::less<>,
                          BudgetedAllocator<std::pair<const int64_t, KeptParts>>>;

  Expected<void> checkIndices(int64_t key, const Indices &indices) const;
  Expected<void> addParts(int64_t key, const Indices &indices, Tuple parts);
  StagingResult takeParts(Tuples::iterator entry, const Indices &indices, bool peeks);
  bool hasRoom(const Tuple &parts) const;
  static size_t bytesOf(std::span<const Tensor> tuple);

  const int64_t capacity, memoryLimit;
  const int64_t width; // number of parts of a tuple
  const MemoryShare share;
  Tuples complete{share}, incomplete{share};
  size_t bytes = 0;
};

size_t KeyedStagingArea::bytesOf(std::span<const Tensor> tuple) {
  size_t sum = 0;
  for (const Tensor &part : tuple)
    sum += part ? part.bytes() : 0;
  return sum;
}

bool KeyedStagingArea::hasRoom(const Tuple &parts) const {
  return (!capacity || std::ssize(complete) < capacity) &&
         (!memoryLimit || static_cast<int64_t>(bytes + bytesOf(parts)) <= memoryLimit);
}

Expected<void> KeyedStagingArea::checkIndices(int64_t key, const Indices &indices) const {
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= width)
      return Unexpected(invalidArgument("index ", indices[i], " for key ", key,
                                        " is outside of the tuple, expected one in [0, ", width,
                                        ")"));
    if (i && indices[i] <= indices[i - 1])
      return Unexpected(invalidArgument("indices for key ", key, " go from ", indices[i - 1],
                                        " to ", indices[i], ", expected increasing indices"));
  }
  return {};
}

Expected<void> KeyedStagingArea::addParts(int64_t key, const Indices &indices, Tuple parts) {
  KeptParts &tuple = incomplete.try_emplace(key, static_cast<size_t>(width), share).first->second;
  for (int64_t index : indices)
    if (tuple[index])
      return Unexpected(invalidArgument("part ", index, " for key ", key, " is staged already"));
  bytes += bytesOf(parts);
  for (size_t i = 0; i < indices.size(); ++i)
    tuple[indices[i]] = std::move(parts[i]);
  if (!std::ranges::all_of(tuple, [](const Tensor &part) { return static_cast<bool>(part); }))
    return {};
  size_t size = bytesOf(tuple);
  if (!complete.try_emplace(key, std::move(tuple)).second)
    bytes -= size; // the existing part wins
  incomplete.erase(key);
  return {};
}

void KeyedStagingArea::put(OpContext &ctx, int64_t key, Indices indices, Tuple parts) {
  if (auto good = checkIndices(key, indices); !good)
    return ctx.fail(std::move(good.error()));
  if (indices.size() != parts.size())
    return ctx.fail(invalidArgument("indices has ", indices.size(), " elements, expected ",
                                    parts.size(), ", one for each value"));
  if (size_t size = bytesOf(parts); memoryLimit && static_cast<int64_t>(size) > memoryLimit)
    return ctx.fail(resourceExhausted("a tuple of ", size,
                                      " bytes was staged, but the staging "
                                      "area holds ",
                                      memoryLimit, "; raise memory_limit"));
  auto kept = std::make_shared<Tuple>(std::move(parts));
  submit(ctx, {[this, kept] { return hasRoom(*kept); },
               [this, key, indices = std::move(indices), kept]() -> StagingResult {
                 return addParts(key, indices, std::move(*kept)).map([] { return Tuple(); });
               }});
}

StagingResult KeyedStagingArea::takeParts(Tuples::iterator entry, const Indices &indices,
                                          bool peeks) {
  auto &[key, tuple] = *entry;
  for (int64_t index : indices)
    if (!tuple[index])
      return Unexpected(invalidArgument("part ", index, " for key ", key, " was taken already"));
  Tuple parts;
  for (int64_t index : indices)
    parts.push_back(peeks ? tuple[index] : std::move(tuple[index]));
  if (peeks)
    return parts;
  bytes -= bytesOf(parts);
  if (std::ranges::none_of(tuple, [](const Tensor &part) { return static_cast<bool>(part); }))
    complete.erase(entry);
  return parts;
}

void KeyedStagingArea::take(OpContext &ctx, int64_t key, Indices indices, bool peeks) {
  if (auto good = checkIndices(key, indices); !good)
    return ctx.fail(std::move(good.error()));
  submit(ctx, {[this, key] { return complete.contains(key); },
               [this, key, peeks, indices = std::move(indices),
                &dtypes = ctx.state<StagingState>().dtypes] {
                 return ofTypes(takeParts(complete.find(key), indices, peeks), dtypes);
               }});
}

void KeyedStagingArea::takeAny(OpContext &ctx, Indices indices) {
  if (auto good = checkIndices(0, indices); !good)
    return ctx.fail(std::move(good.error()));
  submit(ctx, {[this] { return !complete.empty(); },
               [this, indices = std::move(indices),
                &dtypes = ctx.state<StagingState>().dtypes]() -> StagingResult {
                 Tensor key = Tensor::scalar(DType::Int64, complete.begin()->first);
                 StagingResult parts = ofTypes(takeParts(complete.begin(), indices, false), dtypes);
                 if (parts)
                   parts->insert(parts->begin(), std::move(key));
                 return parts;
               }});
}

void KeyedStagingArea::clear(OpContext &ctx) {
  submit(ctx, {[] { return true; },
               [this]() -> StagingResult {
                 complete.clear();
                 incomplete.clear();
                 bytes = 0;
                 return Tuple();
               }});
}

// --- ops ---------------------------------------------------------------------------------------

Indices indicesInput(OpContext &ctx, int i) {
  DimVector indices = readIndices(ctx.input(i));
  return {indices.begin(), indices.end()};
}

std::optional<int64_t> keyInput(OpContext &ctx) {
  if (ctx.input(0).count() == 1)
    return ctx.input(0).scalarValue<int64_t>();
  ctx.fail(invalidArgument("key is ", tensorTypeText(ctx.input(0)), ", expected a scalar"));
  return std::nullopt;
}

void stage(OpContext &ctx) {
  auto key = TREADLE_OR_RETURN(keyInput(ctx));
  Tuple parts;
  for (int i = 2; i < ctx.numInputs(); ++i)
    parts.push_back(ctx.input(i));
  stagingArea<KeyedStagingArea>(ctx)->put(ctx, key, indicesInput(ctx, 1), std::move(parts));
}

template <bool peeks> void unstage(OpContext &ctx) {
  if (auto key = keyInput(ctx))
    stagingArea<KeyedStagingArea>(ctx)->take(ctx, *key, indicesInput(ctx, 1), peeks);
}

void unstageAny(OpContext &ctx) {
  stagingArea<KeyedStagingArea>(ctx)->takeAny(ctx, indicesInput(ctx, 0));
}

void size(OpContext &ctx) { outputSize(ctx, stagingArea<KeyedStagingArea>(ctx)->size()); }
void incompleteSize(OpContext &ctx) {
  outputSize(ctx, stagingArea<KeyedStagingArea>(ctx)->incompleteSize());
}
void clear(OpContext &ctx) { stagingArea<KeyedStagingArea>(ctx)->clear(ctx); }

// Both kinds of map return the lowest key first, as the unordered one may return any key.
const KernelEntry mapStagingTable[] = {
    {"MapClear", bindStagingNow<clear>},
    {"MapIncompleteSize", bindStagingNow<incompleteSize>},
    {"MapPeek", bindStaging<unstage<true>>},
    {"MapSize", bindStagingNow<size>},
    {"MapStage", bindStaging<stage>},
    {"MapUnstage", bindStaging<unstage<false>>},
    {"MapUnstageNoKey", bindStaging<unstageAny>},
    {"OrderedMapClear", bindStagingNow<clear>},
    {"OrderedMapIncompleteSize", bindStagingNow<incompleteSize>},
    {"OrderedMapPeek", bindStaging<unstage<true>>},
    {"OrderedMapSize", bindStagingNow<size>},
    {"OrderedMapStage", bindStaging<stage>},
    {"OrderedMapUnstage", bindStaging<unstage<false>>},
    {"OrderedMapUnstageNoKey", bindStaging<unstageAny>},
};

} // namespace

std::span<const KernelEntry> mapStagingKernels() { return mapStagingTable; }

} // namespace treadle
