// Translates contractions of two tensors. Small ones are computed in registers or by loops; larger
// ones are faster in their kernel, which works in blocks.
#include "treadle/codegen/ComplexForms.h"
#include "treadle/codegen/FastMath.h"
#include "treadle/codegen/Translator.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

/// A contraction in einsum notation: `ab,bc->ac` for a product of matrices.
struct Equation {
  std::string left, right, out;

  /// Returns nullopt unless the equation has two inputs, consists of letters, and has no repeated
  /// letter in an input.
  static std::optional<Equation> parse(StringRef text) {
    auto [inputs, out] = text.split("->");
    auto [left, right] = inputs.split(',');
    auto isPlain = [](StringRef part) {
      return llvm::all_of(part, llvm::isAlpha) &&
             llvm::all_of(part, [&](char letter) { return part.count(letter) == 1; });
    };
    Equation made{left.str(), right.str(), out.str()};
    bool isKnown = llvm::all_of(
        out, [&](char letter) { return left.contains(letter) || right.contains(letter); });
    bool isTwo = text.count("->") == 1 && inputs.count(',') == 1;
    return isTwo && isKnown && isPlain(left) && isPlain(right) && isPlain(out) ? std::optional(made)
                                                                               : std::nullopt;
  }

  /// Returns the contracted letters in the order of the inputs.
  std::string summed() const {
    std::string letters;
    for (char letter : left + right)
      if (!StringRef(out).contains(letter) && !StringRef(letters).contains(letter))
        letters.push_back(letter);
    return letters;
  }

  /// Returns the loops from the outermost one inwards; the innermost one is contiguous in memory.
  std::string loops() const {
    std::string sums = summed();
    bool endsInSum = out.empty() || (!left.empty() && !right.empty() &&
                                     left.back() == right.back() && !sums.empty());
    return endsInSum ? out + sums : out.substr(0, out.size() - 1) + sums + out.back();
  }
};

Value multiplied(OpBuilder &b, Location loc, Value x, Value y) {
  if (isa<ComplexType>(x.getType()))
    return complexOf(b, loc, complexProduct(b, loc, partsOf(b, loc, x), partsOf(b, loc, y)));
  if (isa<FloatType>(x.getType()))
    return arith::MulFOp::create(b, loc, x, y, arith::FastMathFlags::contract);
  return arith::MulIOp::create(b, loc, x, y);
}

/// Uses fused multiply-add if the processor has it, as the kernel does.
Value added(OpBuilder &b, Location loc, Value product, Value sum, arith::FastMathFlags how) {
  if (isa<ComplexType>(sum.getType()))
    return findComplexForm("add")->emit(b, loc, {sum, product}, sum.getType());
  if (isa<FloatType>(sum.getType()))
    return arith::AddFOp::create(b, loc, product, sum, arith::FastMathFlags::contract | how);
  return arith::AddIOp::create(b, loc, product, sum);
}

class ProductWriter {
public:
  ProductWriter(Translator &t, tfg::Node node, const Values &inputs, const Equation &equation)
      : t(t), node(node), inputs(inputs), equation(equation), letters(equation.loops()),
        element(t.elementType(node->getResult(0))) {}

  MaybeValues write() {
    constexpr int64_t opsOfLoops = 20;
    if (!findSizes())
      return std::nullopt;
    FastMathScope scope(t.b, t.options.fastMath);
    if (std::optional<TracedValue> small = inRegisters())
      return Values{std::move(*small)};
    const bool isSummed = !equation.summed().empty();
    const bool isOfMatrices = isSummed && equation.left.size() >= 2 && equation.right.size() >= 2;
    if ((steps() > (isOfMatrices ? 1 << 13 : 1 << 16) && !isOfSmallBatches()) ||
        (isa<ComplexType>(element) && isOfMatrices) || !t.mayUnroll(opsOfLoops))
      return std::nullopt;
    return Values{isSummed ? byLoops() : outerProduct()};
  }

private:
  /// Whether a loop multiplies many tiny matrices: lanes of the loop may each multiply their own.
  bool isOfSmallBatches() const {
    constexpr int64_t maxSteps = 64;
    int64_t inBatch = 1;
    for (auto [letter, size] : llvm::zip(letters, sizes))
      if (!(equation.left.find(letter) != std::string::npos &&
            equation.right.find(letter) != std::string::npos &&
            equation.out.find(letter) != std::string::npos))
        inBatch = llvm::SaturatingMultiply<uint64_t>(inBatch, size);
    return t.isInLoop() && inBatch <= maxSteps;
  }

