#include "treadle/transforms/hoist_loop_invariants/TotalOps.h"

#include "treadle/analysis/shapes/TypeShapes.h"
#include "treadle/ops/OpTable.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

bool areNumbers(Node node) {
  return llvm::all_of(node.data(), [](Value value) {
    auto type = dyn_cast<TensorType>(value.getType());
    return type &&
           (type.getElementType().isIntOrFloat() || isa<ComplexType>(type.getElementType()));
  });
}

bool fitTogether(const Shape &a, const Shape &b) {
  bool hasScalar = (a.hasRank() && a.rank() == 0) || (b.hasRank() && b.rank() == 0);
  return hasScalar || (a.isStatic() && b.isStatic() && broadcast(a, b));
}

bool multipliesMatrices(Node node) {
  auto flag = [&](StringRef key) {
    auto attr = node.attr<BoolAttr>(key);
    return attr && attr.getValue();
  };
  Shape a = shapeOf(node->getOperand(0).getType()), b = shapeOf(node->getOperand(1).getType());
  int64_t inner = a.dim(flag("transpose_a") ? 0 : 1);
  return a.hasRank() && b.hasRank() && a.rank() == 2 && b.rank() == 2 && inner != Shape::unknown &&
         inner == b.dim(flag("transpose_b") ? 1 : 0);
}

} // namespace

bool isTotal(Node node) {
  const OpDef *def = lookupOp(node.opType());
  switch (def ? def->facts().totality : Totality::MayFail) {
  case Totality::MayFail:
    return false;
  case Totality::Always:
    return true;
  case Totality::Numbers:
    return areNumbers(node) && node.numData() == 1;
  case Totality::Broadcast:
    return areNumbers(node) && node.numData() == 2 &&
           fitTogether(shapeOf(node->getOperand(0).getType()),
                       shapeOf(node->getOperand(1).getType()));
  case Totality::Product:
    return areNumbers(node) && node.numData() == 2 && multipliesMatrices(node);
  }
  return false;
}

} // namespace treadle::tfg
