// Reads the operations of a file: nested regions of blocks.
#include "treadle/import/bytecode/Bytecode.h"

#include "treadle/import/bytecode/Entries.h"
#include "treadle/import/bytecode/VhloOps.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/VersionTuple.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::bytecode;

namespace {

enum OpPart : uint8_t {
  Attributes = 1,
  Results = 2,
  Operands = 4,
  Successors = 8,
  Regions = 16,
  UseOrder = 32,
  Properties = 64,
  AllParts = 127,
};

/// The values of a region. Value numbers continue from those of the parent region, whose values are
/// all numbered already.
struct Scope {
  uint64_t first = 0, count = 0;
  SmallVector<Value, 0> values; // so far
  uint64_t end() const { return first + count; }
};

/// The context of an op.
struct OpContext {
  ArrayRef<Block *> blocks;
  bool isInFunction = false;
};

class OperationReader {
public:
  explicit OperationReader(Entries &entries)
      : entries(entries), layout(entries.layout), builder(&entries.context) {}

  Expected<OwningOpRef<ModuleOp>> read();

private:
  Expected<void> readBlock(Cursor &at, Block &block, const OpContext &around);
  Expected<void> readArguments(Cursor &at, Block &block);
  Expected<void> skipUseOrders(Cursor &at, size_t numValues);
  Expected<void> readRegion(Cursor &at, Region &region, bool isFunction);
  Expected<void> readRegions(Cursor &at, OperationState &state, bool isFunction);
  Expected<void> readRegionsAt(Cursor &at, OperationState &state, bool isFunction);
  Expected<void> readOp(Cursor &at, const OpContext &around);
  Expected<void> readShardyFields(Cursor &from, SourceOp &source);
  Expected<void> readFields(Cursor &at, SourceOp &source);
  Expected<void> readParts(Cursor &at, uint8_t parts, SourceOp &source, const OpContext &around);
  Expected<Operation *> createModule(SourceOp &&source);
  Expected<Operation *> create(SourceOp &&source);
  Expected<Value> readOperand(Cursor &at);
  Expected<void> define(const Cursor &at, ValueRange values);

  static constexpr size_t maxScopes = 256;

  Entries &entries;
  const Layout &layout;
  OpBuilder builder;
  SmallVector<Scope, 0> scopes;
  size_t outermost = 0; // values of earlier scopes aren't visible
};

} // namespace

// --- values -------------------------------------------------------------------------------------

Expected<void> OperationReader::define(const Cursor &at, ValueRange values) {
  if (scopes.empty() || scopes.back().values.size() + values.size() > scopes.back().count)
    return Unexpected(at.damaged("a region has more values than it declares"));
  llvm::append_range(scopes.back().values, values);
  return {};
}

Expected<Value> OperationReader::readOperand(Cursor &at) {
  uint64_t number = TREADLE_TRY(at.varint());
  for (const Scope &scope : llvm::reverse(ArrayRef(scopes).drop_front(outermost))) {
    if (number < scope.first)
      continue;
    if (number - scope.first < scope.values.size())
      return scope.values[number - scope.first];
    break;
  }
  return Unexpected(at.damaged("value ", number, " is used before it is defined"));
}

/// Skips the order of a value's uses in memory.
Expected<void> OperationReader::skipUseOrders(Cursor &at, size_t numValues) {
  size_t count = numValues > 1 ? TREADLE_TRY(at.count()) : 1;
  for (size_t i = 0; i < count; ++i) {
    if (numValues > 1)
      TREADLE_TRY(at.varint());
    auto [size, isPairs] = TREADLE_TRY(at.flagged());
    for (uint64_t j = 0; j < size; ++j)
      TREADLE_TRY(at.varint());
  }
  return {};
}

// --- blocks and regions -------------------------------------------------------------------------

Expected<void> OperationReader::readArguments(Cursor &at, Block &block) {
  size_t count = TREADLE_TRY(at.count());
  for (size_t i = 0; i < count; ++i) {
    uint64_t type = TREADLE_TRY(at.varint());
    bool hasLocation = true;
    if (layout.version >= ShortArguments) {
      hasLocation = type & 1;
      type >>= 1;
    }
    if (type >= entries.numTypes())
      return Unexpected(
          at.damaged("type ", type, " is out of range, expected less than ", entries.numTypes()));
    Location location = builder.getUnknownLoc();
    Type found = TREADLE_TRY(entries.type(type));
    if (hasLocation)
      location = TREADLE_TRY(entries.locationAt(at));
    block.addArgument(found, location);
  }
  return define(at, block.getArguments());
}

Expected<void> OperationReader::readBlock(Cursor &at, Block &block, const OpContext &around) {
  auto [numOps, hasArguments] = TREADLE_TRY(at.flagged());
  if (hasArguments)
    TREADLE_TRY(readArguments(at, block));
  if (hasArguments && layout.version >= UseOrders && TREADLE_TRY(at.byte()) != 0)
    TREADLE_TRY(skipUseOrders(at, block.getNumArguments()));
  for (uint64_t i = 0; i < numOps; ++i) {
    builder.setInsertionPointToEnd(&block);
    TREADLE_TRY(readOp(at, around));
  }
  return {};
}

