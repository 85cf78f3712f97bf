#include "treadle/export/Artifact.h"

#include "treadle/export/ArtifactEntries.h"
#include "treadle/export/StableHloText.h"
#include "treadle/import/File.h"
#include "treadle/import/bytecode/VhloOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::artifact;
using bytecode::Assembly;
using bytecode::varint;
using bytecode::varints;

namespace {

/// The parts of an op after its head.
enum OpPart : uint8_t { Attributes = 1, Results = 2, Operands = 4, Regions = 16, Properties = 64 };

class ArtifactWriter {
public:
  ArtifactWriter(uint64_t format, llvm::VersionTuple target)
      : file(format), entries(file, target), target(target) {}

  Expected<std::string> write(ModuleOp program);

private:
  using NamedIndices = std::vector<std::pair<std::string, uint64_t>>;

  Expected<std::string> moduleBytes(ModuleOp program);
  Expected<std::string> opBytes(Operation *op);
  Expected<std::string> functionBytes(func::FuncOp function);
  Expected<std::string> regionBytes(Region &region);
  std::string isolatedBytes(const std::string &region) const;
  Expected<std::string> blockBytes(Block &block);
  Expected<std::string> assemble(Operation *op, StringRef name, NamedAttrList attrs,
                                 const std::string &regions);
  Expected<NamedIndices> fieldsOf(Operation *op, const bytecode::VhloOp &as, NamedAttrList &attrs);
  Expected<NamedIndices> othersOf(Operation *op, const NamedAttrList &attrs);
  std::string attributeBytes(NamedIndices fields, NamedIndices others, uint8_t &parts);
  Expected<std::string> valueBytes(Operation *op, uint8_t &parts);
  Expected<void> checkAllWritten(Operation *op, const NamedAttrList &attrs) const;
  Expected<void> checkForm(Operation *op, const bytecode::VhloOp &as) const;
  uint64_t numberValues(Region &region);

  Assembly file;
  EntryWriter entries;
  const llvm::VersionTuple target;
  llvm::DenseMap<Value, uint64_t> numbers;
  uint64_t next = 0; // of values
};

} // namespace

/// Adds the op to the error.
static Unexpected at(Operation *op, const Error &error) {
  std::string place;
  if (auto line = op->getLoc()->findInstanceOf<FileLineColLoc>(); line && line.getLine())
    place = str("line ", line.getLine(), ", column ", line.getColumn(), ": ");
  return Unexpected(
      Error{error.code, str(place, "'", op->getName().getStringRef().str(), "': ", error.message)});
}

/// Whether to drop the attribute: annotations of shardings and notes of our readers mean nothing to
/// other tools.
static bool isDropped(StringRef attribute) {
  return attribute.starts_with("sdy.") || attribute.starts_with("treadle.");
}

// --- regions ------------------------------------------------------------------------------------

/// Numbers the values in order; those of inner regions follow those of the parent region.
uint64_t ArtifactWriter::numberValues(Region &region) {
  uint64_t first = next;
  for (Block &block : region) {
    for (BlockArgument argument : block.getArguments())
      numbers[argument] = next++;
    for (Operation &op : block)
      for (Value result : op.getResults())
        numbers[result] = next++;
  }
  return next - first;
}

Expected<std::string> ArtifactWriter::blockBytes(Block &block) {
  std::string ops;
  for (Operation &op : block)
    ops += TREADLE_TRY(opBytes(&op));
  bool hasArguments = block.getNumArguments() != 0;
  std::string bytes = varint(block.getOperations().size() << 1 | (hasArguments ? 1 : 0));
  if (!hasArguments)
    return bytes + ops;
  bytes += varint(block.getNumArguments());
  for (BlockArgument argument : block.getArguments()) {
    uint64_t type = TREADLE_TRY(entries.addType(argument.getType()));
    bool isShort = file.version >= bytecode::ShortArguments;
    bytes += varints({isShort ? type << 1 | 1 : type, entries.addLocation(argument.getLoc())});
  }
  if (file.version >= bytecode::UseOrders)
    bytes += '\0';
  return bytes + ops;
}

Expected<std::string> ArtifactWriter::regionBytes(Region &region) {
  std::string bytes = varint(region.getBlocks().size());
  if (region.empty())
    return bytes;
  uint64_t before = next;
  bytes += varint(numberValues(region));
  for (Block &block : region)
    bytes += TREADLE_TRY(blockBytes(block));
  next = before;
  return bytes;
}

