#include "treadle/import/stablehlo/Sharding.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

namespace {

/// Devices as a grid with named axes.
struct Mesh {
  SmallVector<std::string> names;
  SmallVector<int64_t> sizes;
  SmallVector<int64_t> devices; // by position in the grid

  static Expected<Mesh> read(Attribute attr, ModuleOp module, int64_t devices);
  /// Returns the number of an axis; nullopt if there is no axis of that name.
  std::optional<size_t> axis(StringRef name) const {
    const auto *it = llvm::find(names, name);
    return it == names.end() ? std::nullopt : std::optional<size_t>(it - names.begin());
  }
};

} // namespace

/// Returns the fields of `@mesh` or of an inline mesh.
static DictionaryAttr meshFields(Attribute attr, ModuleOp module) {
  auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(attr);
  if (!symbol)
    return dyn_cast_or_null<DictionaryAttr>(attr);
  for (Operation &op : *module.getBody())
    if (op.getName().getStringRef() == "sdy.mesh" && op.getAttr("sym_name") == symbol.getAttr())
      return op.getAttrOfType<DictionaryAttr>("mesh");
  return {};
}

Expected<Mesh> Mesh::read(Attribute attr, ModuleOp module, int64_t devices) {
  DictionaryAttr fields = meshFields(attr, module);
  auto axes = fields ? fields.getAs<ArrayAttr>("axes") : ArrayAttr();
  auto ids = fields ? fields.getAs<DenseI64ArrayAttr>("device_ids") : DenseI64ArrayAttr();
  if (!axes || !ids)
    return Unexpected(invalidArgument("a sharding refers to an undefined mesh"));
  Mesh mesh;
  int64_t count = 1;
  for (Attribute axis : axes) {
    auto axisFields = dyn_cast<DictionaryAttr>(axis);
    auto name = axisFields ? axisFields.getAs<StringAttr>("name") : StringAttr();
    auto size = axisFields ? axisFields.getAs<IntegerAttr>("size") : IntegerAttr();
    if (!name || !size || size.getInt() < 1 || size.getInt() > devices)
      return Unexpected(invalidArgument("a mesh has an axis without a name or a size"));
    mesh.names.push_back(name.str());
    mesh.sizes.push_back(size.getInt());
    count *= size.getInt();
    if (count > devices)
      break;
  }
  if (count != devices)
    return Unexpected(
        unimplemented("the number of devices of a mesh differs from the program's, ", devices));
  mesh.devices.assign(ids.asArrayRef().begin(), ids.asArrayRef().end());
  if (mesh.devices.empty())
    llvm::append_range(mesh.devices, llvm::seq(int64_t{0}, devices));
  SmallVector<bool> isSeen(devices, false);
  for (int64_t device : mesh.devices) {
    if (device < 0 || device >= devices || isSeen[device])
      return Unexpected(invalidArgument("a mesh's devices don't list each of ", devices, " once"));
    isSeen[device] = true;
  }
  if (static_cast<int64_t>(mesh.devices.size()) != devices)
    return Unexpected(invalidArgument("a mesh's devices don't list each of ", devices, " once"));
  return mesh;
}

Sharding Sharding::replicated(int64_t rank, int64_t devices) {
  Sharding all;
  all.tiles.assign(rank, 1);
  all.places.assign(devices, SmallVector<int64_t>(rank, 0));
  llvm::append_range(all.copies, llvm::seq(int64_t{0}, devices));
  all.text = "{replicated}";
  return all;
}