  /// Determines the size of each letter. Returns false if one isn't known.
  bool findSizes() {
    sizes.assign(letters.size(), -1);
    for (auto [input, own] :
         {std::pair(&inputs[0], &equation.left), {&inputs[1], &equation.right}}) {
      auto type = dyn_cast<RankedTensorType>(input->value.getType());
      if (!type || !type.hasStaticShape() || type.getRank() != static_cast<int64_t>(own->size()) ||
          type.getElementType() != element)
        return false;
      for (auto [letter, size] : llvm::zip(*own, type.getShape())) {
        int64_t &known = sizes[letters.find(letter)];
        if (known != -1 && known != size)
          return false; // invalid: the kernel reports it
        known = size;
      }
    }
    return isNative(element) && !element.isInteger(1) && !element.isUnsignedInteger();
  }

  int64_t steps() const {
    int64_t count = 1;
    for (int64_t size : sizes)
      count = llvm::SaturatingMultiply<uint64_t>(count, size);
    return count;
  }

  SmallVector<int64_t> sizesOf(StringRef own) const {
    return llvm::map_to_vector(own, [&](char letter) { return sizes[letters.find(letter)]; });
  }

  /// Computes each element of the result from elements of the inputs. Returns nullopt if these
  /// aren't in registers.
  std::optional<TracedValue> inRegisters() {
    constexpr int64_t most = 512;
    SmallVector<int64_t> shape = sizesOf(equation.out);
    std::optional<SmallVector<Value>> a = t.elementsOf(inputs[0]), b = t.elementsOf(inputs[1]);
    if (!a || !b || steps() > most ||
        (!shape.empty() && !isSmall(RankedTensorType::get(shape, element))) ||
        !t.mayUnroll(2 * steps()))
      return std::nullopt;
    std::string sums = equation.summed();
    SmallVector<int64_t> depth = sizesOf(sums);
    SmallVector<Value> elements;
    for (int64_t i = 0; i < computeProduct(shape); ++i) {
      Value sum;
      for (int64_t k = 0; k < computeProduct(depth); ++k) {
        SmallVector<int64_t> at = delinearize(i, computeStrides(shape));
        llvm::append_range(at, delinearize(k, computeStrides(depth)));
        Value product =
            multiplied(t.b, t.loc, widened(t.b, t.loc, (*a)[placeOf(equation.left, sums, at)]),
                       widened(t.b, t.loc, (*b)[placeOf(equation.right, sums, at)]));
        sum = sum ? added(t.b, t.loc, product, sum, arith::FastMathFlags::none) : product;
      }
      elements.push_back(narrowed(t.b, t.loc, sum, element));
    }
    return t.small(elements, shape, element, t.outcome(node, inputs));
  }

  /// Returns the position of an input's element for the given letters of the result and the sums.
  int64_t placeOf(StringRef own, StringRef sums, ArrayRef<int64_t> at) const {
    std::string order = equation.out + sums.str();
    SmallVector<int64_t> place =
        llvm::map_to_vector(own, [&](char letter) { return at[order.find(letter)]; });
    return linearize(place, computeStrides(sizesOf(own)));
  }

  /// Multiplies without sums, so that the ops around can be fused with it.
  TracedValue outerProduct() {
    Value empty = tensor::EmptyOp::create(t.b, t.loc, sizesOf(equation.out), element);
    SmallVector loops(letters.size(), utils::IteratorType::parallel);
    auto generic = linalg::GenericOp::create(
        t.b, t.loc, TypeRange(empty.getType()), {inputs[0].value, inputs[1].value}, empty,
        {mapOf(equation.left), mapOf(equation.right), mapOf(equation.out)}, loops,
        [&](OpBuilder &b, Location loc, ValueRange in) {
          Value product = multiplied(b, loc, widened(b, loc, in[0]), widened(b, loc, in[1]));
          linalg::YieldOp::create(b, loc, narrowed(b, loc, product, element));
        });
    return t.unboxed(generic.getResult(0), t.outcome(node, inputs));
  }

