// Converts calls of LAPACK, and ops that map directly to such calls.
#include "treadle/import/stablehlo/Lapack.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

/// The routines that XlaCustomCallV2 supports, without the prefix for the type.
static constexpr StringRef routines[] = {
    "potrf", "getrf", "geqrf", "geqp3", "orgqr", "ungqr", "ormqr", "unmqr", "sytrd", "hetrd",
    "gehrd", "trsm",  "gtsv",  "syevd", "heevd", "gesdd", "gesvd", "geev",  "gees"};

bool hlo::isLapackCall(StringRef target) {
  if (target == "tridiagonal_solve_perturbed_ffi")
    return true;
  if (!target.consume_front("lapack_") || !target.consume_back("_ffi") || target.empty())
    return false;
  return StringRef("sdcz").contains(target.front()) &&
         llvm::is_contained(routines, target.drop_front());
}

std::string hlo::optionsOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (StringRef key : {"mhlo.backend_config", "backend_config"})
    if (auto fields = op->getAttrOfType<DictionaryAttr>(key))
      for (NamedAttribute field : fields)
        if (auto number = dyn_cast<IntegerAttr>(field.getValue()))
          out << field.getName().getValue() << '=' << number.getValue().getZExtValue() << ';';
  return text;
}

/// Calls the routine for the type of its first operand.
static SmallVector<Value> callLapack(BodyConverter &body, StringRef target, const Twine &options,
                                     ValueRange inputs, TypeRange types) {
  Builder &builder = body.builder;
  SmallVector<Attribute> shapes;
  for (Type type : types)
    shapes.push_back(tf_type::ShapeAttr::get(cast<ShapedType>(type)));
  Attrs attrs;
  attrs.append("call_target_name", builder.getStringAttr(target));
  attrs.append("backend_config", builder.getStringAttr(options));
  attrs.append("has_side_effect", builder.getBoolAttr(false));
  attrs.append("result_shapes", builder.getArrayAttr(shapes));
  return body.nodes("XlaCustomCallV2", inputs, types, attrs);
}

LogicalResult hlo::readLapackCall(BodyConverter &body, Operation *op) {
  // If sizes are dynamic, trailing operands specify the result shapes.
  SmallVector<int64_t> sizes = numbers(op, "indices_of_shape_operands");
  SmallVector<Value> inputs;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (!llvm::is_contained(sizes, static_cast<int64_t>(i)))
      inputs.push_back(body.of(operand));
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(body.typeOf(type));
  SmallVector<Value> results =
      callLapack(body, word(op, "call_target_name"), optionsOf(op), inputs, types);
  for (auto [from, to] : llvm::zip(op->getResults(), results))
    body.map(from, to);
  return success();
}

static Value conjugateTransposed(BodyConverter &body, Value x) {
  RankedTensorType type = rankedOf(x);
  SmallVector<int64_t> order, shape(type.getShape());
  for (int64_t i = 0; i < type.getRank(); ++i)
    order.push_back(i);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return body.node(isComplex(type.getElementType()) ? "ConjugateTranspose" : "Transpose",
                   {x, body.vector(order)}, type.clone(shape));
}

/// The upper factor is the transpose of the lower factor of the transposed matrix: both read the
/// same half.
LogicalResult hlo::readCholesky(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  bool isLower = numberOr(op, "lower", 0);
  Value factor = body.like("Cholesky", isLower ? x : conjugateTransposed(body, x));
  body.map(op->getResult(0), isLower ? factor : conjugateTransposed(body, factor));
  return success();
}

LogicalResult hlo::readTriangularSolve(BodyConverter &body, Operation *op) {
  Value a = input(body, op, 0), b = input(body, op, 1);
  Type given = elementOf(a);
  if (given.isF16() || given.isBF16()) { // not supported by LAPACK
    a = body.cast(a, body.builder.getF32Type());
    b = body.cast(b, body.builder.getF32Type());
  }
  Type element = elementOf(a);
  bool isDouble = element.isF64() || element == ComplexType::get(body.builder.getF64Type());
  if (!isDouble && !element.isF32() && element != ComplexType::get(body.builder.getF32Type()))
    return unimplementedOp(op) << " of " << element;
  StringRef type = isComplex(element) ? (isDouble ? "z" : "c") : (isDouble ? "d" : "s");
  StringRef form = word(op, "transpose_a");
  char trans = form == "TRANSPOSE" ? 'T' : form == "ADJOINT" ? 'C' : 'N';
  char side = numberOr(op, "left_side", 1) ? 'L' : 'R', uplo = numberOr(op, "lower", 0) ? 'L' : 'U',
       diag = numberOr(op, "unit_diagonal", 0) ? 'U' : 'N';
  std::string options = ("side=" + Twine(int(side)) + ";uplo=" + Twine(int(uplo)) +
                         ";trans_x=" + Twine(int(trans)) + ";diag=" + Twine(int(diag)))
                            .str();
  std::string target = ("lapack_" + type + "trsm_ffi").str();
  Value solution = callLapack(body, target, options, {a, b}, b.getType()).front();
  return done(body, op, body.cast(solution, given));
}
