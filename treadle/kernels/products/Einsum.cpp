// Einsum and XlaDot: copies the operands to the form [batch, free, summed], multiplies them as
// matrices, and copies the product to the order of the equation.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/arrays/DimensionNumbers.h"
#include "treadle/kernels/elementwise/Families.h"
#include "treadle/kernels/products/EinsumAxes.h"
#include "treadle/kernels/products/MatMul.h"
#include "treadle/runtime/RunOp.h"

#include <algorithm>
#include <string>
#include <vector>

namespace treadle {
namespace {

using namespace einsum;

/// The labels of the operands and of the result; an ellipsis is one character.
struct EinsumState {
  std::vector<std::string> inputs;
  std::string output;
  MultiplyFn multiply;
  std::shared_ptr<PackedWeights> weights = std::make_shared<PackedWeights>();
};

bool isLetter(char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z'); }

Expected<std::string> parseLabels(std::string_view text) {
  std::string labels;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ')
      continue;
    if (text.substr(i, 3) == "...") {
      labels += ellipsis;
      i += 2;
    } else if (isLetter(text[i])) {
      labels += text[i];
    } else {
      return Unexpected(invalidArgument("'", text, "' contains '", text[i],
                                        "', but labels are letters or '...'"));
    }
  }
  if (std::ranges::count(labels, ellipsis) > 1)
    return Unexpected(invalidArgument("'", text, "' contains more than one ellipsis"));
  return labels;
}

Expected<EinsumState> parseEquation(std::string_view equation) {
  EinsumState s;
  size_t arrow = equation.find("->");
  if (arrow == std::string_view::npos || equation.find("->", arrow + 2) != std::string_view::npos)
    return Unexpected(invalidArgument("equation '", equation, "' must contain '->' exactly once"));
  for (std::string_view rest = equation.substr(0, arrow);;) {
    size_t comma = rest.find(',');
    std::string labels = TREADLE_TRY(parseLabels(rest.substr(0, comma)));
    s.inputs.push_back(labels);
    if (comma == std::string_view::npos)
      break;
    rest.remove_prefix(comma + 1);
  }
  std::string output = TREADLE_TRY(parseLabels(equation.substr(arrow + 2)));
  s.output = output;
  if (s.inputs.size() > 2)
    return Unexpected(invalidArgument("equation '", equation, "' has ", s.inputs.size(),
                                      " operands, expected 1 or 2"));
  return s;
}

// Copies an operand to the order of three concatenated lists of axes.
std::optional<Tensor> permuteOperand(OpContext &ctx, const Tensor &t, int operand,
                                     std::initializer_list<const AxisList *> lists) {
  DimVector dims, strides;
  for (const AxisList *list : lists)
    for (const Axis *axis : list->axes) {
      dims.push(axis->size);
      strides.push(axis->stride[operand]);
    }
  auto out = ctx.check(Tensor::make(t.dtype(), dims));
  if (out && out->count())
    copyStrided(t.dtype(), dims, out->raw(), rowMajorStrides(dims), t.raw(), strides);
  return out;
}

// --- the op --------------------------------------------------------------------------------------

// Allocates the result and sets each axis's stride in it. A label that occurs twice in the result
// addresses its diagonal.
Tensor *allocateResult(OpContext &ctx, DType dtype, Axes &axes, const std::vector<Label> &labels) {
  DimVector dims;
  for (Label label : labels)
    dims.push(axes.of(label).size);
  DimVector strides = rowMajorStrides(dims);
  for (size_t d = 0; d < labels.size(); ++d) {
    axes.of(labels[d]).isOut = true;
    axes.of(labels[d]).outStride += strides[d];
  }
  return ctx.allocateOutput(0, dtype, dims);
}

// Copies a product over [batch, free axes of a, free axes of b] to the order of the result's
// labels.
void copyToResult(const Tensor &product, const ProductAxes &axes, Tensor &out) {
  DimVector sizes, strides;
  for (const AxisList *list : {&axes.batch, &axes.freeA, &axes.freeB})
    for (const Axis *axis : list->axes) {
      sizes.push(axis->size);
      strides.push(axis->outStride);
    }
  if (product.count() < out.count())
    zeroElements(out.dtype(), out.raw(), out.count());
  copyStrided(out.dtype(), sizes, out.raw(), strides, product.raw(), rowMajorStrides(sizes));
}

std::optional<Tensor> multiplyAll(OpContext &ctx, const EinsumState &s, const Tensor &a,
                                  const Tensor &b, int64_t batch, const Product &p) {
  auto product = ctx.check(Tensor::make(a.dtype(), {batch, p.m, p.n}));
  if (!product || !product->count())
    return product;
  if (p.k == 0) {
    zeroElements(product->dtype(), product->raw(), product->count());
    return product;
  }
  DType dtype = a.dtype();
  for (int64_t i = 0; i < batch; ++i)
    s.multiply(p, elementAt(dtype, a.raw(), i * p.m * p.k),
               elementAt(dtype, b.raw(), i * p.k * p.n),
               elementAt(dtype, product->raw(), i * p.m * p.n), false);
  return product;
}

// A scalar 1, the second operand of unary equations.
Tensor makeOne(DType dtype) {
  Tensor one = Tensor::makeScalar(dtype);
  visitType(dtype, NumericTypes(), [&]<typename T>() { *one.data<T>() = T(1); });
  return one;
}

void multiply(OpContext &ctx, const EinsumState &s, const Tensor &a, const Tensor &b) {
  Axes axes;
  if (!axes.add(ctx, 0, a, s.inputs[0]) ||
      (s.inputs.size() > 1 && !axes.add(ctx, 1, b, s.inputs[1])))
    return;
  if (axes.ellipsisRank && s.output.find(ellipsis) == std::string::npos)
    return ctx.fail(invalidArgument("the operands broadcast ", axes.ellipsisRank,
                                    " dimensions, but the result has no ellipsis"));
  std::vector<Label> labels = axes.expand(s.output, axes.ellipsisRank);
  std::erase_if(labels, [&](Label label) {
    return std::ranges::find(axes.all, label, &Axis::label) == axes.all.end();
  });
  Tensor *out = allocateResult(ctx, a.dtype(), axes, labels);
  if (!out || !out->count())
    return;
  ProductAxes lists;
  for (const Axis &axis : axes.all)
    (!axis.isOut     ? lists.summed
     : !axis.isIn[1] ? lists.freeA
     : !axis.isIn[0] ? lists.freeB
                     : lists.batch)
        .add(axis);
  if (a.dtype() == DType::Float32 && lists.summed.count &&
      (multiplyVectors(ctx, lists, a, b, *out) ||
       multiplyInPlace(ctx, lists, a, b, *out, *s.weights)))
    return;
  auto left = permuteOperand(ctx, a, 0, {&lists.batch, &lists.freeA, &lists.summed});
  auto right = permuteOperand(ctx, b, 1, {&lists.batch, &lists.summed, &lists.freeB});
  if (!left || !right)
    return;
  Product p{lists.freeA.count, lists.summed.count, lists.freeB.count, false, false};
  auto product = multiplyAll(ctx, s, *left, *right, lists.batch.count, p);
  if (product)
    copyToResult(*product, lists, *out);
}

void runEinsum(OpContext &ctx) {
  const EinsumState &s = ctx.state<EinsumState>();
  const Tensor a = ctx.input(0);
  multiply(ctx, s, a, s.inputs.size() > 1 ? ctx.input(1) : makeOne(a.dtype()));
}

Expected<BoundKernel> bindEinsum(const BindContext &node) {
  std::string equation = TREADLE_TRY(node.attrs.get<std::string>("equation"));
  EinsumState s = TREADLE_TRY(parseEquation(equation));
  if (s.inputs.size() != node.inputTypes.size())
    return Unexpected(invalidArgument("equation '", equation, "' has ", s.inputs.size(),
                                      " operands, but the node has ", node.inputTypes.size()));
  DType dtype = node.outputTypes[0];
  s.multiply = findMultiply(dtype, dtype, dtype);
  if (!s.multiply)
    return unsupportedDType(node, dtype);
  return expensive(boundWith(runEinsum, std::move(s)));
}

// --- XlaDot ------------------------------------------------------------------------------------

/// The message DotDimensionNumbers: contracting and batch dimensions.
struct DotNumbers {
  std::vector<int64_t> summed[2], batch[2];
};

struct DotState {
  DotNumbers numbers;
  EinsumState product; // labels are set once the ranks are known
  DType computed, out;
};

/// Assigns one label to each pair of contracted or batch dimensions. Returns false if a dimension
/// is out of range or has a label already.
bool labelPairs(const std::vector<int64_t> (&dims)[2], std::string (&labels)[2], char &next) {
  if (dims[0].size() != dims[1].size())
    return false;
  for (size_t i = 0; i < dims[0].size(); ++i, ++next)
    for (int side = 0; side < 2; ++side) {
      auto d = static_cast<size_t>(dims[side][i]);
      if (d >= labels[side].size() || labels[side][d])
        return false;
      labels[side][d] = next;
    }
  return true;
}

/// Returns the equation. The result has the batch dimensions first, then the free dimensions of
/// each operand.
Expected<EinsumState> labelOperands(const DotState &s, const Tensor &a, const Tensor &b) {
  constexpr char first = 'A';
  if (a.rank() + b.rank() > 'z' - first)
    return Unexpected(unimplemented("the product of ", tensorTypeText(a), " and ",
                                    tensorTypeText(b), " has too many dimensions"));
  std::string labels[2] = {std::string(static_cast<size_t>(a.rank()), 0),
                           std::string(static_cast<size_t>(b.rank()), 0)};
  EinsumState product = s.product;
  char next = first;
  bool isGood = labelPairs(s.numbers.batch, labels, next);
  for (char label = first; label < next; ++label)
    product.output += label;
  if (!isGood || !labelPairs(s.numbers.summed, labels, next))
    return Unexpected(invalidArgument("dimension_numbers do not match operands of shapes ",
                                      dimsText(a.dims()), " and ", dimsText(b.dims())));
  for (std::string &side : labels)
    for (char &label : side)
      if (!label)
        product.output += label = next++;
  product.inputs = {labels[0], labels[1]};
  return product;
}

std::optional<Tensor> castTo(OpContext &ctx, Tensor x, DType dtype) {
  if (x.dtype() == dtype)
    return x;
  auto out = ctx.check(runOp({castKernels}, "Cast", {}, {std::move(x)}, {dtype}));
  return out ? std::optional(std::move(out->at(0))) : std::nullopt;
}

void runDot(OpContext &ctx) {
  const auto &s = ctx.state<DotState>();
  auto a = castTo(ctx, ctx.input(0), s.computed), b = castTo(ctx, ctx.input(1), s.computed);
  if (!a || !b)
    return;
  auto product = TREADLE_OR_RETURN(ctx.check(labelOperands(s, *a, *b)));
  multiply(ctx, product, *a, *b);
  if (ctx.hasFailed() || s.computed == s.out)
    return;
  if (auto out = castTo(ctx, std::move(ctx.output(0)), s.out))
    ctx.setOutput(0, std::move(*out));
}

Expected<BoundKernel> bindDot(const BindContext &node) {
  DType out = node.outputTypes[0];
  DotState s{{}, {}, productDType(node.inputTypes[0], node.inputTypes[1], out), out};
  std::vector<int64_t> *fields[] = {&s.numbers.summed[0], &s.numbers.summed[1], &s.numbers.batch[0],
                                    &s.numbers.batch[1]};
  std::string bytes = node.attrs.getOr("dimension_numbers", std::string());
  if (!readDimensionNumbers(bytes, fields))
    return Unexpected(
        invalidArgument("attribute 'dimension_numbers' does not parse as DotDimensionNumbers"));
  s.product.multiply = findMultiply(s.computed, s.computed, s.computed);
  if (!s.product.multiply)
    return unsupportedDType(node, out);
  return expensive(boundWith(runDot, std::move(s)));
}

const KernelEntry einsumTable[] = {
    {"Einsum", bindEinsum},
    {"XlaDot", bindDot},
    {"XlaDotV2", bindDot},
    {"XlaEinsum", bindEinsum},
};

} // namespace

std::span<const KernelEntry> einsumKernels() { return einsumTable; }

} // namespace treadle
