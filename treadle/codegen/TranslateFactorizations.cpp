// Factorizations of small matrices and solutions of small linear systems, unrolled to scalar code.
// They are computed in double precision, as in the kernels.
#include "treadle/codegen/ComplexForms.h"
#include "treadle/codegen/Elementwise.h"
#include "treadle/codegen/Translator.h"
#include "treadle/codegen/Writes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

/// Larger matrices are left to their kernels.
constexpr int64_t maxRows = 5, maxColumns = 8;

struct Matrix {
  int64_t rows, columns;
  SmallVector<Value> elements; // row-major

  Value &at(int64_t row, int64_t column) { return elements[row * columns + column]; }
  Value at(int64_t row, int64_t column) const { return elements[row * columns + column]; }

  Matrix transposed() const {
    Matrix result{columns, rows, elements};
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        result.at(j, i) = at(i, j);
    return result;
  }
};

bool isComplex(Value value) { return isa<ComplexType>(value.getType()); }

/// Emits arithmetic in double precision, some of it also on complex numbers.
struct DoubleEmitter {
  OpBuilder &b;
  Location loc;

  Value number(double value) { return arith::ConstantOp::create(b, loc, b.getF64FloatAttr(value)); }
  Value integer(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value mul(Value x, Value y) {
    if (isComplex(x))
      return complexOf(b, loc, complexProduct(b, loc, partsOf(b, loc, x), partsOf(b, loc, y)));
    return arith::MulFOp::create(b, loc, x, y);
  }
  Value sub(Value x, Value y) {
    if (isComplex(x))
      return findComplexForm("sub")->emit(b, loc, {x, y}, x.getType());
    return arith::SubFOp::create(b, loc, x, y);
  }
  Value div(Value x, Value y) {
    if (isComplex(x))
      return findComplexForm("divide")->emit(b, loc, {x, y}, x.getType());
    return arith::DivFOp::create(b, loc, x, y);
  }
  /// Returns a number that grows with the absolute value: its square for complex numbers.
  Value size(Value x) {
    if (!isComplex(x))
      return math::AbsFOp::create(b, loc, x);
    auto [real, imaginary] = partsOf(b, loc, x);
    return arith::AddFOp::create(b, loc, mul(real, real), mul(imaginary, imaginary));
  }
  Value root(Value x) { return math::SqrtOp::create(b, loc, x); }
  Value isMore(Value x, Value y) {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, y);
  }
  Value isZero(Value x) {
    if (isComplex(x)) {
      auto [real, imaginary] = partsOf(b, loc, x);
      return arith::AndIOp::create(b, loc, isZero(real), isZero(imaginary));
    }
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, number(0));
  }
  Value isEqual(Value x, Value y) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y);
  }
  Value select(Value condition, Value x, Value y) { return selected(b, loc, condition, x, y); }
};

/// L and U in one matrix, with partial pivoting. Also holds, for each step, the 0-based number of
/// the row that was swapped with its own, as int32, and whether any row was swapped.
struct Factors {
  Matrix packed;
  SmallVector<Value> pivots;
  Value firstZero; // the 1-based number of the first step without a pivot; 0 if all have one
};

Factors factor(DoubleEmitter &s, Matrix a) {
  Factors result{std::move(a), {}, s.integer(0)};
  Matrix &m = result.packed;
  for (int64_t k = 0; k < std::min(m.rows, m.columns); ++k) {
    Value pivot = s.integer(k), largest = s.size(m.at(k, k));
    for (int64_t i = k + 1; i < m.rows; ++i) {
      Value size = s.size(m.at(i, k)), isLarger = s.isMore(size, largest);
      pivot = s.select(isLarger, s.integer(i), pivot);
      largest = s.select(isLarger, size, largest);
    }
    result.pivots.push_back(pivot);
    for (int64_t i = k + 1; i < m.rows; ++i) {
      Value isHere = s.isEqual(pivot, s.integer(i));
      for (int64_t j = 0; j < m.columns; ++j) {
        Value own = m.at(i, j), other = m.at(k, j);
        m.at(i, j) = s.select(isHere, other, own);
        m.at(k, j) = s.select(isHere, own, other);
      }
    }
    Value isZero = s.isZero(m.at(k, k));
    Value isFirst =
        arith::AndIOp::create(s.b, s.loc, isZero, s.isEqual(result.firstZero, s.integer(0)));
    result.firstZero = s.select(isFirst, s.integer(k + 1), result.firstZero);
    for (int64_t i = k + 1; i < m.rows; ++i) {
      Value share = s.div(m.at(i, k), m.at(k, k));
      m.at(i, k) = s.select(isZero, m.at(i, k), share);
      for (int64_t j = k + 1; j < m.columns; ++j)
        m.at(i, j) = s.select(isZero, m.at(i, j), s.sub(m.at(i, j), s.mul(share, m.at(k, j))));
    }
  }
  return result;
}