Expected<void> OperationReader::readRegion(Cursor &at, Region &region, bool isFunction) {
  size_t numBlocks = TREADLE_TRY(at.count());
  if (numBlocks == 0)
    return {};
  size_t numValues = TREADLE_TRY(at.count());
  if (scopes.size() == maxScopes)
    return Unexpected(at.damaged("regions nest more than ", maxScopes, " deep"));
  uint64_t first = scopes.size() == outermost ? 0 : scopes.back().end();
  scopes.push_back({first, numValues, {}});
  llvm::scope_exit leave([&] { scopes.pop_back(); });
  SmallVector<Block *> blocks;
  for (size_t i = 0; i < numBlocks; ++i)
    blocks.push_back(&region.emplaceBlock());
  for (Block *block : blocks)
    TREADLE_TRY(readBlock(at, *block, {blocks, isFunction}));
  return {};
}

Expected<void> OperationReader::readRegions(Cursor &at, OperationState &state, bool isFunction) {
  for (const std::unique_ptr<Region> &region : state.regions)
    TREADLE_TRY(readRegion(at, *region, isFunction));
  return {};
}

/// Regions that use no values from outside are sections of their own.
Expected<void> OperationReader::readRegionsAt(Cursor &at, OperationState &state, bool isFunction) {
  auto [count, isIsolated] = TREADLE_TRY(at.flagged());
  if (count > at.rest())
    return Unexpected(at.damaged("an op has ", count, " regions in ", at.rest(), " bytes"));
  for (uint64_t i = 0; i < count; ++i)
    state.addRegion();
  OpBuilder::InsertionGuard guard(builder);
  if (!isIsolated)
    return readRegions(at, state, isFunction);
  size_t before = std::exchange(outermost, scopes.size());
  llvm::scope_exit leave([&] { outermost = before; });
  if (layout.version < Sections)
    return readRegions(at, state, isFunction);
  Section section = TREADLE_TRY(readSection(at));
  if (section.kind != Section::Operations)
    return Unexpected(section.content.damaged("expected an IR section"));
  return readRegions(section.content, state, isFunction);
}

// --- operations ---------------------------------------------------------------------------------

/// Reads the named fields that state the sharding of values; fields of other ops are ignored.
Expected<void> OperationReader::readShardyFields(Cursor &from, SourceOp &source) {
  static constexpr StringRef ofMesh[] = {"mesh", "sym_name"}, ofConstraint[] = {"sharding"},
                             ofComputation[] = {"in_shardings", "manual_axes", "out_shardings"};
  ArrayRef<StringRef> names;
  if (source.name == "mesh")
    names = ofMesh;
  else if (source.name == "sharding_constraint")
    names = ofConstraint;
  else if (source.name == "manual_computation")
    names = ofComputation;
  for (StringRef name : names)
    source.state.addAttribute(name, TREADLE_TRY(entries.attributeAt(from)));
  return {};
}

/// A VHLO op has all its fields; a module may have none.
Expected<void> OperationReader::readFields(Cursor &at, SourceOp &source) {
  Cursor from = layout.properties[TREADLE_TRY(at.index(layout.properties.size(), "fields"))];
  if (source.dialect == "sdy")
    return readShardyFields(from, source);
  source.hasFields = true;
  bool isVhlo = source.dialect == "vhlo";
  while (!from.empty())
    source.fields.push_back(
        TREADLE_TRY(isVhlo ? entries.attributeAt(from) : entries.optionalAttributeAt(from)));
  return {};
}

Expected<void> OperationReader::readParts(Cursor &at, uint8_t parts, SourceOp &source,
                                          const OpContext &around) {
  OperationState &state = source.state;
  if (parts & Attributes) {
    auto fields = dyn_cast<DictionaryAttr>(TREADLE_TRY(entries.attributeAt(at)));
    if (!fields)
      return Unexpected(at.damaged("the attributes of an op aren't a dictionary"));
    state.attributes = fields;
  }
  if (parts & Properties)
    TREADLE_TRY(readFields(at, source));
  for (size_t i = 0, count = parts & Results ? TREADLE_TRY(at.count()) : 0; i < count; ++i)
    state.addTypes(TREADLE_TRY(entries.typeAt(at)));
  for (size_t i = 0, count = parts & Operands ? TREADLE_TRY(at.count()) : 0; i < count; ++i)
    state.addOperands(TREADLE_TRY(readOperand(at)));
  for (size_t i = 0, count = parts & Successors ? TREADLE_TRY(at.count()) : 0; i < count; ++i)
    state.addSuccessors(around.blocks[TREADLE_TRY(at.index(around.blocks.size(), "block"))]);
  if (parts & UseOrder)
    TREADLE_TRY(skipUseOrders(at, state.types.size()));
  return {};
}

