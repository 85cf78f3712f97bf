#include "treadle/rewriting/RegionForms.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Outline.h"

using namespace mlir;

namespace treadle::tfg {

static RegionForm formOf(OpKind kind) {
  switch (kind) {
  case OpKind::If:
    return RegionForm::If;
  case OpKind::Case:
    return RegionForm::Case;
  case OpKind::While:
    return RegionForm::While;
  default:
    return RegionForm::For;
  }
}

bool hasRegionForm(StringRef opType) {
  const OpDef *def = lookupOp(opType);
  return def && def->facts().hasRegionForm;
}

RegionNames regionNamesOfFunctional(StringRef opType) {
  return {opType.str(), (opType + "Region").str(), formOf(opKind(opType))};
}

RegionNames regionNamesOfRegion(StringRef opType) {
  opType.consume_back("Region");
  return regionNamesOfFunctional(opType);
}

const RegionAttrKeys &regionAttrKeys(RegionForm form) {
  static constexpr StringLiteral branches[] = {"then_branch", "else_branch"};
  static constexpr StringLiteral branchAttrs[] = {"then_attrs", "else_attrs"};
  static constexpr StringLiteral branchRegions[] = {"then_region_attrs", "else_region_attrs"};
  static constexpr StringLiteral ifTypes[] = {"Tcond", "Tin", "Tout"};
  static constexpr StringLiteral cases[] = {"branches"}, caseAttrs[] = {"branch_attrs"};
  static constexpr StringLiteral regions[] = {"region_attrs"};
  static constexpr StringLiteral caseTypes[] = {"Tin", "Tout"};
  static constexpr StringLiteral loop[] = {"cond", "body"},
                                 loopAttrs[] = {"cond_attrs", "body_attrs"};
  static constexpr StringLiteral loopRegions[] = {"cond_region_attrs", "body_region_attrs"};
  static constexpr StringLiteral loopTypes[] = {"T"};
  static constexpr StringLiteral body[] = {"body"}, bodyAttrs[] = {"body_attrs"};
  static const RegionAttrKeys ofIf = {false, branches, branchAttrs, branchRegions, ifTypes},
                              ofCase = {true, cases, caseAttrs, regions, caseTypes},
                              ofWhile = {false, loop, loopAttrs, loopRegions, loopTypes},
                              ofFor = {false, body, bodyAttrs, regions, loopTypes};
  switch (form) {
  case RegionForm::If:
    return ofIf;
  case RegionForm::Case:
    return ofCase;
  case RegionForm::While:
    return ofWhile;
  case RegionForm::For:
    return ofFor;
  }
  return ofIf;
}

unsigned firstArgumentOf(RegionForm form) {
  switch (form) {
  case RegionForm::If:
  case RegionForm::Case:
    return 1; // the predicate or branch index
  case RegionForm::While:
    return 0;
  case RegionForm::For:
    return 3; // start, limit, delta
  }
  return 0;
}

Attribute regionAttr(DictionaryAttr attrs, const RegionAttrKeys &keys,
                     ArrayRef<StringLiteral> which, unsigned region) {
  Attribute attr = attrs.get(keys.key(which, region));
  if (!keys.isList)
    return attr;
  auto list = dyn_cast_or_null<ArrayAttr>(attr);
  return list && region < list.size() ? list[region] : Attribute();
}

static std::string argumentName(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto function = dyn_cast<FuncOp>(parent))
    return function.getDataArgumentName(argument.getArgNumber() / 2).str();
  auto form = regionFormOf(parent);
  if (!form)
    return {};
  const RegionAttrKeys &keys = regionAttrKeys(*form);
  unsigned region = argument.getOwner()->getParent()->getRegionNumber();
  auto attrs = dyn_cast_or_null<RegionAttrsAttr>(
      regionAttr(parent->getAttrDictionary(), keys, keys.regionAttrs, region));
  if (!attrs || argument.getArgNumber() >= attrs.getArgAttrs().size())
    return {};
  auto own = cast<DictionaryAttr>(attrs.getArgAttrs()[argument.getArgNumber()]);
  auto name = own.getAs<StringAttr>(argNameKeyword);
  return name ? name.str() : std::string();
}

std::string operandName(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argumentName(argument);
  Node node(value.getDefiningOp());
  unsigned number = cast<OpResult>(value).getResultNumber();
  if (node.name().empty() || number == 0)
    return node.name().str();
  return (node.name() + ":" + Twine(number)).str();
}

RegionAttrsAttr regionAttrsOf(MLIRContext *context, StringRef function,
                              ArrayRef<std::string> arguments, ArrayRef<std::string> results) {
  Builder builder(context);
  auto entry = [&](StringRef key, StringRef value) {
    return builder.getDictionaryAttr(builder.getNamedAttr(key, builder.getStringAttr(value)));
  };
  auto named = [&](ArrayRef<std::string> names) {
    return builder.getArrayAttr(llvm::map_to_vector(names, [&](const std::string &name) {
      return Attribute(entry(argNameKeyword, argumentName(name)));
    }));
  };
  return RegionAttrsAttr::get(context, entry("sym_name", function), named(arguments),
                              named(results));
}

DictionaryAttr preservedAttrs(FuncOp function) {
  NamedAttrList kept;
  StringRef dropped[] = {function.getFunctionTypeAttrName(), function.getArgAttrsAttrName(),
                         function.getResAttrsAttrName()};
  for (NamedAttribute attr : function->getAttrs())
    if (!llvm::is_contained(dropped, attr.getName()))
      kept.append(attr);
  return kept.getDictionary(function.getContext());
}

bool areCompatible(TypeRange left, TypeRange right) {
  return left.size() == right.size() && llvm::all_of(llvm::zip(left, right), [](auto types) {
           return tf_type::areCompatible(std::get<0>(types), std::get<1>(types));
         });
}

bool isPredicate(Value value) {
  auto tensor = dyn_cast<TensorType>(value.getType());
  return tensor && tensor.getElementType().isSignlessInteger(1);
}

} // namespace treadle::tfg