/// Returns X of A X = B, reading one triangle of A.
Matrix solveTriangular(DoubleEmitter &s, const Matrix &a, Matrix x, bool isLower,
                       bool hasUnitDiagonal) {
  int64_t n = a.rows;
  for (int64_t step = 0; step < n; ++step) {
    int64_t i = isLower ? step : n - 1 - step;
    for (int64_t j = 0; j < x.columns; ++j) {
      if (!hasUnitDiagonal)
        x.at(i, j) = s.div(x.at(i, j), a.at(i, i));
      for (int64_t k = isLower ? i + 1 : 0; k < (isLower ? n : i); ++k)
        x.at(k, j) = s.sub(x.at(k, j), s.mul(a.at(k, i), x.at(i, j)));
    }
  }
  return x;
}

/// Returns the lower factor; the upper triangle is left unchanged. Sets `fails` if a square root
/// has an operand that isn't positive.
Matrix choleskyOf(DoubleEmitter &s, Matrix a, Value &fails) {
  fails = arith::ConstantOp::create(s.b, s.loc, s.b.getBoolAttr(false));
  for (int64_t k = 0; k < a.rows; ++k) {
    Value isMore = s.isMore(a.at(k, k), s.number(0));
    Value isLess = arith::XOrIOp::create(
        s.b, s.loc, isMore, arith::ConstantOp::create(s.b, s.loc, s.b.getBoolAttr(true)));
    fails = arith::OrIOp::create(s.b, s.loc, fails, isLess);
    a.at(k, k) = s.root(a.at(k, k));
    for (int64_t i = k + 1; i < a.rows; ++i)
      a.at(i, k) = s.div(a.at(i, k), a.at(k, k));
    for (int64_t j = k + 1; j < a.rows; ++j)
      for (int64_t i = j; i < a.rows; ++i)
        a.at(i, j) = s.sub(a.at(i, j), s.mul(a.at(i, k), a.at(j, k)));
  }
  return a;
}

/// Returns the part of a complex type; other types unchanged.
Type partOf(Type element) {
  auto complex = dyn_cast<ComplexType>(element);
  return complex ? complex.getElementType() : element;
}

/// Returns the type of a batch of small matrices; null for other types, and for complex matrices
/// unless they are allowed.
RankedTensorType matricesOf(const TracedValue &typed, bool allowsComplex = false) {
  auto type = dyn_cast<RankedTensorType>(typed.value.getType());
  if (!type || !type.hasStaticShape() || type.getRank() < 2)
    return {};
  ArrayRef<int64_t> own = type.getShape().take_back(2);
  Type element = allowsComplex ? partOf(type.getElementType()) : type.getElementType();
  bool isSmallEnough = 0 < own[0] && own[0] <= maxRows && 0 < own[1] && own[1] <= maxColumns;
  return isSmallEnough && (element.isF32() || element.isF64()) ? type : RankedTensorType();
}

/// Converts a number, or its parts, with an op that extends or truncates.
template <typename Op> Value converted(Translator &t, Value value, Type part) {
  if (partOf(value.getType()) == part)
    return value;
  if (!isComplex(value))
    return Op::create(t.b, t.loc, part, value);
  auto [real, imaginary] = partsOf(t.b, t.loc, value);
  return complexOf(t.b, t.loc,
                   {Op::create(t.b, t.loc, part, real), Op::create(t.b, t.loc, part, imaginary)});
}

