// Ops on lookup tables.
#include "treadle/kernels/Handles.h"
#include "treadle/kernels/RunFileAccess.h"
#include "treadle/kernels/state/LookupTable.h"
#include "treadle/kernels/state/VocabularyFile.h"

#include <algorithm>
#include <bit>

namespace treadle {
namespace {

// --- creation ----------------------------------------------------------------------------------

enum class HandleKind { Named, Anonymous };

struct MakeState {
  ResourceName resource;
  TableType type;
  DType handleDType;
  bool isDense; // inputs: empty key, and (but for the first op) deleted key
  int64_t numBuckets;
  float maxLoad;
  CachedHandle handle = {};
};

std::string bytesOf(const Tensor &key) {
  return key.dtype() == DType::String ? key.scalarValue<std::string>()
                                      : std::string(key.data<char>(), key.bytes());
}

Ref<LookupTable> makeTable(OpContext &ctx, const MakeState &state) {
  if (!state.isDense)
    return makeRef<LookupTable>(state.type);
  TableType type = state.type;
  type.keyDims.assign(ctx.input(0).dims().begin(), ctx.input(0).dims().end());
  std::string empty = bytesOf(ctx.input(0));
  std::string deleted = ctx.numInputs() > 1 ? bytesOf(ctx.input(1)) : empty;
  return makeRef<LookupTable>(std::move(type), DenseLayout{std::move(empty), std::move(deleted),
                                                           state.numBuckets, state.maxLoad});
}

// Checks the two reserved keys of a dense table; tables without deletion have one.
Expected<void> checkReservedKeys(OpContext &ctx) {
  const Tensor &empty = ctx.input(0);
  if (empty.dtype() == DType::String && !empty.isScalar())
    return Unexpected(unimplemented("keys of several strings"));
  if (ctx.numInputs() == 1)
    return {};
  const Tensor &deleted = ctx.input(1);
  if (deleted.dtype() != empty.dtype() || !std::ranges::equal(deleted.dims(), empty.dims()))
    return Unexpected(invalidArgument("empty_key is ", tensorTypeText(empty),
                                      " and deleted_key is ", tensorTypeText(deleted),
                                      ", expected the same dtype and shape"));
  if (bytesOf(empty) == bytesOf(deleted))
    return Unexpected(invalidArgument("empty_key and deleted_key are equal, expected two keys"));
  return {};
}

template <HandleKind sharing> void make(OpContext &ctx) {
  const auto &state = ctx.state<MakeState>();
  if (state.isDense)
    if (Expected<void> ok = checkReservedKeys(ctx); !ok)
      return ctx.fail(std::move(ok.error()));
  if constexpr (sharing == HandleKind::Anonymous)
    return ctx.setOutput(0, makeHandle(makeTable(ctx, state)));
  ResourceManager &resources = ctx.run().resources;
  std::optional<Error> error;
  Tensor handle = state.handle.get(resources, [&] {
    Ref<LookupTable> table = resources.lookupOrCreate<LookupTable>(
        state.resource.container, state.resource.name, [&] { return makeTable(ctx, state); });
    if (table->type.key != state.type.key || table->type.value != state.type.value) {
      error = invalidArgument("table '", state.resource.name, "' maps ", table->type.text(),
                              ", but the op expects it to map ", state.type.text());
      return Tensor();
    }
    return makeHandleFor(state.handleDType, state.handleDType == DType::String, std::move(table),
                         state.resource);
  });
  if (error)
    return ctx.fail(std::move(*error));
  ctx.setOutput(0, std::move(handle));
}

bool isStorable(DType dtype) { return isPlain(dtype) || dtype == DType::String; }

template <bool isMutable, HandleKind sharing, bool isDense>
Expected<BoundKernel> bindMake(const BindContext &node) {
  auto key = node.attrs.get<TypeAttr>("key_dtype"), value = node.attrs.get<TypeAttr>("value_dtype");
  if (!key || !value)
    return Unexpected(std::move(key ? value.error() : key.error()));
  if (!isStorable(key->dtype) || !isStorable(value->dtype))
    return Unexpected(
        unimplemented("tables from ", dtypeName(key->dtype), " to ", dtypeName(value->dtype)));
  PartialShape shape = node.attrs.getOr("value_shape", PartialShape{true, {}});
  if (!countElements(shape.dims))
    return Unexpected(invalidArgument("value_shape is ", shape.text(), ", expected a known shape"));
  auto numBuckets = node.attrs.getOr<int64_t>("initial_num_buckets", 1 << 17);
  auto maxLoad = node.attrs.getOr("max_load_factor", 0.8f);
  if (numBuckets < DenseLayout::minBuckets ||
      !std::has_single_bit(static_cast<uint64_t>(numBuckets)))
    return Unexpected(invalidArgument("initial_num_buckets is ", numBuckets,
                                      ", expected a power of two of at least 4"));
  if (!(maxLoad > 0 && maxLoad < 1))
    return Unexpected(
        invalidArgument("max_load_factor is ", maxLoad, ", expected a value between 0 and 1"));
  return boundWith(make<sharing>, MakeState{ResourceName::ofOrNode(node),
                                            {key->dtype, value->dtype, {}, shape.dims, isMutable},
                                            node.outputTypes[0],
                                            isDense,
                                            numBuckets,
                                            maxLoad});
}

// --- access ------------------------------------------------------------------------------------

void report(OpContext &ctx, Expected<void> done) {
  if (!done)
    ctx.fail(std::move(done.error()));
}

void find(OpContext &ctx) {
  if (auto *table = resourceInput<LookupTable>(ctx, 0))
    if (auto values = ctx.check(table->find(ctx.input(1), ctx.input(2))))
      ctx.setOutput(0, std::move(*values));
}

template <Expected<void> (LookupTable::*change)(const Tensor &, const Tensor &)>
void changePairs(OpContext &ctx) {
  if (auto *table = resourceInput<LookupTable>(ctx, 0))
    report(ctx, (table->*change)(ctx.input(1), ctx.input(2)));
}

void remove(OpContext &ctx) {
  if (auto *table = resourceInput<LookupTable>(ctx, 0))
    report(ctx, table->remove(ctx.input(1)));
}

void size(OpContext &ctx) {
  if (auto *table = resourceInput<LookupTable>(ctx, 0))
    ctx.setOutput(0, Tensor::scalar<int64_t>(DType::Int64, table->size()));
}

void exportAll(OpContext &ctx) {
  auto *table = TREADLE_OR_RETURN(resourceInput<LookupTable>(ctx, 0));
  auto contents = TREADLE_OR_RETURN(ctx.check(table->contents()));
  ctx.setOutput(0, std::move(contents.first));
  ctx.setOutput(1, std::move(contents.second));
}

void initializeFromFile(OpContext &ctx) {
  auto *table = TREADLE_OR_RETURN(resourceInput<LookupTable>(ctx, 0));
  if (ctx.input(1).count() != 1)
    return ctx.fail(invalidArgument("the file's name must be a scalar, but it is ",
                                    tensorTypeText(ctx.input(1))));
  auto pairs = ctx.check(readVocabulary(ctx.input(1).scalarValue<std::string>(),
                                        ctx.state<VocabularyFormat>(), table->type.key,
                                        table->type.value, filesOf(ctx)));
  if (pairs)
    report(ctx, table->initialize(pairs->first, pairs->second));
}

Expected<BoundKernel> bindInitializeFromFile(const BindContext &node) {
  VocabularyFormat format{
      node.attrs.getOr<int64_t>("key_index", -2), node.attrs.getOr<int64_t>("value_index", -1),
      node.attrs.getOr<int64_t>("vocab_size", -1), node.attrs.getOr<int64_t>("offset", 0),
      node.attrs.getOr("delimiter", std::string("\t"))};
  if (format.delimiter.size() != 1)
    return Unexpected(
        invalidArgument("delimiter is '", format.delimiter, "', expected one character"));
  return boundWith(initializeFromFile, std::move(format));
}

constexpr auto named = HandleKind::Named, anonymous = HandleKind::Anonymous;

const KernelEntry lookupTableTable[] = {
    {"AnonymousHashTable", bindMake<false, anonymous, false>},
    {"AnonymousMutableDenseHashTable", bindMake<true, anonymous, true>},
    {"AnonymousMutableHashTable", bindMake<true, anonymous, false>},
    {"AnonymousMutableHashTableOfTensors", bindMake<true, anonymous, false>},
    {"HashTable", bindMake<false, named, false>},
    {"HashTableV2", bindMake<false, named, false>},
    {"InitializeTable", bindPlain<changePairs<&LookupTable::initialize>>},
    {"InitializeTableFromTextFile", bindInitializeFromFile},
    {"InitializeTableFromTextFileV2", bindInitializeFromFile},
    {"InitializeTableV2", bindPlain<changePairs<&LookupTable::initialize>>},
    {"LookupTableExport", bindPlain<exportAll>},
    {"LookupTableExportV2", bindPlain<exportAll>},
    {"LookupTableFind", bindPlain<find>},
    {"LookupTableFindV2", bindPlain<find>},
    {"LookupTableImport", bindPlain<changePairs<&LookupTable::replace>>},
    {"LookupTableImportV2", bindPlain<changePairs<&LookupTable::replace>>},
    {"LookupTableInsert", bindPlain<changePairs<&LookupTable::insert>>},
    {"LookupTableInsertV2", bindPlain<changePairs<&LookupTable::insert>>},
    {"LookupTableRemoveV2", bindPlain<remove>},
    {"LookupTableSize", bindPlain<size>},
    {"LookupTableSizeV2", bindPlain<size>},
    {"MutableDenseHashTable", bindMake<true, named, true>},
    {"MutableDenseHashTableV2", bindMake<true, named, true>},
    {"MutableHashTable", bindMake<true, named, false>},
    {"MutableHashTableOfTensors", bindMake<true, named, false>},
    {"MutableHashTableOfTensorsV2", bindMake<true, named, false>},
    {"MutableHashTableV2", bindMake<true, named, false>},
};

} // namespace

std::span<const KernelEntry> lookupTableKernels() { return lookupTableTable; }

} // namespace treadle
