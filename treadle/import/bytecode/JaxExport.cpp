#include "treadle/import/bytecode/JaxExport.h"

#include "treadle/import/bytecode/Bytecode.h"
#include "treadle/import/bytecode/Flatbuffer.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace mlir;
using namespace treadle;
using flatbuffer::Bytes;
using flatbuffer::Table;
using flatbuffer::Vector;

// The numbers of fields, stable since version 2 of the format.
namespace field {
enum Exported : uint8_t {
  InTree = 2,
  InAvals = 3,
  OutTree = 4,
  OutAvals = 5,
  Platforms = 9,
  DisabledChecks = 12,
  Artifact = 13,
  ConventionVersion = 14,
  KeptArguments = 15,
  UniqueAvals = 19,
  InAvalNumbers = 22,
  OutAvalNumbers = 23,
};
enum Tree : uint8_t { Kind = 0, Children = 1, Names = 2 };
enum Aval : uint8_t { Shape = 1, DType = 2 };
enum Check : uint8_t { CheckKind = 0 };
} // namespace field

namespace {

Error damaged(std::string_view what) {
  return invalidArgument("the file of jax.export is corrupted or truncated: ", what);
}

template <typename T> Expected<T> orDamaged(std::optional<T> found, std::string_view what) {
  return found ? Expected<T>(std::move(*found)) : Unexpected(damaged(what));
}

constexpr uint64_t placeSize = sizeof(uint32_t);

/// Limits the bytes created from a file, whose parts may be shared many times.
class SizeBudget {
public:
  explicit SizeBudget(uint64_t fileSize) : left(64 * fileSize) {}
  Expected<void> spend(uint64_t bytes) {
    if (bytes > left)
      return Unexpected(damaged("it expands to too many parts"));
    left -= bytes;
    return {};
  }

private:
  uint64_t left;
};

Expected<Table> tableIn(const Vector &list, uint64_t i) {
  std::optional<uint64_t> at = list.bytes.follow(list.begin + i * placeSize);
  return orDamaged(at ? Table::at(list.bytes, *at) : std::nullopt, "a table is out of bounds");
}

Expected<std::string> textIn(const Vector &list, uint64_t i) {
  std::optional<uint64_t> at = list.bytes.follow(list.begin + i * placeSize);
  std::optional<Vector> text = at ? Vector::at(list.bytes, *at, 1) : std::nullopt;
  if (!text)
    return Unexpected(damaged("a string is out of bounds"));
  return std::string(list.bytes.part(text->begin, text->count));
}

Expected<std::vector<std::string>> texts(const Table &table, unsigned field, SizeBudget &budget) {
  Vector list = TREADLE_TRY(orDamaged(table.vector(field, placeSize), "a list is too long"));
  std::vector<std::string> values;
  values.reserve(list.count);
  for (uint64_t i = 0; i < list.count; ++i) {
    values.push_back(TREADLE_TRY(textIn(list, i)));
    TREADLE_TRY(budget.spend(placeSize + values.back().size()));
  }
  return values;
}

template <typename T> Expected<std::vector<uint64_t>> numbers(const Table &table, unsigned field) {
  Vector list = TREADLE_TRY(orDamaged(table.vector(field, sizeof(T)), "a list is too long"));
  std::vector<uint64_t> values;
  values.reserve(list.count);
  for (uint64_t i = 0; i < list.count; ++i)
    values.push_back(*list.bytes.at<T>(list.begin + i * sizeof(T)));
  return values;
}

/// Names the leaves of a tree of Python values by their paths.
class TreeNames {
public:
  explicit TreeNames(SizeBudget &budget) : budget(budget) {}

  /// `path`: the names of the edges so far.
  Expected<void> visit(const Table &tree, const std::string &path, int depth = 0);

  std::vector<std::string> names;

private:
  enum Kind : int8_t { Leaf = 0, None = 1, Dict = 4 };
  static constexpr int maxDepth = 64;

