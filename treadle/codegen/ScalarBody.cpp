#include "treadle/codegen/ScalarBody.h"
#include "treadle/codegen/Elementwise.h"
#include "treadle/codegen/Rc.h"
#include "treadle/codegen/Writes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace treadle::codegen {

tfg::FuncOp scalarFunction(Translator &t, tfg::Node node, StringRef attr) {
  auto name = node.attr<tf_type::FuncAttr>(attr);
  return name ? t.find(name.getName().getRootReference().getValue()) : tfg::FuncOp();
}

std::optional<SmallVector<Value>> inlineScalars(Translator &t, tfg::Node node, StringRef attr,
                                                ArrayRef<Value> arguments) {
  tfg::FuncOp function = scalarFunction(t, node, attr);
  if (!function)
    return std::nullopt;
  Values typed;
  for (Value argument : arguments)
    typed.push_back({argument, KnownValue(Shape::scalar())});
  Expected<Values> results = t.inlineFunction(function, typed);
  if (!results)
    return std::nullopt;
  SmallVector<Value> values;
  for (const TracedValue &result : *results) {
    if (result.list || !isNative(result.value.getType()))
      return std::nullopt;
    values.push_back(result.value);
  }
  return values;
}

bool isAllowedPerElement(Operation *op) {
  return !isa<rc::KernelOp, rc::CheckOp, rc::WriteOp, scf::WhileOp>(op) &&
         llvm::none_of(op->getResultTypes(), isTensor);
}

std::optional<SmallVector<Value>> generateAll(Translator &t, ArrayRef<int64_t> shape,
                                              ArrayRef<Type> elements, ElementsAt elementsAt) {
  SmallVector<Value> outputs;
  for (Type element : elements)
    outputs.push_back(tensor::EmptyOp::create(t.b, t.loc, shape, element));
  auto rank = static_cast<unsigned>(shape.size());
  bool isMade = true;
  size_t numKernels = t.tables.kernels.size();
  auto generic = linalg::GenericOp::create(
      t.b, t.loc, ValueRange(outputs).getTypes(), ValueRange(), outputs,
      SmallVector<AffineMap>(outputs.size(), t.b.getMultiDimIdentityMap(rank)),
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
      [&](OpBuilder &inner, Location loc, ValueRange in) {
        OpBuilder::InsertionGuard guard(t.b);
        t.b.restoreInsertionPoint(inner.saveInsertionPoint());
        SmallVector<Value> at;
        for (unsigned i = 0; i < rank; ++i)
          at.push_back(linalg::IndexOp::create(t.b, loc, i));
        std::optional<SmallVector<Value>> made = elementsAt(at);
        isMade = made.has_value();
        linalg::YieldOp::create(t.b, loc, made ? *made : SmallVector<Value>(in));
      });
  generic.getRegion().walk([&](Operation *inner) { isMade &= isAllowedPerElement(inner); });
  if (isMade)
    return SmallVector<Value>(generic.getResults());
  generic.erase();
  t.tables.kernels.resize(numKernels);
  return std::nullopt;
}

Value writeTensor(Translator &t, const TracedValue &tensor, ArrayRef<Value> sizes, bool isParallel,
                  Fill fill) {
  Type type = tensor.value.getType();
  auto op = rc::WriteOp::create(t.b, t.loc, TypeRange(type), tensor.value, sizes, isParallel);
  SmallVector<Type> arguments(sizes.size() + 1, t.b.getIndexType());
  arguments.front() = type;
  size_t numKernels = t.tables.kernels.size();
  bool isFilled;
  {
    OpBuilder::InsertionGuard guard(t.b);
    Block *block = t.b.createBlock(&op.getBody(), {}, arguments,
                                   SmallVector<Location>(arguments.size(), t.loc));
    isFilled = fill(block->getArgument(0), block->getArguments().drop_front());
  }
  op.getBody().walk([&](Operation *inner) { isFilled &= isAllowedPerElement(inner); });
  if (isFilled)
    return op->getResult(0);
  op.erase();
  t.tables.kernels.resize(numKernels);
  return {};
}

} // namespace treadle::codegen
