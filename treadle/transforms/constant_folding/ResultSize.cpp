// How large the result of an op would be that can make much of little, before it is computed.
#include "treadle/transforms/constant_folding/Simplifier.h"

#include "treadle/lowering/Attributes.h"

#include <cmath>

using namespace mlir;

namespace treadle::tfg {
namespace {

using Inputs = ArrayRef<Tensor>;
/// The number of elements; infinite numbers are fine, negative ones are errors that the kernel
/// tells.
using CountFn = double (*)(Inputs inputs);

template <typename Fn> void forEachNumber(const Tensor &tensor, Fn fn) {
  for (int64_t i = 0; i < tensor.count(); ++i) {
    if (tensor.dtype() == DType::Int32)
      fn(static_cast<double>(tensor.data<int32_t>()[i]));
    else if (tensor.dtype() == DType::Int64)
      fn(static_cast<double>(tensor.data<int64_t>()[i]));
    else if (tensor.dtype() == DType::Float32)
      fn(static_cast<double>(tensor.data<float>()[i]));
    else if (tensor.dtype() == DType::Float64)
      fn(tensor.data<double>()[i]);
  }
}

double productOf(const Tensor &tensor) {
  double out = 1;
  forEachNumber(tensor, [&](double v) { out *= v; });
  return out;
}

double numberOf(const Tensor &tensor) {
  double out = 0;
  forEachNumber(tensor, [&](double v) { out = v; });
  return out;
}

double countOfTile(Inputs in) { return static_cast<double>(in[0].count()) * productOf(in[1]); }
double countOfRange(Inputs in) { return (numberOf(in[1]) - numberOf(in[0])) / numberOf(in[2]); }
double countOfOneHot(Inputs in) { return static_cast<double>(in[0].count()) * numberOf(in[1]); }
double countOfPad(Inputs in) {
  SmallVector<double> paddings;
  forEachNumber(in[1], [&](double v) { paddings.push_back(v); });
  double out = 1;
  for (int i = 0; i < in[0].rank() && 2 * i + 1 < std::ssize(paddings); ++i)
    out *= static_cast<double>(in[0].dim(i)) + paddings[2 * i] + paddings[2 * i + 1];
  return out;
}
template <unsigned operand> double countOfDims(Inputs in) { return productOf(in[operand]); }
template <unsigned operand> double countOfNumber(Inputs in) { return numberOf(in[operand]); }

struct Growing {
  StringLiteral op;
  unsigned inputs;
  CountFn count;
};
constexpr Growing growing[] = {
    {"Fill", 2, countOfDims<0>},  {"BroadcastTo", 2, countOfDims<1>},
    {"Empty", 1, countOfDims<0>}, {"Tile", 2, countOfTile},
    {"Range", 3, countOfRange},   {"LinSpace", 3, countOfNumber<2>},
    {"OneHot", 4, countOfOneHot}, {"Pad", 2, countOfPad},
    {"PadV2", 3, countOfPad},     {"MirrorPad", 2, countOfPad},
};

} // namespace

int64_t expectedBytes(Node node, ArrayRef<Tensor> inputs) {
  for (const Growing &row : growing) {
    if (row.op != node.opType() || row.inputs != inputs.size())
      continue;
    double size = static_cast<double>(dtypeSize(valueTypeOf(node->getResult(0).getType()).dtype));
    double bytes = row.count(inputs) * size;
    constexpr double most = 1e18;
    return std::isnan(bytes) ? 0 : static_cast<int64_t>(std::clamp(bytes, 0.0, most));
  }
  return 0;
}

} // namespace treadle::tfg