  SizeBudget &budget;
};

Expected<void> TreeNames::visit(const Table &tree, const std::string &path, int depth) {
  if (depth > maxDepth)
    return Unexpected(damaged("a tree is too deep"));
  TREADLE_TRY(budget.spend(placeSize + path.size()));
  auto kind = TREADLE_TRY(orDamaged(tree.number<int8_t>(field::Kind), "a tree has no kind"));
  if (kind == Leaf) {
    names.push_back(path);
    return {};
  }
  Vector children =
      TREADLE_TRY(orDamaged(tree.vector(field::Children, placeSize), "a tree has too many parts"));
  std::vector<std::string> keys;
  if (kind == Dict)
    keys = TREADLE_TRY(texts(tree, field::Names, budget));
  for (uint64_t i = 0; i < children.count; ++i) {
    Table child = TREADLE_TRY(tableIn(children, i));
    std::string name = i < keys.size() ? keys[i] : std::to_string(i);
    TREADLE_TRY(visit(child, path.empty() ? name : path + "_" + name, depth + 1));
  }
  return {};
}

using Values = std::vector<JaxExport::Value>;

Expected<JaxExport::Value> valueOf(const Table &aval, SizeBudget &budget) {
  JaxExport::Value value;
  value.shape = TREADLE_TRY(texts(aval, field::Shape, budget));
  value.dtype = TREADLE_TRY(orDamaged(aval.number<int8_t>(field::DType), "a dtype is missing"));
  return value;
}

/// Since version 10, equal values are stored once and referred to by number.
Expected<Values> valuesOf(const Table &exported, unsigned direct, unsigned byNumber,
                          SizeBudget &budget) {
  Vector list =
      TREADLE_TRY(orDamaged(exported.vector(direct, placeSize), "it has too many values"));
  Vector unique = TREADLE_TRY(
      orDamaged(exported.vector(field::UniqueAvals, placeSize), "it has too many values"));
  auto places = TREADLE_TRY(numbers<uint32_t>(exported, byNumber));
  Values values;
  for (uint64_t i = 0; i < list.count; ++i) {
    Table aval = TREADLE_TRY(tableIn(list, i));
    values.push_back(TREADLE_TRY(valueOf(aval, budget)));
  }
  if (!values.empty())
    return values;
  for (uint64_t place : places) {
    if (place >= unique.count)
      return Unexpected(damaged("it refers to a missing value"));
    Table aval = TREADLE_TRY(tableIn(unique, place));
    values.push_back(TREADLE_TRY(valueOf(aval, budget)));
  }
  return values;
}

/// Converts `params['a b']` to a name: `params_a_b`.
std::string plainName(std::string name) {
  for (char &c : name)
    c = llvm::isAlnum(c) ? c : '_';
  return name;
}

/// The tree of arguments has two parts: positional and keyword arguments.
Expected<void> nameArguments(const Table &exported, SizeBudget &budget, Values &values) {
  std::optional<Table> tree = exported.table(field::InTree);
  std::optional<Vector> both = tree ? tree->vector(field::Children, placeSize) : std::nullopt;
  if (!both || both->count != 2)
    return {};
  TreeNames found(budget);
  Table byPlace = TREADLE_TRY(tableIn(*both, 0)), byName = TREADLE_TRY(tableIn(*both, 1));
  TREADLE_TRY(found.visit(byPlace, ""));
  for (std::string &name : found.names)
    name = "arg" + name;
  TREADLE_TRY(found.visit(byName, ""));
  if (found.names.size() == values.size())
    for (size_t i = 0; i < values.size(); ++i)
      values[i].name = plainName(found.names[i]);
  return {};
}

Expected<void> nameResults(const Table &exported, SizeBudget &budget, Values &values) {
  std::optional<Table> tree = exported.table(field::OutTree);
  if (!tree)
    return {};
  TreeNames found(budget);
  TREADLE_TRY(found.visit(*tree, ""));
  if (found.names.size() == values.size())
    for (size_t i = 0; i < values.size(); ++i)
      values[i].name = plainName(found.names[i]);
  return {};
}

Expected<bool> checksPlatform(const Table &exported) {
  Vector checks = TREADLE_TRY(
      orDamaged(exported.vector(field::DisabledChecks, placeSize), "a list is too long"));
  for (uint64_t i = 0; i < checks.count; ++i) {
    Table check = TREADLE_TRY(tableIn(checks, i));
    constexpr int8_t platform = 0;
    if (check.number<int8_t>(field::CheckKind) == platform)
      return false;
  }
  return true;
}

} // namespace

bool treadle::isJaxExport(std::string_view bytes) {
  std::optional<Table> exported = Table::root(Bytes(bytes));
  std::optional<uint64_t> artifact = exported ? exported->target(field::Artifact) : std::nullopt;
  return artifact && *artifact + placeSize < bytes.size() &&
         isBytecode(bytes.substr(*artifact + placeSize)); // after its size
}

Expected<JaxExport> JaxExport::read(std::string_view bytes) {
  JaxExport found;
  Table exported = TREADLE_TRY(orDamaged(Table::root(Bytes(bytes)), "its table is out of bounds"));
  found.artifact = TREADLE_TRY(
      orDamaged(exported.text(field::Artifact), "its artifact is longer than what is left of it"));
  SizeBudget budget(bytes.size());
  found.conventionVersion =
      TREADLE_TRY(orDamaged(exported.number<uint16_t>(field::ConventionVersion),
                            "the version of its calling convention"));
  found.platforms = TREADLE_TRY(texts(exported, field::Platforms, budget));
  found.isPlatformChecked = TREADLE_TRY(checksPlatform(exported));
  found.arguments = TREADLE_TRY(valuesOf(exported, field::InAvals, field::InAvalNumbers, budget));
  found.results = TREADLE_TRY(valuesOf(exported, field::OutAvals, field::OutAvalNumbers, budget));
  TREADLE_TRY(nameArguments(exported, budget, found.arguments));
  TREADLE_TRY(nameResults(exported, budget, found.results));
  found.kept = TREADLE_TRY(numbers<uint16_t>(exported, field::KeptArguments));
  for (size_t i = 0; i < found.kept.size(); ++i)
    if (found.kept[i] >= found.arguments.size() || (i && found.kept[i] <= found.kept[i - 1]))
      return Unexpected(damaged("it lists arguments that the function doesn't have"));
  return found;
}

