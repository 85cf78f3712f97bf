#include "treadle/dialect/NodeAttributes.h"

#include "treadle/dialect/RegionSyntax.h"

using namespace mlir;

namespace treadle::tfg {

ArrayAttr statedShapes(Attribute attr, size_t count) {
  auto shapes = dyn_cast_or_null<ArrayAttr>(attr);
  bool fits =
      shapes && shapes.size() == count && llvm::all_of(shapes, llvm::IsaPred<tf_type::ShapeAttr>);
  return fits ? shapes : nullptr;
}

SmallVector<StringRef> operandNames(Operation *conditional) {
  auto list = conditional->getAttrOfType<ArrayAttr>(operandsKey);
  return llvm::map_to_vector(list ? list.getValue() : ArrayRef<Attribute>(), [](Attribute entry) {
    auto text = dyn_cast<StringAttr>(entry);
    return text ? text.getValue() : StringRef();
  });
}

ProblemAttr programProblem(Node node) {
  return node.opType() == "XlaCallModule" ? node.attr<ProblemAttr>(problemKey) : ProblemAttr();
}

static bool isBool(Value value) { return getElementTypeOrSelf(value).isInteger(1); }

bool isLoopCondition(Node node) {
  auto shape = node.attr<tf_type::ShapeAttr>("shape");
  return node.attr(loopConditionKey) && node.opType() == "EnsureShape" && shape &&
         shape.hasRank() && shape.getDims().empty() && node.numResults() == 1 &&
         isBool(node->getResult(0));
}

bool takesPredicate(Node conditional) {
  return conditional.attr(switchKey) && conditional.numData() != 0 &&
         isBool(conditional.data().front());
}

LogicalResult OpTraitsAttr::verify(function_ref<InFlightDiagnostic()> emitError, BoolAttr, BoolAttr,
                                   ArrayAttr reads, ArrayAttr writes) {
  for (ArrayAttr names : {reads, writes})
    if (!llvm::all_of(names, llvm::IsaPred<StringAttr>))
      return emitError() << "found " << names << ", expected the names of resources";
  return success();
}

template <typename Kind> static bool isOf(Attribute attr) { return isa<Kind>(attr); }

LogicalResult verifyNotes(Node node) {
  struct Note {
    StringLiteral key;
    bool (*fits)(Attribute);
    StringLiteral expected;
  };
  static constexpr Note notes[] = {
      {problemKey, isOf<ProblemAttr>, "a #tfg.problem"},
      {opTraitsKey, isOf<OpTraitsAttr>, "a #tfg.op_traits"},
      {loopConditionKey, isOf<UnitAttr>, "a unit"},
      {switchKey, isOf<UnitAttr>, "a unit"},
      {regionPredicateKey, isOf<UnitAttr>, "a unit"},
      {staysFunctionalKey, isOf<UnitAttr>, "a unit"},
      {fromFrameKey, isOf<BoolAttr>, "a bool"},
      {toFrameKey, isOf<BoolAttr>, "a bool"},
      {ownNamesKey, isOf<UnitAttr>, "a unit"},
      {legacyCallKey, isOf<FlatSymbolRefAttr>, "a symbol"},
  };
  for (NamedAttribute named : node.attrs())
    if (named.getName().strref().starts_with("tfg."))
      for (const Note &note : notes)
        if (named.getName() == note.key && !note.fits(named.getValue()))
          return emitNodeError(node) << "attribute '" << note.key << "' is " << named.getValue()
                                     << ", expected " << note.expected;
  return success();
}

} // namespace treadle::tfg