/// Encodes one region that uses no outside values.
std::string ArtifactWriter::isolatedBytes(const std::string &region) const {
  std::string head = varint(1 << 1 | 1);
  return file.version >= bytecode::Sections
             ? head + bytecode::sectionBytes(bytecode::Section::Operations, region)
             : head + region;
}

// --- operations ---------------------------------------------------------------------------------

Expected<void> ArtifactWriter::checkForm(Operation *op, const bytecode::VhloOp &as) const {
  if (!as.expresses || as.expresses(op))
    return {};
  if (op->getName().stripDialect().starts_with("async_"))
    return Unexpected(unimplemented("futures can't be written yet"));
  return Unexpected(unimplemented(
      "it has ", op->getNumOperands(), " operands, ", op->getNumResults(), " results and ",
      op->getNumRegions(), " regions, which version ", target.getAsString(), " can't express"));
}

/// Whether the attribute isn't one of the op's fields: dialect attributes, and attributes with
/// which a custom call configures its target, such as the message of JAX's `shape_assertion`.
static bool isExtraAttribute(StringRef op, StringRef attribute) {
  return attribute.contains('.') ||
         (op == "custom_call" && bytecode::firstWithField(op, attribute).empty());
}

/// Reports attributes that this version of the op has no field for.
Expected<void> ArtifactWriter::checkAllWritten(Operation *op, const NamedAttrList &attrs) const {
  StringRef opName = op->getName().stripDialect();
  for (NamedAttribute attr : attrs) {
    StringRef name = attr.getName();
    // Only the number of a collective's channel is used.
    if (isExtraAttribute(opName, name) || name == "channel_type")
      continue;
    StringRef since = bytecode::firstWithField(opName, name);
    if (!since.empty() && isDefault(attr.getValue()))
      continue;
    return Unexpected(
        since.empty()
            ? unimplemented("attribute '", name.str(), "' isn't one of the op's attributes")
            : unimplemented("attribute '", name.str(), "' can't be written for version ",
                            target.getAsString(), ": ", since.str(),
                            " is the first that supports it"));
  }
  return {};
}

Expected<ArtifactWriter::NamedIndices>
ArtifactWriter::fieldsOf(Operation *op, const bytecode::VhloOp &as, NamedAttrList &attrs) {
  NamedIndices fields;
  SmallVector<StringRef> names;
  as.fields.split(names, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef name : names) {
    std::optional<Field> field = takeField(op, name, attrs);
    if (!field)
      return Unexpected(invalidArgument("attribute '", name.str(), "' is missing"));
    Expected<uint64_t> index = entries.addField(*field);
    if (!index)
      return Unexpected(
          Error{index.error().code, str("attribute '", name.str(), "': ", index.error().message)});
    fields.emplace_back(name.str(), *index);
  }
  return fields;
}

Expected<ArtifactWriter::NamedIndices> ArtifactWriter::othersOf(Operation *op,
                                                                const NamedAttrList &attrs) {
  NamedIndices others;
  for (NamedAttribute attr : attrs)
    if (isExtraAttribute(op->getName().stripDialect(), attr.getName()) &&
        !isDropped(attr.getName()))
      others.emplace_back(attr.getName().str(), TREADLE_TRY(entries.addAttribute(attr.getValue())));
  return others;
}

/// Newer files store an op's own fields as properties, separate from other attributes.
std::string ArtifactWriter::attributeBytes(NamedIndices fields, NamedIndices others,
                                           uint8_t &parts) {
  bool isApart = file.version >= bytecode::NativeProperties;
  if (!isApart) {
    llvm::append_range(fields, others);
    others = std::exchange(fields, {});
  }
  std::string bytes;
  if (!others.empty()) {
    parts |= Attributes;
    bytes += varint(entries.addBuiltinFields(others));
  }
  if (fields.empty())
    return bytes;
  parts |= Properties;
  std::string content;
  for (const auto &[name, index] : fields)
    content += varint(index);
  return bytes + varint(file.addProperties(content));
}

Expected<std::string> ArtifactWriter::valueBytes(Operation *op, uint8_t &parts) {
  std::string bytes;
  if (op->getNumResults()) {
    parts |= Results;
    bytes += varint(op->getNumResults());
    for (Type type : op->getResultTypes())
      bytes += varint(TREADLE_TRY(entries.addType(type)));
  }
  if (op->getNumOperands()) {
    parts |= Operands;
    bytes += varint(op->getNumOperands());
    for (Value operand : op->getOperands())
      bytes += varint(numbers.lookup(operand));
  }
  return bytes;
}

