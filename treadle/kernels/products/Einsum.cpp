// Einsum: the operands are copied into the form [batch, free, summed], multiplied as matrices, and
// the product copied into the order that the equation asks for.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/Families.h"
#include "treadle/kernels/elementwise/Elementwise.h"
#include "treadle/kernels/products/EinsumAxes.h"
#include "treadle/kernels/products/MatMul.h"

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
      return Unexpected(
          invalidArgument("'", text, "' holds '", text[i], "', but labels are letters or '...'"));
    }
  }
  if (std::ranges::count(labels, ellipsis) > 1)
    return Unexpected(invalidArgument("'", text, "' holds more than one ellipsis"));
  return labels;
}

Expected<EinsumState> parseEquation(std::string_view equation) {
  EinsumState s;
  size_t arrow = equation.find("->");
  if (arrow == std::string_view::npos || equation.find("->", arrow + 2) != std::string_view::npos)
    return Unexpected(invalidArgument("equation '", equation, "' must hold '->' once"));
  for (std::string_view rest = equation.substr(0, arrow);;) {
    size_t comma = rest.find(',');
    std::string labels = TREADLE_TRY(parseLabels(rest.substr(0, comma)));
    s.inputs.push_back(labels);
    if (comma == std::string_view::npos)
      break;
    rest.remove_prefix(comma + 1);
  }
  Expected<std::string> output = parseLabels(equation.substr(arrow + 2));
  if (!output)
    return Unexpected(std::move(output.error()));
  s.output = *output;
  if (s.inputs.size() > 2)
    return Unexpected(invalidArgument("equation '", equation, "' has ", s.inputs.size(),
                                      " operands, but 1 or 2 are expected"));
  return s;
}

// An operand's elements along three lists of axes, one after the other.
std::optional<Tensor> arrange(OpContext &ctx, const Tensor &t, int operand,
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

// The result, not filled in yet; says of each axis where it lies there. A label twice in the result
// is its diagonal.
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

// Copies a product over [batch, free axes of a, free axes of b] to where its labels are.
void giveResult(const Tensor &product, const ProductAxes &axes, Tensor &out) {
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

// A scalar 1, to multiply an only operand by.
Tensor makeOne(DType dtype) {
  Tensor one = Tensor::makeScalar(dtype);
  visitType(dtype, NumericTypes(), [&]<typename T>() { *one.data<T>() = T(1); });
  return one;
}

void runEinsum(OpContext &ctx) {
  const EinsumState &s = ctx.state<EinsumState>();
  const Tensor a = ctx.input(0);
  const Tensor b = s.inputs.size() > 1 ? ctx.input(1) : makeOne(a.dtype());
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
  auto left = arrange(ctx, a, 0, {&lists.batch, &lists.freeA, &lists.summed});
  auto right = arrange(ctx, b, 1, {&lists.batch, &lists.summed, &lists.freeB});
  if (!left || !right)
    return;
  Product p{lists.freeA.count, lists.summed.count, lists.freeB.count, false, false};
  auto product = multiplyAll(ctx, s, *left, *right, lists.batch.count, p);
  if (product)
    giveResult(*product, lists, *out);
}

Expected<BoundKernel> bindEinsum(const BindContext &node) {
  Expected<std::string> equation = node.attrs.get<std::string>("equation");
  if (!equation)
    return Unexpected(std::move(equation.error()));
  Expected<EinsumState> s = parseEquation(*equation);
  if (!s)
    return Unexpected(std::move(s.error()));
  if (s->inputs.size() != node.inputTypes.size())
    return Unexpected(invalidArgument("equation '", *equation, "' has ", s->inputs.size(),
                                      " operands, but the node has ", node.inputTypes.size()));
  DType dtype = node.outputTypes[0];
  s->multiply = findMultiply(dtype, dtype, dtype);
  if (!s->multiply)
    return unsupportedDType(node, dtype);
  BoundKernel bound = boundWith(runEinsum, std::move(*s));
  bound.isExpensive = true;
  return bound;
}

const KernelEntry einsumTable[] = {
    {"Einsum", bindEinsum},
};

} // namespace

std::span<const KernelEntry> einsumKernels() { return einsumTable; }

} // namespace treadle
