// tfg-consolidate-attrs and tfg-prepare-attrs-export: shapes and handle data as types and as
// attributes.
#include "treadle/analysis/shapes/TypeShapes.h"
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/import/Keywords.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/transforms/Passes.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_CONSOLIDATEATTRS
#define GEN_PASS_DEF_PREPAREATTRSEXPORT
#include "treadle/transforms/Passes.h.inc"

namespace tfg {
namespace {

Attribute shapeOf(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? Attribute(tf_type::ShapeAttr::get(shaped)) : Attribute();
}

ArrayAttr shapesOf(MLIRContext *context, TypeRange types) {
  SmallVector<Attribute> shapes;
  for (Type type : types)
    shapes.push_back(shapeOf(type));
  return ArrayAttr::get(context, shapes);
}

/// Returns the type refined by the shape, or the type itself if they contradict each other.
Type refined(Type type, Attribute shape) {
  auto tensor = dyn_cast<TensorType>(type);
  if (!tensor)
    return type;
  Type stated = cast<tf_type::ShapeAttr>(shape).tensorOf(tensor.getElementType());
  if (!tf_type::areCompatible(tensor, stated))
    return type;
  return tfg::tensorOf(meet(tfg::shapeOf(Type(tensor)), tfg::shapeOf(stated)),
                       tensor.getElementType());
}

// --- attributes to types -----------------------------------------------------------------------

class Consolidation {
public:
  explicit Consolidation(MLIRContext *context) : unit(UnitAttr::get(context)) {}

  /// Shapes that types can't express stay attributes.
  void fold(Node node) {
    ArrayAttr shapes = statedShapes(node.attr(outputShapesKey), node.numResults());
    if (!shapes || shapes.empty())
      return;
    for (auto [result, shape] : llvm::zip(node.results(), shapes))
      result.setType(refined(result.getType(), shape));
    if (shapesOf(unit.getContext(), node.results().getTypes()) != shapes)
      return;
    node->removeDiscardableAttr(outputShapesKey);
    node->setDiscardableAttr(regenerateNodeKey, unit);
  }

  void fold(FuncOp function) {
    unsigned count = function.getNumDataArguments();
    ArrayAttr shapes = statedShapes(function->getDiscardableAttr(graphdef::inputShapesKey), count);
    SmallVector<Type> types;
    for (unsigned i = 0; i < count; ++i) {
      BlockArgument argument = function.getDataArgument(i);
      if (shapes)
        argument.setType(refined(argument.getType(), shapes[i]));
      foldArgument(function, i);
      types.push_back(argument.getType());
    }
    if (shapes && shapesOf(unit.getContext(), types) == shapes) {
      function->removeDiscardableAttr(graphdef::inputShapesKey);
      function->setDiscardableAttr(regenerateInputsKey, unit);
    }
    function.setFunctionType(FunctionType::get(unit.getContext(),
                                               function.getEntry().getArgumentTypes(),
                                               function.getReturn().getData().getTypes()));
  }

private:
  void foldArgument(FuncOp function, unsigned index) {
    BlockArgument argument = function.getDataArgument(index);
    if (auto shapes = statedShapes(function.getArgAttr(2 * index, argShapesKey), 1)) {
      argument.setType(refined(argument.getType(), shapes[0]));
      if (shapeOf(argument.getType()) == shapes[0]) {
        function.removeArgAttr(2 * index, argShapesKey);
        function.setArgAttr(2 * index, regenerateArgKey, unit);
      }
    }
    auto data = function.getArgAttrOfType<ArrayAttr>(2 * index, graphdef::argHandleDataKey);
    auto tensor = dyn_cast<TensorType>(argument.getType());
    if (!data || !tensor || !isa<tf_type::ResourceType>(tensor.getElementType()))
      return;
    SmallVector<TensorType> held;
    for (Attribute type : data)
      held.push_back(cast<TensorType>(cast<mlir::TypeAttr>(type).getValue()));
    argument.setType(tensor.clone(tf_type::ResourceType::get(unit.getContext(), held)));
    function.removeArgAttr(2 * index, graphdef::argHandleDataKey);
    function.setArgAttr(2 * index, regenerateHandleKey, unit);
  }

  UnitAttr unit;
};

// --- types to attributes -----------------------------------------------------------------------

class Preparation {
public:
  Preparation(MLIRContext *context, bool all) : context(context), all(all) {}

  void write(Node node) {
    bool isWanted = node->removeDiscardableAttr(regenerateNodeKey) != nullptr;
    if ((isWanted || all) && node.numResults() != 0)
      node->setDiscardableAttr(outputShapesKey, shapesOf(context, node.results().getTypes()));
  }

  void write(FuncOp function) {
    SmallVector<Type> types;
    for (unsigned i = 0, e = function.getNumDataArguments(); i < e; ++i) {
      Type type = function.getDataArgument(i).getType();
      types.push_back(type);
      if (function.removeArgAttr(2 * i, regenerateArgKey))
        function.setArgAttr(2 * i, argShapesKey, shapesOf(context, type));
      if (function.removeArgAttr(2 * i, regenerateHandleKey))
        writeHandleData(function, i);
    }
    bool isWanted = function->removeDiscardableAttr(regenerateInputsKey) != nullptr;
    if ((isWanted || all) && !types.empty())
      function->setDiscardableAttr(graphdef::inputShapesKey, shapesOf(context, types));
  }

private:
  void writeHandleData(FuncOp function, unsigned index) {
    auto tensor = dyn_cast<TensorType>(function.getDataArgument(index).getType());
    auto resource = tensor ? dyn_cast<tf_type::ResourceType>(tensor.getElementType()) : nullptr;
    if (!resource)
      return;
    SmallVector<Attribute> held;
    for (TensorType type : resource.getSubtypes())
      held.push_back(mlir::TypeAttr::get(type));
    function.setArgAttr(2 * index, graphdef::argHandleDataKey, ArrayAttr::get(context, held));
  }

  MLIRContext *context;
  bool all;
};

} // namespace
} // namespace tfg

namespace {

template <typename Visitor> void visitAll(ModuleOp module, Visitor visitor) {
  // Nodes first: the results of a function have their types.
  tfg::forEachBody(module, [&](Block &body) {
    for (Operation &op : body)
      if (tfg::Node::isNode(&op))
        visitor(tfg::Node(&op));
  });
  for (auto function : module.getOps<tfg::FuncOp>())
    if (!function.getGeneric() && !function.isExternal())
      visitor(function);
}

struct ConsolidateAttrs : impl::ConsolidateAttrsBase<ConsolidateAttrs> {
  void runOnOperation() override {
    tfg::Consolidation consolidation(&getContext());
    visitAll(getOperation(), [&](auto op) { consolidation.fold(op); });
  }
};

struct PrepareAttrsExport : impl::PrepareAttrsExportBase<PrepareAttrsExport> {
  using Base::Base;

  void runOnOperation() override {
    tfg::Preparation preparation(&getContext(), all);
    visitAll(getOperation(), [&](auto op) { preparation.write(op); });
  }
};

} // namespace
} // namespace treadle
