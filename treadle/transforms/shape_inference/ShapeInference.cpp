#include "treadle/analysis/shapes/TypeShapes.h"
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/lowering/Lowering.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/shape_inference/ShapeAnalysis.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_SHAPEINFERENCE
#include "treadle/transforms/Passes.h.inc"

namespace {

struct ShapeInference : impl::ShapeInferenceBase<ShapeInference> {
  using Base::Base;

  void runOnOperation() override {
    tfg::ShapeAnalysis analysis(getOperation());
    ModuleIndex index(getOperation());
    for (const std::string &feed : feeds) {
      Expected<ValueName> name = parseValueName(feed);
      if (!name) {
        emitError(UnknownLoc::get(&getContext())) << name.error().message;
        return signalPassFailure();
      }
      tfg::Node node = index.node(name->node);
      if (node && !isPlaceholder(node) && static_cast<unsigned>(name->output) < node.numResults())
        analysis.setFed(node->getResult(name->output));
    }
    analysis.run();
    // Collects all types before changing any, because the analysis depends on types.
    SmallVector<std::pair<Value, Type>> refined;
    tfg::forEachBody(getOperation(), [&](Block &body) {
      for (auto &[value, known] : analysis.shapesOf(body))
        if (auto type = dyn_cast<TensorType>(value.getType());
            type && known.shape.hasRank() && tfg::shapeOf(type) != known.shape)
          refined.emplace_back(value, tfg::tensorOf(known.shape, type.getElementType()));
    });
    for (auto [value, type] : refined)
      value.setType(type);
    for (auto function : getOperation().getOps<tfg::FuncOp>())
      if (!function.getGeneric() && !function.isExternal())
        updateSignature(function);
    if (outputShapes)
      tfg::forEachBody(getOperation(), writeOutputShapes);
  }

private:
  static void updateSignature(tfg::FuncOp function) {
    SmallVector<Type> results;
    for (auto [declared, value] :
         llvm::zip(function.getResultTypes(), function.getReturn().getData())) {
      auto type = dyn_cast<TensorType>(declared);
      Shape shape = meet(tfg::shapeOf(declared), tfg::shapeOf(value.getType()));
      results.push_back(type ? Type(tfg::tensorOf(shape, type.getElementType())) : declared);
    }
    function.setFunctionType(
        FunctionType::get(function.getContext(), function.getEntry().getArgumentTypes(), results));
  }

  static void writeOutputShapes(Block &body) {
    for (Operation &op : body) {
      if (!tfg::Node::isNode(&op) || tfg::Node(&op).numResults() == 0)
        continue;
      SmallVector<Attribute> shapes;
      for (Value result : tfg::Node(&op).results())
        shapes.push_back(tf_type::ShapeAttr::get(cast<ShapedType>(result.getType())));
      op.setDiscardableAttr(tfg::outputShapesKey, ArrayAttr::get(op.getContext(), shapes));
    }
  }
};

} // namespace
} // namespace treadle
