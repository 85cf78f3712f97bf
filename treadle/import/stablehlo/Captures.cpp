// Converts scalar functions that use outside values. TensorFlow's ops pass only elements to such a
// function, so each captured value becomes one more input with the same value for all elements.
#include "treadle/import/stablehlo/Tables.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

namespace {

/// The operands of an op with such a function that are captured values.
struct CaptureForm {
  StringRef op;
  bool hasInits;  // one initial value per input, after all inputs
  bool arePaired; // the function takes two elements of each input, side by side
};
constexpr CaptureForm forms[] = {
    {"reduce", true, false}, {"reduce_window", true, false}, {"sort", false, true}};

Value broadcast(OpBuilder &builder, Value scalar, RankedTensorType like) {
  OperationState state(scalar.getLoc(), "stablehlo.broadcast_in_dim");
  state.addOperands(scalar);
  state.addTypes(like.clone(elementOf(scalar.getType())));
  state.addAttribute("broadcast_dimensions", builder.getDenseI64ArrayAttr({}));
  return builder.create(state)->getResult(0);
}

/// Adds arguments for the captures: after each half of the block's own, or as pairs at the end.
void addArguments(Block &block, ValueRange captures, const CaptureForm &form, unsigned count) {
  SmallVector<Value> inside;
  for (auto [i, capture] : llvm::enumerate(captures)) {
    Location loc = capture.getLoc();
    Type type = capture.getType();
    inside.push_back(form.arePaired
                         ? block.addArgument(type, loc)
                         : block.insertArgument(count + static_cast<unsigned>(i), type, loc));
    if (form.arePaired)
      block.addArgument(type, loc);
  }
  if (!form.arePaired)
    for (Value capture : captures)
      block.addArgument(capture.getType(), capture.getLoc());
  for (auto [capture, argument] : llvm::zip(captures, inside))
    replaceAllUsesInRegionWith(capture, argument, *block.getParent());
  if (form.arePaired)
    return;
  SmallVector<Value> given(block.back().getOperands());
  llvm::append_range(given, inside);
  block.back().setOperands(given);
}

} // namespace

/// Returns the op with captures as inputs; its first results are those of `op`.
static Operation *withInputs(Operation *op, ValueRange captures, const CaptureForm &form,
                             SmallVector<Operation *> &made) {
  OpBuilder builder(op);
  auto like = cast<RankedTensorType>(op->getOperand(0).getType());
  unsigned count = op->getNumResults();
  SmallVector<Value> operands(op->getOperands().take_front(count));
  SmallVector<Type> types(op->getResultTypes());
  for (Value capture : captures) {
    operands.push_back(broadcast(builder, capture, like));
    made.push_back(operands.back().getDefiningOp());
    auto result = cast<RankedTensorType>(op->getResult(0).getType());
    types.push_back(result.clone(elementOf(capture.getType())));
  }
  llvm::append_range(operands, op->getOperands().drop_front(count));
  if (form.hasInits)
    llvm::append_range(operands, captures);
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(types);
  state.addAttributes(op->getAttrs());
  IRMapping mapping;
  op->getRegion(0).cloneInto(state.addRegion(), mapping);
  Operation *wide = builder.create(state);
  addArguments(wide->getRegion(0).front(), captures, form, count);
  made.push_back(wide);
  return wide;
}

LogicalResult hlo::readWithCaptures(BodyConverter &body, Operation *op, ValueRange captures) {
  StringRef name = op->getName().stripDialect();
  const CaptureForm *form =
      llvm::find_if(forms, [&](const CaptureForm &row) { return row.op == name; });
  auto like = op->getNumOperands() ? dyn_cast<RankedTensorType>(op->getOperand(0).getType())
                                   : RankedTensorType();
  auto isScalar = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.getRank() == 0;
  };
  unsigned perInput = form->hasInits ? 2 : 1;
  if (op->getNumResults() == 0 || op->getNumOperands() != perInput * op->getNumResults() ||
      !llvm::hasSingleElement(op->getRegion(0)))
    return op->emitError("it has ")
           << op->getNumOperands() << " operands and " << op->getNumResults() << " results";
  if (!like || !like.hasStaticShape() || !llvm::all_of(captures, isScalar))
    return unimplementedOp(op) << " whose region captures values that aren't scalars, or whose "
                                  "input has a dynamic shape";
  SmallVector<Operation *> made;
  Operation *wide = withInputs(op, captures, *form, made);
  return readInPlaceOf(body, op, made, wide->getResults());
}