Value inDouble(Translator &t, Value value) {
  return converted<arith::ExtFOp>(t, value, t.b.getF64Type());
}

Matrix matrixAt(Translator &t, const TracedValue &typed, ValueRange batch) {
  ArrayRef<int64_t> own = cast<RankedTensorType>(typed.value.getType()).getShape().take_back(2);
  Matrix result{own[0], own[1], {}};
  for (int64_t i = 0; i < own[0]; ++i)
    for (int64_t j = 0; j < own[1]; ++j) {
      SmallVector<Value> place(batch);
      place.append({t.index(i), t.index(j)});
      result.elements.push_back(inDouble(t, t.elementAt(t.b, t.loc, typed, place)));
    }
  return result;
}

/// Computes the elements of the tensor for one batch index, in row-major order, as doubles, complex
/// numbers of them, or int32.
using PartAt = llvm::function_ref<SmallVector<Value>(ValueRange batch)>;
std::optional<TracedValue> partByPart(Translator &t, ArrayRef<int64_t> batch, ArrayRef<int64_t> own,
                                      Type element, PartAt partAt) {
  auto elementsAt = [&](ValueRange at) {
    SmallVector<Value> elements = partAt(at);
    for (Value &value : elements)
      value = converted<arith::TruncFOp>(t, value, partOf(element));
    return elements;
  };
  if (batch.empty())
    return t.small(elementsAt({}), own, element, {});
  SmallVector<Value> rows = t.asIndices(batch), sizes = rows;
  llvm::append_range(sizes, t.asIndices(own));
  Value none = zeroOf(t.b, t.loc, element);
  Value written = writeTensor(
      t, t.filled(sizes, none, {}), rows, /*isParallel=*/true, [&](Value tensor, ValueRange at) {
        for (auto [i, value] : llvm::enumerate(elementsAt(at))) {
          SmallVector<Value> place(at);
          for (int64_t index : delinearize(static_cast<int64_t>(i), computeStrides(own)))
            place.push_back(t.index(index));
          rc::StoreOp::create(t.b, t.loc, tensor, place, value);
        }
        return true;
      });
  return written ? std::optional(TracedValue{written, {}}) : std::nullopt;
}

/// Whether unrolling this matrix once more stays within the limit.
bool mayUnrollMatrix(Translator &t, RankedTensorType type) {
  int64_t rows = type.getShape()[type.getRank() - 2];
  int64_t perElement = isa<ComplexType>(type.getElementType()) ? 8 : 4;
  return t.mayUnroll(perElement * rows * rows * type.getShape().back());
}

/// Caches the result of `make` if there is a single matrix, since several results need it.
template <typename Make> auto onceOf(ArrayRef<int64_t> batch, Make make) {
  using Made = std::invoke_result_t<Make, ValueRange>;
  return [batch, make, known = std::optional<Made>()](ValueRange at) mutable {
    if (!batch.empty())
      return make(at);
    if (!known)
      known = make(at);
    return *known;
  };
}

MaybeValues valuesOf(ArrayRef<std::optional<TracedValue>> made) {
  Values results;
  for (const std::optional<TracedValue> &value : made) {
    if (!value)
      return std::nullopt;
    results.push_back(*value);
  }
  return results;
}

// --- LAPACK routines -----------------------------------------------------------------------------

/// Returns the character value of an option: "uplo=76;" is an L.
char letter(tfg::Node node, StringRef key, char otherwise) {
  auto config = node.attr<StringAttr>("backend_config");
  for (StringRef rest = config ? config.getValue() : StringRef(); !rest.empty();) {
    auto [option, more] = rest.split(';');
    auto [name, value] = option.split('=');
    unsigned code;
    if (name == key && !value.getAsInteger(10, code))
      return static_cast<char>(code);
    rest = more;
  }
  return otherwise;
}

