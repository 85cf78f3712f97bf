#include "treadle/kernels/lists/TensorMap.h"

#include "treadle/kernels/ElementShapes.h"
#include "treadle/kernels/Update.h"

#include <algorithm>

namespace treadle {
namespace {

template <typename T> void append(std::string &to, const T &value) {
  to.append(reinterpret_cast<const char *>(&value), sizeof value);
}

/// Returns a string that is equal only for tensors of the same dtype, shape and elements.
std::string keyBytes(const Tensor &key) {
  std::string text(1, static_cast<char>(key.dtype()));
  append(text, key.rank());
  for (int64_t dim : key.dims())
    append(text, dim);
  if (key.dtype() != DType::String)
    return text.append(static_cast<const char *>(key.raw()), key.bytes());
  for (const std::string &element : key.values<std::string>()) {
    append(text, element.size());
    text += element;
  }
  return text;
}

} // namespace

Ref<TensorMapObject> TensorMapObject::copy() const {
  auto made = makeRef<TensorMapObject>();
  made->entries = entries;
  for (const auto &[identity, place] : places)
    made->places.emplace(BudgetedString(identity, made->share), place);
  return made;
}

const TensorMapObject::Entry *TensorMapObject::find(const Tensor &key) const {
  auto place = places.find(std::string_view(keyBytes(key)));
  return place == places.end() ? nullptr : &entries[place->second];
}

void TensorMapObject::insert(const Tensor &key, Tensor value) {
  std::string identity = keyBytes(key);
  if (auto place = places.find(std::string_view(identity)); place != places.end()) {
    entries[place->second].value = std::move(value);
    return;
  }
  entries.push_back({key, std::move(value)});
  callOrUndo([&] { places.emplace(BudgetedString(identity, share), entries.size() - 1); },
             [this] { entries.pop_back(); });
}

bool TensorMapObject::erase(const Tensor &key) {
  auto place = places.find(std::string_view(keyBytes(key)));
  if (place == places.end())
    return false;
  size_t gone = place->second;
  places.erase(place);
  entries.erase(entries.begin() + static_cast<int64_t>(gone));
  for (auto &[identity, at] : places)
    at -= at > gone;
  return true;
}

Expected<Ref<VariantObject>> addMaps(const TensorMapObject &a, const TensorMapObject &b) {
  Ref<TensorMapObject> sum = a.copy();
  for (const TensorMapObject::Entry &entry : b.all()) {
    const TensorMapObject::Entry *own = a.find(entry.key);
    Tensor value = TREADLE_TRY(own ? addTensors(own->value, entry.value) : entry.value);
    sum->insert(entry.key, std::move(value));
  }
  return Ref<VariantObject>(std::move(sum));
}

namespace {

using Map = TensorMapObject;

const Map *mapInput(OpContext &ctx) {
  const auto *map = variantIn<Map>(ctx.input(0));
  if (!map)
    ctx.fail(invalidArgument("input 0 (", tensorTypeText(ctx.input(0)), ") is not a tensor map"));
  return map;
}

/// Sets output 0 to a changed copy of input 0's map.
template <typename Change> void setChanged(OpContext &ctx, Change change) {
  if (!mapInput(ctx))
    return;
  Tensor handle = ctx.takeInput(0);
  auto *map = variantIn<Map>(handle);
  if (!handle.isUnique() || !map->isUnique()) {
    handle = makeVariant(map->copy());
    map = variantIn<Map>(handle);
  }
  change(*map);
  ctx.setOutput(0, std::move(handle));
}

/// Returns the entry of the key in input 1, whose value must have that dtype; null after failing
/// the op.
const Map::Entry *entryInput(OpContext &ctx) {
  const Map *map = mapInput(ctx);
  if (!map)
    return nullptr;
  const Map::Entry *entry = map->find(ctx.input(1));
  if (!entry)
    ctx.fail(invalidArgument("the map of ", map->all().size(), " entries has none under the key (",
                             tensorTypeText(ctx.input(1)), "), expected one that was inserted"));
  return entry;
}

void makeEmpty(OpContext &ctx) { ctx.setOutput(0, makeVariant(makeRef<Map>())); }

void insert(OpContext &ctx) {
  setChanged(ctx, [&](Map &map) { map.insert(ctx.input(1), ctx.input(2)); });
}

void lookup(OpContext &ctx) {
  const Map::Entry *entry = TREADLE_OR_RETURN(entryInput(ctx));
  if (entry->value.dtype() != ctx.state<DType>())
    return ctx.fail(invalidArgument("the map holds ", tensorTypeText(entry->value),
                                    " under the key, expected ", dtypeName(ctx.state<DType>())));
  ctx.setOutput(0, entry->value);
}

void erase(OpContext &ctx) {
  if (entryInput(ctx))
    setChanged(ctx, [&](Map &map) { map.erase(ctx.input(1)); });
}

void hasKey(OpContext &ctx) {
  if (const Map *map = mapInput(ctx))
    ctx.setOutput(0, Tensor::scalar(DType::Bool, map->find(ctx.input(1)) != nullptr));
}

void size(OpContext &ctx) {
  if (const Map *map = mapInput(ctx))
    ctx.setOutput(0, Tensor::scalar(DType::Int32, static_cast<int32_t>(map->all().size())));
}

void stackKeys(OpContext &ctx) {
  const Map *map = TREADLE_OR_RETURN(mapInput(ctx));
  if (map->all().empty())
    return ctx.fail(invalidArgument("the map is empty: there are no keys to stack"));
  std::vector<Tensor> keys;
  for (const Map::Entry &entry : map->all()) {
    const Tensor &first = map->all()[0].key;
    if (entry.key.dtype() != ctx.state<DType>() ||
        !std::ranges::equal(entry.key.dims(), first.dims()))
      return ctx.fail(invalidArgument("a key is ", tensorTypeText(entry.key), ", expected ",
                                      dtypeName(ctx.state<DType>()), dimsText(first.dims())));
    keys.push_back(entry.key);
  }
  if (auto stacked = ctx.check(stackTensors(ctx.state<DType>(), keys, keys[0].dims())))
    ctx.setOutput(0, std::move(*stacked));
}

template <KernelFn fn> Expected<BoundKernel> bindWithOutput(const BindContext &node) {
  return boundWith(fn, node.outputTypes[0]);
}

const KernelEntry tensorMapTable[] = {
    {"EmptyTensorMap", bindPlain<makeEmpty>},
    {"TensorMapErase", bindPlain<erase>},
    {"TensorMapHasKey", bindPlain<hasKey>},
    {"TensorMapInsert", bindPlain<insert>},
    {"TensorMapLookup", bindWithOutput<lookup>},
    {"TensorMapSize", bindPlain<size>},
    {"TensorMapStackKeys", bindWithOutput<stackKeys>},
};

} // namespace

std::span<const KernelEntry> tensorMapKernels() { return tensorMapTable; }

} // namespace treadle