/// Formats `{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}`: the axes of the dimensions,
/// then those with replicas.
static std::string formatSharding(const Sharding &sharding, const Mesh &mesh,
                                  ArrayRef<size_t> used) {
  if (sharding.isReplicated())
    return "{replicated}";
  SmallVector<size_t> order(used);
  int64_t copies = 1;
  for (size_t axis = 0; axis < mesh.sizes.size(); ++axis)
    if (!llvm::is_contained(used, axis)) {
      order.push_back(axis);
      copies *= mesh.sizes[axis];
    }
  std::string text =
      "{devices=[" +
      llvm::join(llvm::map_range(sharding.tiles, [](int64_t tile) { return std::to_string(tile); }),
                 ",");
  if (copies > 1)
    text += "," + std::to_string(copies);
  bool isInOrder = llvm::equal(mesh.devices, llvm::seq<int64_t>(0, mesh.devices.size()));
  auto list = [](auto numbers) {
    return llvm::join(llvm::map_range(numbers, [](auto number) { return std::to_string(number); }),
                      ",");
  };
  if (isInOrder) {
    text += llvm::is_sorted(order) ? "]<=[" + std::to_string(mesh.devices.size()) + "]"
                                   : "]<=[" + list(mesh.sizes) + "]T(" + list(order) + ")";
  } else {
    // Devices in the grid's order; the last axis varies fastest.
    SmallVector<int64_t> devices;
    for (size_t i = 0; i < mesh.devices.size(); ++i) {
      SmallVector<int64_t> at(mesh.sizes.size(), 0);
      size_t rest = i;
      for (size_t axis : llvm::reverse(order)) {
        at[axis] = static_cast<int64_t>(rest) % mesh.sizes[axis];
        rest /= mesh.sizes[axis];
      }
      int64_t place = 0;
      for (size_t axis = 0; axis < at.size(); ++axis)
        place = place * mesh.sizes[axis] + at[axis];
      devices.push_back(mesh.devices[place]);
    }
    text += "]" + list(devices);
  }
  return text + (copies > 1 ? " last_tile_dim_replicate}" : "}");
}

Expected<Sharding> Sharding::read(Attribute attr, ModuleOp module, int64_t rank, int64_t devices) {
  auto fields = dyn_cast_or_null<DictionaryAttr>(attr);
  auto dims = fields ? fields.getAs<ArrayAttr>("dims") : ArrayAttr();
  if (!dims)
    return Unexpected(unimplemented("a sharding in this form"));
  if (fields.get("unreduced"))
    return Unexpected(unimplemented("unreduced axes"));
  if (static_cast<int64_t>(dims.size()) != rank)
    return Unexpected(
        invalidArgument("a sharding of ", dims.size(), " dimensions for a value of ", rank));
  Sharding sharding = replicated(rank, devices);
  auto isWhole = [](Attribute axes) {
    return isa<ArrayAttr>(axes) && cast<ArrayAttr>(axes).empty();
  };
  if (llvm::all_of(dims, isWhole))
    return sharding;
  Mesh mesh = TREADLE_TRY(Mesh::read(fields.get("mesh"), module, devices));
  SmallVector<size_t> used;
  SmallVector<SmallVector<size_t>> axesOf(rank);
  for (int64_t dim = 0; dim < rank; ++dim) {
    auto axes = dyn_cast<ArrayAttr>(dims[dim]);
    if (!axes)
      return Unexpected(unimplemented("a sharding in this form"));
    for (Attribute axis : axes) {
      auto axisFields = dyn_cast<DictionaryAttr>(axis);
      auto name = axisFields ? axisFields.getAs<StringAttr>("axis") : StringAttr();
      std::optional<size_t> number = name ? mesh.axis(name.getValue()) : std::nullopt;
      if (!number || llvm::is_contained(used, *number))
        return Unexpected(invalidArgument(
            "a sharding names an axis that its mesh doesn't have, or an axis twice"));
      if (axisFields.get("pre_size"))
        return Unexpected(unimplemented("a sharding along a part of the axis '", name.str(), "'"));
      used.push_back(*number);
      axesOf[dim].push_back(*number);
      sharding.tiles[dim] *= mesh.sizes[*number];
    }
  }
  for (auto [i, device] : llvm::enumerate(mesh.devices)) {
    SmallVector<int64_t> at(mesh.sizes.size());
    size_t rest = i;
    for (size_t axis = mesh.sizes.size(); axis-- > 0; rest /= mesh.sizes[axis])
      at[axis] = static_cast<int64_t>(rest) % mesh.sizes[axis];
    for (int64_t dim = 0; dim < rank; ++dim) {
      int64_t place = 0;
      for (size_t axis : axesOf[dim])
        place = place * mesh.sizes[axis] + at[axis];
      sharding.places[device][dim] = place;
    }
    int64_t copy = 0;
    for (auto [axis, size] : llvm::enumerate(mesh.sizes))
      if (!llvm::is_contained(used, axis))
        copy = copy * size + at[axis];
    sharding.copies[device] = copy;
  }
  sharding.text = formatSharding(sharding, mesh, used);
  return sharding;
}