MaybeValues getrf(Translator &t, tfg::Node node, const Values &inputs) {
  RankedTensorType type =
      inputs.size() == 1 ? matricesOf(inputs[0], /*allowsComplex=*/true) : RankedTensorType();
  if (!type || node.numResults() != 3 || !mayUnrollMatrix(t, type) || !mayUnrollMatrix(t, type))
    return std::nullopt;
  ArrayRef<int64_t> batch = type.getShape().drop_back(2), own = type.getShape().take_back(2);
  int64_t steps = std::min(own[0], own[1]);
  auto factorsAt = onceOf(batch, [&](ValueRange at) {
    DoubleEmitter s{t.b, t.loc};
    return factor(s, matrixAt(t, inputs[0], at));
  });
  return valuesOf({partByPart(t, batch, own, type.getElementType(),
                              [&](ValueRange at) { return factorsAt(at).packed.elements; }),
                   partByPart(t, batch, steps, t.b.getI32Type(),
                              [&](ValueRange at) {
                                DoubleEmitter s{t.b, t.loc};
                                SmallVector<Value> pivots = factorsAt(at).pivots;
                                for (Value &pivot : pivots) // 1-based
                                  pivot = arith::AddIOp::create(t.b, t.loc, pivot, s.integer(1));
                                return pivots;
                              }),
                   partByPart(t, batch, {}, t.b.getI32Type(), [&](ValueRange at) {
                     return SmallVector<Value>{factorsAt(at).firstZero};
                   })});
}

MaybeValues potrf(Translator &t, tfg::Node node, const Values &inputs) {
  RankedTensorType type = inputs.size() == 1 ? matricesOf(inputs[0]) : RankedTensorType();
  if (!type || node.numResults() != 2 || letter(node, "uplo", 'L') != 'L' ||
      !mayUnrollMatrix(t, type))
    return std::nullopt;
  ArrayRef<int64_t> batch = type.getShape().drop_back(2), own = type.getShape().take_back(2);
  if (own[0] != own[1])
    return std::nullopt;
  struct Root {
    Matrix lower;
    Value fails;
  };
  auto rootAt = onceOf(batch, [&](ValueRange at) {
    DoubleEmitter s{t.b, t.loc};
    Matrix whole = matrixAt(t, inputs[0], at);
    Root root;
    root.lower = choleskyOf(s, whole, root.fails);
    for (int64_t i = 0; i < own[0]; ++i)
      for (int64_t j = i + 1; j < own[0]; ++j)
        root.lower.at(i, j) = whole.at(i, j);
    return root;
  });
  return valuesOf(
      {partByPart(t, batch, own, type.getElementType(),
                  [&](ValueRange at) { return rootAt(at).lower.elements; }),
       partByPart(t, batch, {}, t.b.getI32Type(), [&](ValueRange at) {
         return SmallVector<Value>{
             arith::ExtUIOp::create(t.b, t.loc, t.b.getI32Type(), rootAt(at).fails).getResult()};
       })});
}

/// The solution of triangular systems: X of A X = B, or of X A = B if `isRight`.
struct TriangularSystem {
  bool isLower, isTurned, isConjugated, isRight, hasUnitDiagonal;

  explicit TriangularSystem(tfg::Node node)
      : isLower(letter(node, "uplo", 'L') == 'L'), isTurned(letter(node, "trans_x", 'N') != 'N'),
        isConjugated(letter(node, "trans_x", 'N') == 'C'),
        isRight(letter(node, "side", 'L') == 'R'),
        hasUnitDiagonal(letter(node, "diag", 'N') == 'U') {}

  /// `b` has a column for each right-hand side; so has the result.
  Matrix solve(DoubleEmitter &s, Matrix a, Matrix b) const {
    const bool swaps = isTurned != isRight;
    if (isConjugated)
      for (Value &element : a.elements)
        if (isComplex(element))
          element = findComplexForm("conj")->emit(s.b, s.loc, element, element.getType());
    return solveTriangular(s, swaps ? a.transposed() : a, std::move(b), isLower != swaps,
                           hasUnitDiagonal);
  }
};

