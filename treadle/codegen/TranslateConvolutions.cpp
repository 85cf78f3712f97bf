// Translates convolutions with a few weights to loops that read the weights one after the other;
// larger ones are faster in their kernel.
#include "treadle/codegen/Translator.h"
#include "treadle/codegen/Writes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

using Places = SmallVector<int64_t>;

std::optional<Places> shapeOf(const TracedValue &typed) {
  auto type = dyn_cast<RankedTensorType>(typed.value.getType());
  bool isOfFloats = type && (type.getElementType().isF32() || type.getElementType().isF64());
  return isOfFloats && type.hasStaticShape() && type.getRank() == 4
             ? std::optional(Places(type.getShape()))
             : std::nullopt;
}

std::optional<Places> integersOf(tfg::Node node, StringRef name, size_t count) {
  Places found;
  if (auto list = node.attr<ArrayAttr>(name))
    for (Attribute each : list)
      found.push_back(cast<IntegerAttr>(each).getInt());
  return found.size() == count ? std::optional(found) : std::nullopt;
}

/// A spatial dimension.
struct Dimension {
  int64_t size, window, stride, dilation, low = 0, out = 0;

  /// The position that weight `k` reads for the first result.
  int64_t first(int64_t k) const { return k * dilation - low; }
  bool isInside(int64_t k) const { return first(k) >= 0 && first(k) + (out - 1) * stride < size; }
};

/// Returns height and width of an image [batch, height, width, channel]; nullopt for other forms.
std::optional<std::array<Dimension, 2>> dimensionsOf(tfg::Node node, ArrayRef<int64_t> image,
                                                     ArrayRef<int64_t> filter) {
  auto format = node.attr<StringAttr>("data_format"), padding = node.attr<StringAttr>("padding");
  std::optional<Places> strides = integersOf(node, "strides", 4),
                        dilations = integersOf(node, "dilations", 4),
                        pads = integersOf(node, "explicit_paddings", 8);
  bool isExplicit = padding && padding.getValue() == "EXPLICIT";
  if ((format && format.getValue() != "NHWC") || !padding || !strides || (isExplicit && !pads))
    return std::nullopt;
  std::array<Dimension, 2> dims;
  for (size_t i : {0, 1}) {
    Dimension &d = dims[i];
    d = {image[i + 1], filter[i], (*strides)[i + 1], dilations ? (*dilations)[i + 1] : 1};
    if (d.size < 1 || d.window < 1 || d.stride < 1 || d.dilation < 1)
      return std::nullopt; // invalid or empty: left to the kernel
    int64_t span = (d.window - 1) * d.dilation + 1, high = 0;
    if (isExplicit) {
      d.low = (*pads)[2 * i + 2];
      high = (*pads)[2 * i + 3];
    } else if (padding.getValue() == "SAME") {
      int64_t out = llvm::divideCeil(d.size, d.stride);
      int64_t all = std::max<int64_t>((out - 1) * d.stride + span - d.size, 0);
      d.low = all / 2;
      high = all - d.low;
    }
    int64_t places = d.size + d.low + high - span;
    d.out = places < 0 ? 0 : places / d.stride + 1;
    if (d.low < 0 || high < 0 || d.out < 1)
      return std::nullopt;
  }
  return dims;
}

MaybeValues convolution(Translator &t, tfg::Node node, Values inputs) {
  constexpr int64_t maxWeights = 32, maxSteps = 1 << 22, opsPerWeight = 10;
  std::optional<Places> image = shapeOf(inputs[0]), filter = shapeOf(inputs[1]);
  if (inputs.size() != 2 || !image || !filter || (*image)[3] != (*filter)[2])
    return std::nullopt;
  auto dims = dimensionsOf(node, *image, *filter);
  if (!dims)
    return std::nullopt;
  auto [height, width] = *dims;
  Places result = {(*image)[0], height.out, width.out, (*filter)[3]};
  int64_t numWeights = height.window * width.window * (*filter)[2];
  if (numWeights > maxWeights || computeProduct(result) * numWeights > maxSteps ||
      !t.mayUnroll(opsPerWeight * numWeights))
    return std::nullopt;
  Type element = cast<RankedTensorType>(inputs[0].value.getType()).getElementType();
  auto addAll = [&](Value sum, Value row, Value column, int64_t i, int64_t j, ArrayRef<Value> at) {
    for (int64_t channel = 0; channel < (*filter)[2]; ++channel) {
      Value pixel = t.elementAt(t.b, t.loc, inputs[0], {at[0], row, column, t.index(channel)});
      Value weight =
          t.elementAt(t.b, t.loc, inputs[1], {t.index(i), t.index(j), t.index(channel), at[3]});
      constexpr auto fused = arith::FastMathFlags::contract;
      Value product = arith::MulFOp::create(t.b, t.loc, pixel, weight, fused);
      sum = arith::AddFOp::create(t.b, t.loc, sum, product, fused);
    }
    return sum;
  };
  auto placeOf = [&](const Dimension &d, Value at, int64_t k) {
    Value scaled = t.b.createOrFold<arith::MulIOp>(t.loc, at, t.index(d.stride));
    return t.b.createOrFold<arith::AddIOp>(t.loc, scaled, t.index(d.first(k)));
  };
  auto elementsAt = [&](ArrayRef<Value> at) -> std::optional<SmallVector<Value>> {
    Value sum = arith::ConstantOp::create(t.b, t.loc, t.b.getZeroAttr(element));
    for (int64_t i = 0; i < height.window; ++i)
      for (int64_t j = 0; j < width.window; ++j) {
        Value row = placeOf(height, at[1], i), column = placeOf(width, at[2], j), isInside;
        for (auto [d, place, k] : {std::tuple(&height, row, i), std::tuple(&width, column, j)})
          if (!d->isInside(k)) {
            Value own = t.b.createOrFold<arith::CmpIOp>(t.loc, arith::CmpIPredicate::ult, place,
                                                        t.index(d->size));
            isInside = isInside ? t.b.createOrFold<arith::AndIOp>(t.loc, isInside, own) : own;
          }
        if (!isInside) {
          sum = addAll(sum, row, column, i, j, at);
          continue;
        }
        auto branch = scf::IfOp::create(t.b, t.loc, element, isInside, /*withElseRegion=*/true);
        OpBuilder::InsertionGuard guard(t.b);
        t.b.setInsertionPointToStart(branch.elseBlock());
        scf::YieldOp::create(t.b, t.loc, sum);
        t.b.setInsertionPointToStart(branch.thenBlock());
        scf::YieldOp::create(t.b, t.loc, addAll(sum, row, column, i, j, at));
        sum = branch.getResult(0);
      }
    return SmallVector<Value>{sum};
  };
  std::optional<SmallVector<Value>> made = generateAll(t, result, element, elementsAt);
  return made ? MaybeValues(Values{{made->front(), t.outcome(node, inputs)}})
              : MaybeValues(std::nullopt);
}

constexpr std::pair<StringRef, Lowering> table[] = {{"Conv2D", convolution}};

} // namespace

LoweringTable convolutionLowerings() { return table; }

} // namespace treadle::codegen