  /// Sums the products of two elements with `add` in tensors of `summed`, the parts of the result.
  using Add = llvm::function_ref<SmallVector<Value>(OpBuilder &b, Location loc, Value x, Value y,
                                                    ValueRange sums)>;
  Values sumsOf(ArrayRef<Type> summed, Add add) {
    SmallVector<utils::IteratorType> loops;
    for (char letter : letters)
      loops.push_back(StringRef(equation.out).contains(letter) ? utils::IteratorType::parallel
                                                               : utils::IteratorType::reduction);
    SmallVector<AffineMap> maps = {mapOf(equation.left), mapOf(equation.right)};
    maps.append(summed.size(), mapOf(equation.out));
    SmallVector<Value> filled;
    for (Type type : summed) {
      Value empty = tensor::EmptyOp::create(t.b, t.loc, sizesOf(equation.out), type);
      Value start = zeroOf(t.b, t.loc, type);
      filled.push_back(linalg::FillOp::create(t.b, t.loc, start, empty).getResult(0));
    }
    auto generic = linalg::GenericOp::create(
        t.b, t.loc, ValueRange(filled).getTypes(), {inputs[0].value, inputs[1].value}, filled, maps,
        loops, [&](OpBuilder &b, Location loc, ValueRange in) {
          FastMathScope scope(b, t.options.fastMath);
          linalg::YieldOp::create(b, loc, add(b, loc, in[0], in[1], in.drop_front(2)));
        });
    KnownValue known = t.outcome(node, inputs);
    Values sums;
    for (Value result : generic.getResults())
      sums.push_back(t.unboxed(result, known));
    return sums;
  }

  TracedValue byLoops() {
    if (auto complex = dyn_cast<ComplexType>(element))
      return complexByLoops(complex.getElementType());
    Type summed = isHalf(element) ? t.b.getF32Type() : element;
    TracedValue sum =
        sumsOf(summed, [](OpBuilder &b, Location loc, Value x, Value y, ValueRange sums) {
          Value product = multiplied(b, loc, widened(b, loc, x), widened(b, loc, y));
          return SmallVector{added(b, loc, product, sums.front(), arith::FastMathFlags::reassoc)};
        }).front();
    return summed == element
               ? sum
               : *t.map(sum, element, sum.known, [&](OpBuilder &b, Location loc, ValueRange in) {
                   return narrowed(b, loc, in[0], element);
                 });
  }

  /// The parts of the sums are tensors of their own, so that the loops can be vectorized. Matrices
  /// are faster in their kernel.
  TracedValue complexByLoops(Type part) {
    constexpr auto how = arith::FastMathFlags::reassoc;
    Values sums =
        sumsOf({part, part}, [&](OpBuilder &b, Location loc, Value x, Value y, ValueRange before) {
          auto [a, c] = partsOf(b, loc, x);
          auto [d, e] = partsOf(b, loc, y);
          Value real = added(b, loc, multiplied(b, loc, a, d), before[0], how);
          Value minus = arith::NegFOp::create(b, loc, c);
          Value imaginary = added(b, loc, multiplied(b, loc, a, e), before[1], how);
          return SmallVector{added(b, loc, multiplied(b, loc, minus, e), real, how),
                             added(b, loc, multiplied(b, loc, c, d), imaginary, how)};
        });
    return *t.map(sums, element, sums.front().known,
                  [&](OpBuilder &b, Location loc, ValueRange in) {
                    return complexOf(b, loc, {in[0], in[1]});
                  });
  }

  AffineMap mapOf(StringRef own) {
    SmallVector<AffineExpr> dims;
    for (char letter : own)
      dims.push_back(t.b.getAffineDimExpr(letters.find(letter)));
    return AffineMap::get(letters.size(), 0, dims, t.b.getContext());
  }

  Translator &t;
  tfg::Node node;
  const Values &inputs;
  const Equation &equation;
  const std::string letters; // of the loops
  const Type element;
  SmallVector<int64_t> sizes; // of the loops
};

MaybeValues einsum(Translator &t, tfg::Node node, Values inputs) {
  auto text = node.attr<StringAttr>("equation");
  std::optional<Equation> equation = text ? Equation::parse(text.getValue()) : std::nullopt;
  if (!equation || inputs.size() != 2)
    return std::nullopt;
  return ProductWriter(t, node, inputs, *equation).write();
}

MaybeValues matmul(Translator &t, tfg::Node node, Values inputs) {
  auto isTurned = [&](StringRef name) {
    auto attr = node.attr<BoolAttr>(name);
    return attr && attr.getValue();
  };
  Equation equation{isTurned("transpose_a") ? "ba" : "ab", isTurned("transpose_b") ? "cb" : "bc",
                    "ac"};
  return ProductWriter(t, node, inputs, equation).write();
}

constexpr std::pair<StringRef, Lowering> table[] = {{"Einsum", einsum}, {"MatMul", matmul}};

} // namespace

LoweringTable productLowerings() { return table; }

} // namespace treadle::codegen
