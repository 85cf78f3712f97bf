#include "treadle/import/stablehlo/SourceOps.h"

#include "treadle/dialect/stablehlo/StableHlo.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace treadle::hlo {

Value makeOp(OpBuilder &builder, Location location, StringRef name, ValueRange operands,
             Type result, ArrayRef<NamedAttribute> attributes) {
  OperationState state(location, name);
  state.addOperands(operands);
  state.addTypes(result);
  state.addAttributes(attributes);
  return builder.create(state)->getResult(0);
}

Type withElement(Type type, Type element) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? Type(shaped.clone(element)) : element;
}

StringRef hloName(Operation *op) {
  return stablehlo::isHlo(op) ? op->getName().stripDialect() : StringRef();
}

bool isMove(Operation *op) {
  static const llvm::StringSet<> moves = {"after_all",
                                          "all_gather",
                                          "all_to_all",
                                          "broadcast",
                                          "broadcast_in_dim",
                                          "collective_broadcast",
                                          "collective_permute",
                                          "composite",
                                          "concatenate",
                                          "constant",
                                          "custom_call",
                                          "dynamic_broadcast_in_dim",
                                          "dynamic_gather",
                                          "dynamic_pad",
                                          "dynamic_reshape",
                                          "dynamic_slice",
                                          "dynamic_update_slice",
                                          "gather",
                                          "get_dimension_size",
                                          "get_tuple_element",
                                          "infeed",
                                          "optimization_barrier",
                                          "outfeed",
                                          "pad",
                                          "real_dynamic_slice",
                                          "recv",
                                          "reshape",
                                          "return",
                                          "reverse",
                                          "send",
                                          "set_dimension_size",
                                          "slice",
                                          "top_k",
                                          "topk",
                                          "torch_index_select",
                                          "transpose",
                                          "tuple"};
  StringRef dialect = op->getName().getDialectNamespace();
  return op->getNumRegions() || moves.contains(hloName(op)) ||
         llvm::is_contained({"func", "check", "interpreter", "sdy", "tensor", "shape"}, dialect);
}

static Type convertedIn(Type type, llvm::function_ref<Type(Type)> convert) {
  Type element = getElementTypeOrSelf(type), converted = convert(element);
  return converted == element ? type : withElement(type, converted);
}

void replaceElementTypes(ModuleOp module, llvm::function_ref<Type(Type)> convert) {
  auto convertAll = [&](TypeRange types) {
    return llvm::map_to_vector(types, [&](Type type) { return convertedIn(type, convert); });
  };
  module.walk([&](Operation *op) {
    for (Value result : op->getResults())
      result.setType(convertedIn(result.getType(), convert));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setType(convertedIn(argument.getType(), convert));
    if (auto function = dyn_cast<func::FuncOp>(op))
      function.setFunctionType(FunctionType::get(op->getContext(),
                                                 convertAll(function.getArgumentTypes()),
                                                 convertAll(function.getResultTypes())));
  });
}

bool hasElementType(ModuleOp module, llvm::function_ref<bool(Type)> predicate) {
  auto anyOf = [&](TypeRange types) {
    return llvm::any_of(types, [&](Type type) { return predicate(getElementTypeOrSelf(type)); });
  };
  return module
      .walk([&](Operation *op) {
        bool found = anyOf(op->getResultTypes());
        for (Region &region : op->getRegions())
          for (Block &block : region)
            found |= anyOf(block.getArgumentTypes());
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace treadle::hlo
