#include "treadle/rewriting/LoopVariables.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/import/Keywords.h"
#include "treadle/rewriting/Rewriting.h"

using namespace mlir;

namespace treadle::tfg {

static ArrayAttr appended(ArrayAttr list, ArrayRef<Attribute> last) {
  SmallVector<Attribute> all(list.begin(), list.end());
  llvm::append_range(all, last);
  return ArrayAttr::get(list.getContext(), all);
}

BlockArgument appendArgument(FuncOp function, StringRef name, Type type) {
  MLIRContext *context = function.getContext();
  Builder builder(context);
  unsigned at = function.getNumArguments();
  if (auto shapes = function->getAttrOfType<ArrayAttr>(graphdef::inputShapesKey);
      shapes && shapes.size() == function.getNumDataArguments())
    function->setDiscardableAttr(graphdef::inputShapesKey,
                                 appended(shapes, tf_type::ShapeAttr::get(cast<ShapedType>(type))));
  DictionaryAttr named =
      builder.getDictionaryAttr(builder.getNamedAttr(argNameKeyword, builder.getStringAttr(name)));
  (void)function.insertArguments({at, at}, {type, tf_type::ControlType::get(context)},
                                 {named, builder.getDictionaryAttr({})},
                                 {function.getLoc(), function.getLoc()});
  return function.getDataArgument(function.getNumDataArguments() - 1);
}

static bool isResultName(FuncOp function, StringRef name) {
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto own = function.getResultAttrOfType<StringAttr>(i, argNameKeyword))
      if (own.getValue() == name)
        return true;
  return false;
}

void appendResult(FuncOp function, std::string name, Value value) {
  Builder builder(function.getContext());
  while (isResultName(function, name))
    name += "_";
  unsigned at = function.getReturn().getData().size();
  function.getReturn()->insertOperands(at, value);
  (void)function.insertResult(
      at, value.getType(),
      builder.getDictionaryAttr(builder.getNamedAttr(argNameKeyword, builder.getStringAttr(name))));
}

/// Returns the attributes of the loop, extended by variables of these types.
static SmallVector<NamedAttribute> attrsWith(Node loop, TypeRange more) {
  SmallVector<Attribute> dtypes, shapes;
  for (Type type : more) {
    dtypes.push_back(mlir::TypeAttr::get(getElementTypeOrSelf(type)));
    shapes.push_back(tf_type::ShapeAttr::get(cast<ShapedType>(type)));
  }
  SmallVector<NamedAttribute> attrs;
  for (NamedAttribute attr : loop.attrs()) {
    auto list = dyn_cast<ArrayAttr>(attr.getValue());
    StringRef key = attr.getName();
    if (key == "T" && list)
      attrs.emplace_back(attr.getName(), appended(list, dtypes));
    else if (key == "output_shapes" && list && list.size() == loop.numResults())
      attrs.emplace_back(attr.getName(), appended(list, shapes));
    else if (key != outputShapesKey && key != inputShapesKey &&
             attr.getName() != loop.dialect().fullTypeKey)
      attrs.push_back(attr);
  }
  return attrs;
}

Node withVariables(Node loop, ValueRange values) {
  OpBuilder builder(loop.getOperation());
  SmallVector<Value> inputs(loop.data());
  llvm::append_range(inputs, values);
  SmallVector<Type> types(loop.results().getTypes());
  llvm::append_range(types, values.getTypes());
  Node fresh = NodeBuilder(builder, loop.opType())
                   .placedAs(loop)
                   .attrs(attrsWith(loop, values.getTypes()))
                   .inputs(inputs)
                   .control(loop.control())
                   .results(types)
                   .build();
  for (auto [from, to] : llvm::zip(loop.results(), fresh.results()))
    from.replaceAllUsesWith(to);
  loop.controlResult().replaceAllUsesWith(fresh.controlResult());
  loop->erase();
  return fresh;
}

} // namespace treadle::tfg
