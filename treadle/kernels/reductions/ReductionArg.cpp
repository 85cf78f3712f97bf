// ArgMax and ArgMin: where along an axis the first extreme element is.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/Families.h"

#include <limits>

namespace treadle {
namespace {

struct Greater {
  template <typename T> static bool beats(T a, T b) { return a > b; }
  template <typename T> static T worst() { return std::numeric_limits<T>::lowest(); }
};
struct Smaller {
  template <typename T> static bool beats(T a, T b) { return a < b; }
  template <typename T> static T worst() { return std::numeric_limits<T>::max(); }
};

// What isn't a number beats nothing, and nothing is beaten by the type's own extreme.
template <typename T, typename Order>
void findExtremes(const void *in, int64_t outer, int64_t length, int64_t inner, int64_t *out) {
  const T *x = static_cast<const T *>(in);
  for (int64_t o = 0; o < outer; ++o, x += length * inner, out += inner)
    for (int64_t i = 0; i < inner; ++i) {
      T best = Order::template worst<T>();
      int64_t at = 0;
      for (int64_t k = 0; k < length; ++k)
        if (Order::beats(x[k * inner + i], best)) {
          best = x[k * inner + i];
          at = k;
        }
      out[i] = at;
    }
}

using FindFn = void (*)(const void *, int64_t, int64_t, int64_t, int64_t *);

struct ArgState {
  FindFn find;
  DType out;
};

int64_t integerOf(const Tensor &t) {
  switch (t.dtype()) {
  case DType::Int16:
    return t.scalarValue<int16_t>();
  case DType::Int32:
    return t.scalarValue<int32_t>();
  default:
    return t.scalarValue<int64_t>();
  }
}

template <typename T> void narrow(const int64_t *from, int64_t n, void *to) {
  std::copy_n(from, n, static_cast<T *>(to));
}

void store(const int64_t *found, Tensor &out) {
  switch (out.dtype()) {
  case DType::Int16:
    return narrow<int16_t>(found, out.count(), out.raw());
  case DType::UInt16:
    return narrow<uint16_t>(found, out.count(), out.raw());
  case DType::Int32:
    return narrow<int32_t>(found, out.count(), out.raw());
  default:
    return narrow<int64_t>(found, out.count(), out.raw());
  }
}

void runArg(OpContext &ctx) {
  const ArgState &s = ctx.state<ArgState>();
  const Tensor &in = ctx.input(0), &dimension = ctx.input(1);
  if (dimension.count() != 1)
    return ctx.fail(
        invalidArgument("dimension must be a scalar, but has shape ", dimsText(dimension.dims())));
  int64_t said = integerOf(dimension), axis = said < 0 ? said + in.rank() : said;
  if (axis < 0 || axis >= in.rank())
    return ctx.fail(invalidArgument("expected dimension in the range [", -in.rank(), ", ",
                                    in.rank(), "), but got ", said));
  int64_t length = in.dim(static_cast<int>(axis));
  if (length == 0)
    return ctx.fail(
        invalidArgument("reduction axis ", said, " is empty in shape ", dimsText(in.dims())));
  std::vector<int64_t> dims(in.dims().begin(), in.dims().end());
  dims.erase(dims.begin() + axis);
  Tensor *out = ctx.allocateOutput(0, s.out, dims);
  if (!out || !out->count())
    return;
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < in.rank(); ++d)
    (d < axis ? outer : inner) *= d == axis ? 1 : in.dim(static_cast<int>(d));
  if (s.out == DType::Int64)
    return s.find(in.raw(), outer, length, inner, out->data<int64_t>());
  auto found = ctx.check(Tensor::make(DType::Int64, {out->count()}));
  if (!found)
    return;
  s.find(in.raw(), outer, length, inner, found->data<int64_t>());
  store(found->data<int64_t>(), *out);
}

template <typename Order> Expected<BoundKernel> bindArg(const BindContext &node) {
  ArgState state{nullptr, node.outputTypes[0]};
  visitType(node.inputTypes[0], Join<RealTypes, TypeList<bool>>(),
            [&]<typename T>() { state.find = findExtremes<T, Order>; });
  if (!state.find)
    return unsupportedDType(node, node.inputTypes[0]);
  return boundWith(runArg, state);
}

const KernelEntry reductionArgTable[] = {
    {"ArgMax", bindArg<Greater>},
    {"ArgMin", bindArg<Smaller>},
};

} // namespace

std::span<const KernelEntry> reductionArgKernels() { return reductionArgTable; }

} // namespace treadle