/// Solves for many right-hand sides, each by itself, so that vectors hold several.
std::optional<TracedValue> solveEach(Translator &t, const TriangularSystem &system,
                                     const Values &inputs, RankedTensorType a, RankedTensorType b) {
  const int64_t numRows = a.getShape().back();
  SmallVector<Value> sizes = t.asIndices(b.getShape()), loops = sizes;
  loops.erase(loops.end() - (system.isRight ? 1 : 2));
  Value none = zeroOf(t.b, t.loc, b.getElementType());
  Value written = writeTensor(
      t, t.filled(sizes, none, {}), loops, /*isParallel=*/true, [&](Value tensor, ValueRange at) {
        auto placeOf = [&](int64_t row) {
          SmallVector<Value> place(at);
          place.insert(place.end() - (system.isRight ? 0 : 1), t.index(row));
          return place;
        };
        DoubleEmitter s{t.b, t.loc};
        Matrix x{numRows, 1, {}};
        for (int64_t i = 0; i < numRows; ++i)
          x.elements.push_back(inDouble(t, t.elementAt(t.b, t.loc, inputs[1], placeOf(i))));
        x = system.solve(s, matrixAt(t, inputs[0], at.drop_back()), std::move(x));
        for (auto [i, value] : llvm::enumerate(x.elements))
          rc::StoreOp::create(t.b, t.loc, tensor, placeOf(static_cast<int64_t>(i)),
                              converted<arith::TruncFOp>(t, value, partOf(b.getElementType())));
        return true;
      });
  return written ? std::optional(TracedValue{written, {}}) : std::nullopt;
}

MaybeValues trsm(Translator &t, tfg::Node node, const Values &inputs) {
  RankedTensorType a =
      inputs.size() == 2 ? matricesOf(inputs[0], /*allowsComplex=*/true) : RankedTensorType();
  auto b = a ? dyn_cast<RankedTensorType>(inputs[1].value.getType()) : RankedTensorType();
  const TriangularSystem system(node);
  if (!b || !b.hasStaticShape() || a.getRank() != b.getRank() ||
      a.getElementType() != b.getElementType() || !mayUnrollMatrix(t, a) ||
      a.getShape().drop_back(2) != b.getShape().drop_back(2))
    return std::nullopt;
  ArrayRef<int64_t> own = a.getShape().take_back(2), right = b.getShape().take_back(2);
  if (own[0] != own[1] || own[0] != right[system.isRight ? 1 : 0])
    return std::nullopt;
  if (right[system.isRight ? 0 : 1] > maxColumns)
    return valuesOf(solveEach(t, system, inputs, a, b));
  if (!matricesOf(inputs[1], /*allowsComplex=*/true) || !mayUnrollMatrix(t, b))
    return std::nullopt;
  return valuesOf(
      partByPart(t, a.getShape().drop_back(2), right, b.getElementType(), [&](ValueRange at) {
        DoubleEmitter s{t.b, t.loc};
        Matrix x = matrixAt(t, inputs[1], at);
        x = system.solve(s, matrixAt(t, inputs[0], at), system.isRight ? x.transposed() : x);
        return (system.isRight ? x.transposed() : x).elements;
      }));
}

/// A call of a LAPACK routine, as JAX emits it.
MaybeValues customCall(Translator &t, tfg::Node node, Values inputs) {
  auto target = node.attr<StringAttr>("call_target_name");
  StringRef name = target ? target.getValue() : StringRef();
  if (!name.consume_front("lapack_") || name.empty() || !StringRef("sdcz").contains(name[0]))
    return std::nullopt;
  name = name.drop_front();
  return name == "getrf_ffi"   ? getrf(t, node, inputs)
         : name == "potrf_ffi" ? potrf(t, node, inputs)
         : name == "trsm_ffi"  ? trsm(t, node, inputs)
                               : MaybeValues(std::nullopt);
}

// --- TensorFlow's ops, for single matrices; they fail if there is no result ----------------------

