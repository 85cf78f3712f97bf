#include "treadle/import/stablehlo/Entry.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace treadle;

namespace {

/// Replaces arguments of @main by ops at its beginning.
class EntryBinder {
public:
  explicit EntryBinder(func::FuncOp main)
      : main(main), builder(OpBuilder::atBlockBegin(&main.front())) {}

  LogicalResult bind(const EntryConvention &convention);
  void bindTokens(llvm::BitVector &bound);

private:
  Value op(StringRef name, ValueRange operands, Type result, NamedAttrList attrs);
  FailureOr<RankedTensorType> scalarType(BlockArgument argument, StringRef what);
  LogicalResult bindPlatform(BlockArgument argument, int64_t place);
  LogicalResult bindSize(BlockArgument argument, std::pair<uint64_t, uint64_t> size);
  void dropResultTokens();

  func::FuncOp main;
  OpBuilder builder;
  size_t first = 0; // of the function's own arguments
};

} // namespace

static bool isToken(Type type) { return isa<NoneType>(type); }

Value EntryBinder::op(StringRef name, ValueRange operands, Type result, NamedAttrList attrs) {
  OperationState state(main.getLoc(), name);
  state.addOperands(operands);
  state.addTypes(result);
  state.addAttributes(attrs);
  return builder.create(state)->getResult(0);
}

FailureOr<RankedTensorType> EntryBinder::scalarType(BlockArgument argument, StringRef what) {
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  if (type && type.getRank() == 0 && isa<IntegerType>(type.getElementType()))
    return type;
  return main.emitError("argument ")
         << argument.getArgNumber() << " of @" << main.getName() << " has type "
         << argument.getType() << ", expected " << what << ", a scalar integer";
}

LogicalResult EntryBinder::bindPlatform(BlockArgument argument, int64_t place) {
  FailureOr<RankedTensorType> type = scalarType(argument, "the number of the platform");
  if (failed(type))
    return failure();
  auto value = DenseElementsAttr::get(
      *type, ArrayRef<Attribute>(builder.getIntegerAttr(type->getElementType(), place)));
  argument.replaceAllUsesWith(
      op("stablehlo.constant", {}, *type, {{builder.getNamedAttr("value", value)}}));
  return success();
}

LogicalResult EntryBinder::bindSize(BlockArgument argument, std::pair<uint64_t, uint64_t> size) {
  FailureOr<RankedTensorType> type = scalarType(argument, "the size of a dimension");
  if (failed(type))
    return failure();
  auto [index, dim] = size;
  auto of = index < main.getNumArguments() - first
                ? dyn_cast<RankedTensorType>(main.getArgument(first + index).getType())
                : RankedTensorType();
  if (!of || dim >= static_cast<uint64_t>(of.getRank()))
    return main.emitError("the size of dimension ")
           << dim << " of argument " << index << " is requested, but doesn't exist";
  auto counted = RankedTensorType::get({}, builder.getI32Type());
  Value value = op(
      "stablehlo.get_dimension_size", main.getArgument(first + index), counted,
      {{builder.getNamedAttr("dimension", builder.getI64IntegerAttr(static_cast<int64_t>(dim)))}});
  argument.replaceAllUsesWith(counted == *type ? value : op("stablehlo.convert", value, *type, {}));
  return success();
}

void EntryBinder::bindTokens(llvm::BitVector &bound) {
  for (BlockArgument argument : main.getArguments())
    if (isToken(argument.getType())) {
      argument.replaceAllUsesWith(op("stablehlo.create_token", {}, argument.getType(), {}));
      bound.set(argument.getArgNumber());
    }
}

void EntryBinder::dropResultTokens() {
  llvm::BitVector tokens(main.getNumResults());
  for (auto [i, type] : llvm::enumerate(main.getResultTypes()))
    if (isToken(type))
      tokens.set(i);
  for (Block &block : main.getBody())
    if (auto end = dyn_cast<func::ReturnOp>(block.back());
        end && end.getNumOperands() == tokens.size())
      end->eraseOperands(tokens);
  (void)main.eraseResults(tokens);
}

LogicalResult EntryBinder::bind(const EntryConvention &convention) {
  first = convention.sizes.size() + (convention.platform ? 1 : 0);
  if (first > main.getNumArguments())
    return main.emitError("@") << main.getName() << " has " << main.getNumArguments()
                               << " arguments, expected at least " << first;
  llvm::BitVector bound(main.getNumArguments());
  bound.set(0, static_cast<unsigned>(first));
  auto arguments = main.getArguments().take_front(first);
  if (convention.platform) {
    if (failed(bindPlatform(arguments.front(), *convention.platform)))
      return failure();
    arguments = arguments.drop_front();
  }
  for (auto [argument, size] : llvm::zip(arguments, convention.sizes))
    if (failed(bindSize(argument, size)))
      return failure();
  bindTokens(bound);
  dropResultTokens();
  return success(main.eraseArguments(bound).succeeded());
}

Expected<std::optional<int64_t>> treadle::cpuPlatformIndex(ArrayRef<std::string> platforms,
                                                           bool isChecked) {
  const auto *found =
      llvm::find_if(platforms, [](StringRef name) { return name.equals_insensitive("CPU"); });
  bool isMissing = !platforms.empty() && found == platforms.end();
  if (isMissing && (isChecked || platforms.size() > 1))
    return Unexpected(unimplemented("the program was exported for ", llvm::join(platforms, ", "),
                                    ", not for the CPU"));
  return platforms.size() > 1 ? std::optional<int64_t>(found - platforms.begin()) : std::nullopt;
}

LogicalResult treadle::bindEntry(func::FuncOp main, const EntryConvention &convention) {
  if (main.isExternal())
    return success(); // reported as an error when it is converted
  return EntryBinder(main).bind(convention);
}

void treadle::bindTokens(func::FuncOp main) {
  if (main.isExternal() || llvm::none_of(main.getArgumentTypes(), isToken) ||
      !SymbolTable::symbolKnownUseEmpty(main, main->getParentOp()))
    return;
  Builder builder(main.getContext());
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (!main.getArgAttr(i, pathKey))
      main.setArgAttr(i, pathKey, builder.getStringAttr("arg" + Twine(i)));
  llvm::BitVector bound(main.getNumArguments());
  EntryBinder(main).bindTokens(bound);
  (void)main.eraseArguments(bound);
}