/// Keeps only a module's name and the number of its devices.
Expected<Operation *> OperationReader::createModule(SourceOp &&source) {
  OperationState &state = source.state;
  if (state.regions.size() != 1 || !state.operands.empty() || !state.types.empty())
    return Unexpected(invalidArgument("a module in the bytecode has no body"));
  auto name = dyn_cast_or_null<StringAttr>(source.fields.empty() ? state.attributes.get("sym_name")
                                                                 : source.fields.front());
  auto module = ModuleOp::create(builder, state.location,
                                 name ? std::optional(name.getValue()) : std::nullopt);
  module.getBodyRegion().takeBody(*state.regions.front());
  for (StringRef key : {"mhlo.num_replicas", "mhlo.num_partitions"})
    if (Attribute count = state.attributes.get(key))
      module->setAttr(key, count);
  if (module.getBodyRegion().empty())
    module.getBodyRegion().emplaceBlock();
  return module.getOperation();
}

/// Ops of these dialects may be mixed with VHLO. Unknown ones are reported by the importer.
static bool isMixed(StringRef dialect) {
  return llvm::is_contained({"stablehlo", "mhlo", "chlo", "check", "sdy"}, dialect);
}

Expected<Operation *> OperationReader::create(SourceOp &&source) {
  if (source.dialect == "vhlo")
    return createFromVhlo(builder, std::move(source));
  if (source.dialect == "builtin" && source.name == "module")
    return createModule(std::move(source));
  if (isMixed(source.dialect) && !source.hasFields)
    return builder.create(source.state);
  return Unexpected(unimplemented(source.dialect.str(), ".", source.name.str(),
                                  " in bytecode, expected a portable artifact (VHLO)"));
}

/// Whether it casts between a VHLO type and a type of another dialect, which are the same here.
static bool isCast(const SourceOp &source) {
  return source.dialect == "builtin" && source.name == "unrealized_conversion_cast" &&
         llvm::equal(ValueRange(source.state.operands).getTypes(), source.state.types);
}

Expected<void> OperationReader::readOp(Cursor &at, const OpContext &around) {
  const OpName &name = layout.ops[TREADLE_TRY(at.index(layout.ops.size(), "op"))];
  uint8_t parts = TREADLE_TRY(at.byte());
  if (parts & ~AllParts)
    return Unexpected(at.damaged("the encoding flags of an op are unknown"));
  Location location = TREADLE_TRY(entries.locationAt(at));
  SourceOp source{.state = {location, (name.dialect + "." + name.name).str()},
                  .dialect = name.dialect,
                  .name = name.name,
                  .isInFunction = around.isInFunction};
  TREADLE_TRY(readParts(at, parts, source, around));
  if (parts & Regions)
    TREADLE_TRY(
        readRegionsAt(at, source.state, source.dialect == "vhlo" && source.name == "func_v1"));
  if (isCast(source))
    return define(at, source.state.operands);
  Operation *op = TREADLE_TRY(create(std::move(source)));
  return op->getNumResults() == 0 ? Expected<void>() : define(at, op->getResults());
}

Expected<OwningOpRef<ModuleOp>> OperationReader::read() {
  OwningOpRef<ModuleOp> holder = ModuleOp::create(builder.getUnknownLoc());
  Cursor at = layout.ir;
  TREADLE_TRY(readBlock(at, *holder->getBody(), {}));
  if (!at.empty())
    return Unexpected(at.damaged("the operations have ", at.rest(), " bytes too many"));
  auto inner = llvm::hasSingleElement(*holder->getBody())
                   ? dyn_cast<ModuleOp>(holder->getBody()->front())
                   : ModuleOp();
  if (!inner)
    return Unexpected(at.damaged("expected a module"));
  inner->remove();
  return OwningOpRef<ModuleOp>(inner);
}

// --- files --------------------------------------------------------------------------------------

bool treadle::isBytecode(std::string_view bytes) {
  return StringRef(bytes).starts_with(StringRef("ML\xefR", 4));
}

/// Returns `, of VHLO 2.0.0, ...` if the producer's version is newer.
static std::string newerVersion(StringRef producer) {
  StringRef version = producer;
  if (!version.consume_front("StableHLO_v"))
    return producer.empty() ? "" : str(", in bytecode of ", producer.str());
  llvm::VersionTuple written, known;
  if (written.tryParse(version) || known.tryParse(newestVhlo) || written <= known)
    return str(", in an artifact of VHLO ", version.str());
  return str(", in an artifact of VHLO ", version.str(), "; versions up to ", newestVhlo.str(),
             " are supported; export it for one of them");
}

Expected<OwningOpRef<ModuleOp>> treadle::readBytecode(MLIRContext &context,
                                                      std::string_view bytes) {
  Layout layout = TREADLE_TRY(readLayout(bytes));
  Entries entries(context, layout);
  Expected<OwningOpRef<ModuleOp>> module = OperationReader(entries).read();
  if (!module && module.error().code == Code::Unimplemented)
    module.error().message += newerVersion(layout.producer);
  return module;
}