/// Returns the type of a single square matrix; null for others.
RankedTensorType square(Translator &t, tfg::Node node, const TracedValue &typed) {
  RankedTensorType type = matricesOf(typed);
  auto adjoint = node.attr<BoolAttr>("adjoint");
  bool isOne = type && type.getRank() == 2 && type.getDimSize(0) == type.getDimSize(1);
  return isOne && !(adjoint && adjoint.getValue()) && mayUnrollMatrix(t, type) ? type
                                                                               : RankedTensorType();
}

TracedValue whole(Translator &t, tfg::Node node, const Values &inputs, RankedTensorType type,
                  const Matrix &matrix) {
  std::optional<TracedValue> made = partByPart(t, {}, type.getShape(), type.getElementType(),
                                               [&](ValueRange) { return matrix.elements; });
  made->known = t.outcome(node, inputs);
  return *made;
}

MaybeValues cholesky(Translator &t, tfg::Node node, Values inputs) {
  RankedTensorType type = square(t, node, inputs[0]);
  if (!type)
    return std::nullopt;
  DoubleEmitter s{t.b, t.loc};
  Value fails;
  Matrix lower = choleskyOf(s, matrixAt(t, inputs[0], {}), fails);
  for (int64_t i = 0; i < lower.rows; ++i)
    for (int64_t j = i + 1; j < lower.rows; ++j)
      lower.at(i, j) = s.number(0);
  t.check(s.isEqual(fails, arith::ConstantOp::create(t.b, t.loc, t.b.getBoolAttr(false))));
  return Values{whole(t, node, inputs, type, lower)};
}

/// Returns X of A X = B.
Matrix solved(Translator &t, DoubleEmitter &s, const Matrix &a, Matrix x) {
  Factors factors = factor(s, a);
  t.check(s.isEqual(factors.firstZero, s.integer(0)));
  for (auto [k, pivot] : llvm::enumerate(factors.pivots))
    for (auto i = static_cast<int64_t>(k) + 1; i < x.rows; ++i) {
      Value isHere = s.isEqual(pivot, s.integer(i));
      for (int64_t j = 0; j < x.columns; ++j) {
        Value own = x.at(i, j), other = x.at(static_cast<int64_t>(k), j);
        x.at(i, j) = s.select(isHere, other, own);
        x.at(static_cast<int64_t>(k), j) = s.select(isHere, own, other);
      }
    }
  x = solveTriangular(s, factors.packed, std::move(x), /*isLower=*/true, /*hasUnitDiagonal=*/true);
  return solveTriangular(s, factors.packed, std::move(x), /*isLower=*/false,
                         /*hasUnitDiagonal=*/false);
}

MaybeValues inverse(Translator &t, tfg::Node node, Values inputs) {
  RankedTensorType type = square(t, node, inputs[0]);
  if (!type)
    return std::nullopt;
  DoubleEmitter s{t.b, t.loc};
  int64_t n = type.getDimSize(0);
  Matrix one{n, n, {}};
  for (int64_t i = 0; i < n * n; ++i)
    one.elements.push_back(s.number(i % (n + 1) == 0));
  Matrix x = solved(t, s, matrixAt(t, inputs[0], {}), std::move(one));
  return Values{whole(t, node, inputs, type, x)};
}

MaybeValues solve(Translator &t, tfg::Node node, Values inputs) {
  RankedTensorType type = square(t, node, inputs[0]),
                   right = type ? matricesOf(inputs[1]) : RankedTensorType();
  if (!right || right.getRank() != 2 || right.getDimSize(0) != type.getDimSize(0) ||
      right.getElementType() != type.getElementType())
    return std::nullopt;
  DoubleEmitter s{t.b, t.loc};
  Matrix x = solved(t, s, matrixAt(t, inputs[0], {}), matrixAt(t, inputs[1], {}));
  return Values{whole(t, node, inputs, right, x)};
}

constexpr std::pair<StringRef, Lowering> table[] = {{"XlaCustomCallV2", customCall},
                                                    {"Cholesky", cholesky},
                                                    {"MatrixInverse", inverse},
                                                    {"MatrixSolve", solve}};

} // namespace

LoweringTable factorLowerings() { return table; }

} // namespace treadle::codegen