/// `attrs`: the fields by name, and other attributes.
Expected<std::string> ArtifactWriter::assemble(Operation *op, StringRef name, NamedAttrList attrs,
                                               const std::string &regions) {
  bytecode::VhloOp as = TREADLE_TRY(bytecode::vhloOpIn(name, target));
  TREADLE_TRY(checkForm(op, as));
  NamedIndices fields = TREADLE_TRY(fieldsOf(op, as, attrs));
  TREADLE_TRY(checkAllWritten(op, attrs));
  uint8_t parts = regions.empty() ? 0 : Regions;
  std::string body = varint(entries.addLocation(op->getLoc()));
  body += attributeBytes(std::move(fields), TREADLE_TRY(othersOf(op, attrs)), parts);
  body += TREADLE_TRY(valueBytes(op, parts));
  return varint(file.addOp("vhlo", as.name)) + static_cast<char>(parts) + body + regions;
}

/// Returns the dictionaries of arguments or results without dropped attributes; null if all are
/// empty.
static ArrayAttr dictionariesOf(ArrayAttr all, Builder &builder) {
  SmallVector<Attribute> kept;
  bool hasAny = false;
  for (Attribute one : all ? all.getValue() : ArrayRef<Attribute>()) {
    NamedAttrList fields;
    for (NamedAttribute field : cast<DictionaryAttr>(one))
      if (!isDropped(field.getName()))
        fields.append(field);
    hasAny |= !fields.empty();
    kept.push_back(fields.getDictionary(builder.getContext()));
  }
  return builder.getArrayAttr(hasAny ? kept : SmallVector<Attribute>());
}

Expected<std::string> ArtifactWriter::functionBytes(func::FuncOp function) {
  Builder builder(function.getContext());
  NamedAttrList attrs(function->getDiscardableAttrDictionary());
  attrs.set("sym_name", builder.getStringAttr(function.getName()));
  attrs.set("function_type", TypeAttr::get(function.getFunctionType()));
  attrs.set("sym_visibility",
            builder.getStringAttr(function.getSymVisibility().value_or(StringRef())));
  attrs.set("arg_attrs", dictionariesOf(function.getArgAttrsAttr(), builder));
  attrs.set("res_attrs", dictionariesOf(function.getResAttrsAttr(), builder));
  std::string body = TREADLE_TRY(regionBytes(function.getBody()));
  Expected<std::string> bytes = assemble(function, "func", std::move(attrs), isolatedBytes(body));
  return bytes ? bytes : Expected<std::string>(at(function, bytes.error()));
}

Expected<std::string> ArtifactWriter::opBytes(Operation *op) {
  if (auto function = dyn_cast<func::FuncOp>(op))
    return functionBytes(function);
  StringRef dialect = op->getName().getDialectNamespace();
  StringRef name = op->getName().stripDialect();
  if (dialect != "stablehlo" && dialect != "func")
    return at(op, unimplemented("it isn't an op of portable artifacts"));
  std::string regions;
  if (op->getNumRegions()) {
    regions = varint(uint64_t{op->getNumRegions()} << 1);
    for (Region &region : op->getRegions())
      regions += TREADLE_TRY(regionBytes(region));
  }
  NamedAttrList attrs = splitGroups(op);
  if (auto call = dyn_cast<func::CallOp>(op))
    attrs.set("callee", call.getCalleeAttr());
  Expected<std::string> bytes = assemble(op, name, std::move(attrs), regions);
  return bytes ? bytes : Expected<std::string>(at(op, bytes.error()));
}

// --- modules ------------------------------------------------------------------------------------

Expected<std::string> ArtifactWriter::moduleBytes(ModuleOp program) {
  std::string body = TREADLE_TRY(regionBytes(program.getBodyRegion()));
  NamedIndices others;
  for (NamedAttribute attr : program->getDiscardableAttrs())
    if (!isDropped(attr.getName()))
      others.emplace_back(attr.getName().str(), TREADLE_TRY(entries.addBuiltin(attr.getValue())));
  std::string name = program.getName().value_or("").str();
  constexpr uint64_t isThere = 1;
  uint8_t parts = Regions;
  std::string head = varint(entries.addLocation(program.getLoc()));
  bool hasProperties = file.version >= bytecode::NativeProperties;
  if (!hasProperties && !name.empty())
    others.emplace_back("sym_name", entries.addBuiltinText(name));
  if (!others.empty()) {
    parts |= Attributes;
    head += varint(entries.addBuiltinFields(others));
  }
  if (hasProperties) { // the name, and the missing visibility
    parts |= Properties;
    uint64_t title = name.empty() ? 0 : entries.addBuiltinText(name) << 1 | isThere;
    head += varint(file.addProperties(varints({title, 0})));
  }
  return varint(file.addOp("builtin", "module")) + static_cast<char>(parts) + head +
         isolatedBytes(body);
}