// --- programs -----------------------------------------------------------------------------------

/// Returns the element type of JAX's number; null for an unsupported one.
static Type elementOf(int dtype, Builder &builder) {
  enum Number : uint8_t {
    Bool = 0,
    I8 = 1,
    I64 = 4,
    U8 = 5,
    U64 = 8,
    F16 = 9,
    F32,
    F64,
    C64,
    C128,
    BF16,
    Float0 = 22,
    Keys = 27,
    LastKeys = 29
  };
  if (dtype == Bool || dtype == Float0)
    return builder.getI1Type();
  if (dtype >= I8 && dtype <= I64)
    return builder.getIntegerType(8U << (dtype - I8));
  if (dtype >= U8 && dtype <= U64)
    return builder.getIntegerType(8U << (dtype - U8), /*isSigned=*/false);
  if (dtype >= Keys && dtype <= LastKeys)
    return builder.getIntegerType(32, /*isSigned=*/false);
  switch (dtype) {
  case F16:
    return builder.getF16Type();
  case F32:
    return builder.getF32Type();
  case F64:
    return builder.getF64Type();
  case C64:
    return ComplexType::get(builder.getF32Type());
  case C128:
    return ComplexType::get(builder.getF64Type());
  case BF16:
    return builder.getBF16Type();
  default:
    return {};
  }
}

/// Returns the type of an argument that @main doesn't have; sizes that aren't numbers are unknown.
static Type typeOf(const JaxExport::Value &value, Builder &builder) {
  constexpr int fryKeys = 27, lastKeys = 29; // keys are rows of 2 or 4 numbers
  SmallVector<int64_t> shape;
  for (StringRef size : value.shape) {
    int64_t number = 0;
    shape.push_back(size.getAsInteger(10, number) || number < 0 ? ShapedType::kDynamic : number);
  }
  if (value.dtype >= fryKeys && value.dtype <= lastKeys)
    shape.push_back(value.dtype == fryKeys ? 2 : 4);
  Type element = elementOf(value.dtype, builder);
  return element ? Type(RankedTensorType::get(shape, element)) : Type();
}

static FailureOr<EntryConvention> conventionOf(func::FuncOp main, const JaxExport &exported) {
  if (exported.conventionVersion < oldestConvention ||
      exported.conventionVersion > newestConvention)
    return main.emitError("unimplemented: the program's calling convention has version ")
           << exported.conventionVersion << ", expected one from " << oldestConvention << " to "
           << newestConvention;
  Expected<std::optional<int64_t>> platform =
      cpuPlatformIndex(exported.platforms, exported.isPlatformChecked);
  if (!platform)
    return main.emitError("unimplemented: ") << platform.error().message;
  EntryConvention convention;
  convention.platform = *platform;
  return convention;
}

/// Adds the arguments that @main lacks because the program doesn't use them.
static LogicalResult addUnused(func::FuncOp main, const JaxExport &exported) {
  Builder builder(main.getContext());
  SmallVector<unsigned> places;
  SmallVector<Type> types;
  const auto *kept = exported.kept.data(), *end = kept + exported.kept.size();
  for (size_t i = 0; i < exported.arguments.size(); ++i) {
    if (kept != end && *kept == i) {
      ++kept;
      continue;
    }
    types.push_back(typeOf(exported.arguments[i], builder));
    places.push_back(static_cast<unsigned>(kept - exported.kept.data()));
    if (!types.back())
      return main.emitError("unimplemented: argument ")
             << i << " is of JAX's dtype number " << exported.arguments[i].dtype;
  }
  SmallVector<DictionaryAttr> attrs(places.size(), builder.getDictionaryAttr({}));
  SmallVector<Location> locations(places.size(), UnknownLoc::get(main.getContext()));
  return main.insertArguments(places, types, attrs, locations);
}

LogicalResult JaxExport::bind(func::FuncOp main) const {
  FailureOr<EntryConvention> convention = conventionOf(main, *this);
  if (failed(convention) || failed(bindEntry(main, *convention)))
    return failure();
  if (main.isExternal() || main.getNumArguments() != kept.size())
    return main.emitError("@") << main.getName() << " has " << main.getNumArguments()
                               << " arguments, but the file lists " << kept.size();
  if (failed(addUnused(main, *this)))
    return failure();
  Builder builder(main.getContext());
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!arguments[i].name.empty())
      main.setArgAttr(static_cast<unsigned>(i), pathKey, builder.getStringAttr(arguments[i].name));
  constexpr StringLiteral info = "jax.result_info";
  for (size_t i = 0; i < std::min<size_t>(results.size(), main.getNumResults()); ++i)
    if (auto place = static_cast<unsigned>(i);
        !results[i].name.empty() && !main.getResultAttr(place, info))
      main.setResultAttr(place, info, builder.getStringAttr("result." + results[i].name));
  return success();
}
