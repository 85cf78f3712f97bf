#include "treadle/import/TfRegions.h"

#include "treadle/dialect/TfExecutor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace treadle;

namespace {

/// An operation with regions, and its equivalent with functions.
struct RegionOpForm {
  StringLiteral regions, functional;
  /// The attributes for the functions; a single one holds a list of them.
  SmallVector<StringRef, 2> keys;
  bool isLoop = false;
};

const RegionOpForm *formOf(Operation *op) {
  static const RegionOpForm forms[] = {
      {"tf.IfRegion", "tf.If", {"then_branch", "else_branch"}},
      {"tf.CaseRegion", "tf.Case", {"branches"}},
      {"tf.WhileRegion", "tf.While", {"cond", "body"}, true},
  };
  const RegionOpForm *form = llvm::find_if(forms, [&](const RegionOpForm &form) {
    return op->getName().getStringRef() == form.regions;
  });
  return form == std::end(forms) ? nullptr : form;
}

bool isYield(Operation &op) { return op.getName().getStringRef() == "tf.Yield"; }

/// Converts one operation.
class RegionOutliner {
public:
  RegionOutliner(Operation *op, const RegionOpForm &form, SymbolTable &symbols)
      : op(op), form(form), symbols(symbols), builder(op) {}

  LogicalResult run() {
    if (failed(check()))
      return failure();
    SmallVector<Attribute> functions;
    getUsedValuesDefinedAbove(op->getRegions(), captures);
    for (Region &region : op->getRegions())
      functions.push_back(FlatSymbolRefAttr::get(outline(region)));
    replace(functions);
    return success();
  }

private:
  bool isCondition(Region &region) const { return form.isLoop && region.getRegionNumber() == 0; }

  LogicalResult check() {
    bool isList = form.keys.size() == 1;
    if (!isList && op->getNumRegions() != form.keys.size())
      return op->emitError("op '") << form.regions << "' has " << op->getNumRegions()
                                   << " regions, expected " << form.keys.size();
    if (!form.isLoop && op->getNumOperands() != 1)
      return op->emitError("op '")
             << form.regions << "' has " << op->getNumOperands() << " operands, expected one";
    if (form.isLoop && op->getOperandTypes().size() != op->getNumResults())
      return op->emitError("op '")
             << form.regions << "' has " << op->getNumOperands() << " operands and "
             << op->getNumResults() << " results, expected equal numbers";
    for (Region &region : op->getRegions())
      if (failed(check(region)))
        return failure();
    return success();
  }

  LogicalResult check(Region &region) {
    auto problem = [&]() {
      return op->emitError("region ")
             << region.getRegionNumber() << " of '" << form.regions << "' ";
    };
    if (!region.hasOneBlock() || region.front().empty() || !isYield(region.front().back()))
      return problem() << "is not one block that ends in 'tf.Yield'";
    size_t arguments = form.isLoop ? op->getNumOperands() : 0;
    if (region.getNumArguments() != arguments)
      return problem() << "has " << region.getNumArguments() << " arguments, expected "
                       << arguments;
    size_t results = isCondition(region) ? 1 : op->getNumResults();
    if (region.front().back().getNumOperands() != results)
      return problem() << "yields " << region.front().back().getNumOperands()
                       << " values, expected " << results;
    return success();
  }

  /// Returns the original name of the region's function, or a new one.
  std::string nameFor(Region &region) const {
    StringRef part = form.keys.size() == 1 ? "branch" : form.keys[region.getRegionNumber()];
    part.consume_back("_branch");
    if (auto name = op->getAttrOfType<StringAttr>(("_" + part + "_func_name").str()))
      return name.str();
    return (op->getParentOfType<func::FuncOp>().getName() + "_" + part).str();
  }

  func::FuncOp outline(Region &region) {
    Block &block = region.front();
    Operation *yield = &block.back();
    SmallVector<Value> results(yield->getOperands());
    // A loop forwards the outside values that it uses.
    bool handsOn = form.isLoop && !isCondition(region);
    SmallVector<Type> resultTypes =
        llvm::map_to_vector(results, [](Value v) { return v.getType(); });
    for (Value capture : captures) {
      BlockArgument inner = block.addArgument(capture.getType(), capture.getLoc());
      replaceAllUsesInRegionWith(capture, inner, region);
      if (handsOn) {
        results.push_back(inner);
        resultTypes.push_back(inner.getType());
      }
    }
    // A yielded value may be a captured one.
    for (auto [result, operand] : llvm::zip(results, yield->getOperands()))
      result = operand;
    OpBuilder atEnd(yield);
    func::ReturnOp::create(atEnd, yield->getLoc(), results);
    yield->erase();
    auto type = builder.getFunctionType(block.getArgumentTypes(), resultTypes);
    auto function = func::FuncOp::create(op->getLoc(), nameFor(region), type);
    function.setPrivate();
    function.getBody().takeBody(region);
    symbols.insert(function);
    return function;
  }

  void replace(ArrayRef<Attribute> functions) {
    OperationState state(op->getLoc(), form.functional);
    state.addOperands(op->getOperands());
    state.addOperands(captures.getArrayRef());
    state.addTypes(op->getResultTypes());
    if (form.isLoop)
      for (Value capture : captures)
        state.addTypes(capture.getType());
    NamedAttrList attrs(op->getAttrDictionary());
    if (auto properties = dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute()))
      for (NamedAttribute attr : properties)
        attrs.set(attr.getName(), attr.getValue());
    if (form.keys.size() == 1)
      attrs.set(form.keys[0], builder.getArrayAttr(functions));
    else
      for (auto [key, function] : llvm::zip(form.keys, functions))
        attrs.set(key, function);
    state.addAttributes(attrs);
    Operation *made = builder.create(state);
    for (auto [from, to] : llvm::zip(op->getResults(), made->getResults()))
      from.replaceAllUsesWith(to);
    op->erase();
  }

  Operation *op;
  const RegionOpForm &form;
  SymbolTable &symbols;
  OpBuilder builder;
  llvm::SetVector<Value> captures;
};

} // namespace

LogicalResult graphdef::outlineTfRegions(ModuleOp module) {
  // Inner ones first: their captures are captures of the outer ones too.
  SmallVector<std::pair<Operation *, const RegionOpForm *>> found;
  module.walk([&](Operation *op) {
    if (const RegionOpForm *form = formOf(op))
      found.emplace_back(op, form);
  });
  if (found.empty())
    return success();
  SymbolTable symbols(module);
  for (auto [op, form] : found)
    if (failed(RegionOutliner(op, *form, symbols).run()))
      return failure();
  return success();
}