Expected<std::string> ArtifactWriter::write(ModuleOp program) {
  file.producer = "StableHLO_v" + target.getAsString();
  file.ir = varint(1 << 1) + TREADLE_TRY(moduleBytes(program)); // a block of one op
  return file.bytes();
}

void treadle::removeAnnotations(ModuleOp program) {
  static constexpr StringLiteral annotations[] = {"mesh", "propagation_barrier", "reshard",
                                                  "sharding_constraint", "sharding_group"};
  SmallVector<Operation *> found;
  program.walk([&](Operation *op) {
    for (NamedAttribute attr : llvm::to_vector(op->getDiscardableAttrs()))
      if (attr.getName().strref().starts_with("sdy."))
        op->removeDiscardableAttr(attr.getName());
    if (op->getName().getDialectNamespace() == "sdy" &&
        llvm::is_contained(annotations, op->getName().stripDialect()))
      found.push_back(op);
  });
  for (Operation *op : found) {
    if (op->getNumResults() == op->getNumOperands())
      op->replaceAllUsesWith(op->getOperands());
    if (op->use_empty())
      op->erase();
  }
  auto without = [](DictionaryAttr attrs) {
    NamedAttrList left;
    for (NamedAttribute attr : attrs)
      if (!attr.getName().strref().starts_with("sdy."))
        left.append(attr);
    return left.getDictionary(attrs.getContext());
  };
  for (auto func : program.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      if (DictionaryAttr attrs = func.getArgAttrDict(i))
        func.setArgAttrs(i, without(attrs));
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      if (DictionaryAttr attrs = func.getResultAttrDict(i))
        func.setResultAttrs(i, without(attrs));
  }
}

Expected<llvm::VersionTuple> treadle::artifactVersion(std::string_view text) {
  llvm::VersionTuple version, oldest, newest;
  (void)oldest.tryParse(bytecode::oldestVhlo);
  (void)newest.tryParse(bytecode::newestVhlo);
  if (text.empty())
    return newest;
  if (version.tryParse(text) || version < oldest || version > newest)
    return Unexpected(invalidArgument("'", text,
                                      "' isn't a supported version of portable artifacts; expected "
                                      "one from ",
                                      bytecode::oldestVhlo.str(), " to ",
                                      bytecode::newestVhlo.str()));
  // Missing components are zero: `1.0` is 1.0.0.
  return llvm::VersionTuple(version.getMajor(), version.getMinor().value_or(0),
                            version.getSubminor().value_or(0));
}

/// Returns the MLIR bytecode version for a VHLO version.
static uint64_t formatOf(llvm::VersionTuple target) {
  struct Row {
    unsigned minor;
    uint64_t format;
  };
  constexpr Row rows[] = {{10, 0}, {12, 1}, {14, 3}, {15, 4}}; // before 0.10, 0.12, ...
  for (Row row : rows)
    if (target < llvm::VersionTuple(0, row.minor))
      return row.format;
  return bytecode::Newest;
}

Expected<std::string> treadle::exportArtifact(ModuleOp program, llvm::VersionTuple target) {
  removeAnnotations(program);
  return ArtifactWriter(formatOf(target), target).write(program);
}

/// Returns the result of `write` for the program in a file.
static Expected<std::string>
writtenProgram(const std::string &path,
               llvm::function_ref<Expected<std::string>(ModuleOp program)> write) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  Expected<std::string> written = std::string();
  bool isProgram = false;
  auto convert = [&](ModuleOp program) {
    isProgram = true;
    written = write(program);
    return success();
  };
  auto read = TREADLE_TRY(importFile(context, path, convert));
  if (!isProgram)
    return Unexpected(invalidArgument("'", path, "' is a graph, not a StableHLO program"));
  return written;
}

Expected<std::string> treadle::artifactOfFile(const std::string &path, llvm::VersionTuple target) {
  return writtenProgram(path, [&](ModuleOp program) { return exportArtifact(program, target); });
}

Expected<std::string> treadle::stableHloOfFile(const std::string &path) {
  return writtenProgram(path, stableHloText);
}
