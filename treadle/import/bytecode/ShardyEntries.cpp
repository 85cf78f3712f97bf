// Reads attributes of Shardy (the sdy dialect) as dialect/sdy/SdyOps.td describes them. Parts that
// matter only to a partitioner, such as priorities, are skipped.
#include "treadle/import/bytecode/Entries.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::bytecode;

static Expected<Attribute> readList(EntryReader &from) {
  return ArrayAttr::get(from.context, TREADLE_TRY(from.attributes()));
}

/// Names are attributes of their own.
static Expected<Attribute> readMeshAxis(EntryReader &from) {
  Builder builder(from.context);
  StringRef name = TREADLE_TRY(from.string());
  int64_t size = TREADLE_TRY(from.at.signedVarint());
  return builder.getDictionaryAttr({builder.getNamedAttr("name", builder.getStringAttr(name)),
                                    builder.getNamedAttr("size", builder.getI64IntegerAttr(size))});
}

static Expected<Attribute> readMesh(EntryReader &from) {
  Builder builder(from.context);
  SmallVector<Attribute> axes = TREADLE_TRY(from.attributes());
  SmallVector<int64_t> devices = TREADLE_TRY(from.signedNumbers());
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("axes", builder.getArrayAttr(axes)),
       builder.getNamedAttr("device_ids", builder.getDenseI64ArrayAttr(devices))});
}

static Expected<Attribute> readAxis(EntryReader &from) {
  Builder builder(from.context);
  StringRef name = TREADLE_TRY(from.string());
  NamedAttrList fields;
  fields.append("axis", builder.getStringAttr(name));
  if (Attribute part = TREADLE_TRY(from.optionalAttribute())) {
    auto split = dyn_cast<DictionaryAttr>(part);
    if (!split)
      return Unexpected(from.at.damaged("a sub-axis is malformed"));
    fields.append(split.begin(), split.end());
  }
  return fields.getDictionary(from.context);
}

static Expected<Attribute> readDimension(EntryReader &from) {
  SmallVector<Attribute> axes = TREADLE_TRY(from.attributes());
  TREADLE_TRY(from.at.byte());    // whether a partitioner may split it further
  TREADLE_TRY(from.at.flagged()); // its priority
  return ArrayAttr::get(from.context, axes);
}

template <bool hasUnreduced> static Expected<Attribute> readValue(EntryReader &from) {
  Builder builder(from.context);
  Attribute mesh = TREADLE_TRY(from.attributeOf<Attribute>("mesh"));
  SmallVector<Attribute> dims = TREADLE_TRY(from.attributes());
  TREADLE_TRY(from.attributes()); // replicated axes
  NamedAttrList fields;
  fields.set("mesh", mesh);
  fields.set("dims", builder.getArrayAttr(dims));
  if (hasUnreduced)
    if (SmallVector<Attribute> axes = TREADLE_TRY(from.attributes()); !axes.empty())
      fields.set("unreduced", builder.getArrayAttr(axes));
  return fields.getDictionary(from.context);
}

static Expected<Attribute> readAnything(EntryReader &from) {
  TREADLE_TRY(from.at.bytes(from.at.rest()));
  return UnitAttr::get(from.context);
}

static constexpr EntryRow<Attribute> attributeRows[] = {
    {0, readList}, // manual axes
    {1, readMeshAxis},
    {2, readMesh},
    {3, readSubAxis},
    {4, readAxis},
    {5, readDimension},
    {6, readValue<false>},
    {7, readList}, // one for each value
    // The sharding rule of an op.
    {8, readAnything},
    {9, readAnything},
    {10, readAnything},
    {11, readAnything},
    {12, readAnything},
    {13, readAnything},
    {14, readAnything},
    {15, readValue<true>},
    {16, readList},
};

Expected<Attribute> bytecode::readShardyAttribute(EntryReader &from) {
  uint64_t code = TREADLE_TRY(from.at.varint());
  return readByCode<Attribute>(from, code, attributeRows, "an attribute of sdy");
}
