// Select, SelectV2, ClipByValue and AddN: elementwise ops with more than two operands. Select only
// moves elements, so its loops depend on the element size.
#include "treadle/kernels/Variants.h"
#include "treadle/kernels/elementwise/Elementwise.h"

#include <algorithm>

namespace treadle {
namespace {

bool sameDims(Dims a, Dims b) { return std::ranges::equal(a, b); }

// --- Select ------------------------------------------------------------------------------------

/// Computes `out[i] = condition[i] ? yes[i] : no[i]`; an operand with step 0 is one element for
/// all.
using SelectLoop = void (*)(const bool *condition, int conditionStep, const void *yes, int yesStep,
                            const void *no, int noStep, void *out, int64_t n);

template <typename T>
void selectLoop(const bool *condition, int conditionStep, const void *yesData, int yesStep,
                const void *noData, int noStep, void *outData, int64_t n) {
  const T *yes = static_cast<const T *>(yesData);
  const T *no = static_cast<const T *>(noData);
  T *out = static_cast<T *>(outData);
  if (conditionStep == 1 && yesStep == 1 && noStep == 1) {
    for (int64_t i = 0; i < n; ++i)
      out[i] = condition[i] ? yes[i] : no[i];
  } else {
    for (int64_t i = 0; i < n; ++i)
      out[i] = condition[i * conditionStep] ? yes[i * yesStep] : no[i * noStep];
  }
}

struct SelectState {
  SelectLoop loop;
  size_t size;
};

struct Bytes16 {
  uint64_t halves[2];
};

SelectLoop selectLoopFor(DType dtype) {
  switch (dtype) {
  case DType::String:
    return selectLoop<std::string>;
  case DType::Resource:
    return selectLoop<ResourceHandle>;
  case DType::Variant:
    return selectLoop<Variant>;
  default:
    break;
  }
  switch (dtypeSize(dtype)) {
  case 1:
    return selectLoop<uint8_t>;
  case 2:
    return selectLoop<uint16_t>;
  case 4:
    return selectLoop<uint32_t>;
  case 8:
    return selectLoop<uint64_t>;
  case 16:
    return selectLoop<Bytes16>;
  default:
    return nullptr;
  }
}

// With a scalar condition, forwards one of the two operands.
bool forwardSelected(OpContext &ctx, Dims result) {
  if (!ctx.input(0).isScalar())
    return false;
  int chosen = ctx.input(0).scalarValue<bool>() ? 1 : 2;
  if (!sameDims(ctx.input(chosen).dims(), result))
    return false;
  ctx.setOutput(0, ctx.takeInput(chosen));
  return true;
}

void selectSame(OpContext &ctx, const SelectState &s) {
  const Tensor &condition = ctx.input(0), &yes = ctx.input(1), &no = ctx.input(2);
  if (Tensor *out = ctx.allocateOutput(0, yes.dtype(), yes.dims()))
    s.loop(condition.data<bool>(), 1, yes.raw(), 1, no.raw(), 1, out->raw(), yes.count());
}

// Selects rows by a condition for each row of dimension 0.
void selectRows(OpContext &ctx, const SelectState &s) {
  const Tensor &condition = ctx.input(0), &yes = ctx.input(1), &no = ctx.input(2);
  Tensor *out = ctx.allocateOutput(0, yes.dtype(), yes.dims());
  if (!out || !yes.count())
    return;
  int64_t rows = condition.count(), length = yes.count() / rows;
  auto offset = [&](auto *data, int64_t row) { return data + row * length * s.size; };
  for (int64_t r = 0; r < rows; ++r)
    s.loop(condition.data<bool>() + r, 0, offset(static_cast<const char *>(yes.raw()), r), 1,
           offset(static_cast<const char *>(no.raw()), r), 1,
           offset(static_cast<char *>(out->raw()), r), length);
}

void runSelect(OpContext &ctx) {
  const SelectState &s = ctx.state<SelectState>();
  const Tensor &condition = ctx.input(0), &yes = ctx.input(1), &no = ctx.input(2);
  if (!sameDims(yes.dims(), no.dims()))
    return ctx.fail(invalidArgument("'then' and 'else' must have the same shape: ",
                                    dimsText(yes.dims()), " vs. ", dimsText(no.dims())));
  if (forwardSelected(ctx, yes.dims()))
    return;
  if (sameDims(condition.dims(), yes.dims()))
    return selectSame(ctx, s);
  if (condition.rank() != 1 || yes.rank() == 0 || condition.dim(0) != yes.dim(0))
    return ctx.fail(invalidArgument("condition has shape ", dimsText(condition.dims()),
                                    " and 'then' ", dimsText(yes.dims()),
                                    ", expected a scalar, the shape of 'then', or a vector with "
                                    "one element per row of 'then'"));
  selectRows(ctx, s);
}

[[gnu::noinline]] void selectBroadcast(OpContext &ctx, const SelectState &s) {
  const Tensor &condition = ctx.input(0), &yes = ctx.input(1), &no = ctx.input(2);
  BroadcastPlan<3> plan;
  if (!planBroadcast<3>({condition.dims(), yes.dims(), no.dims()}, plan))
    return ctx.fail(invalidArgument("incompatible shapes: condition ", dimsText(condition.dims()),
                                    ", then ", dimsText(yes.dims()), ", else ",
                                    dimsText(no.dims())));
  if (forwardSelected(ctx, plan.resultDims()))
    return;
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, yes.dtype(), plan.resultDims()));
  int inner = plan.loops - 1;
  int steps[3];
  for (int k = 0; k < 3; ++k)
    steps[k] = plan.stride[k][inner] != 0;
  const bool *conditions = condition.data<bool>();
  auto *yesData = static_cast<const char *>(yes.raw());
  auto *noData = static_cast<const char *>(no.raw());
  auto *outData = static_cast<char *>(out->raw());
  forEachRow<3>(plan, [&](const std::array<int64_t, 3> &at, int64_t begin) {
    s.loop(conditions + at[0], steps[0], yesData + at[1] * s.size, steps[1],
           noData + at[2] * s.size, steps[2], outData + begin * s.size, plan.size[inner]);
  });
}

void runSelectV2(OpContext &ctx) {
  const Tensor &condition = ctx.input(0), &yes = ctx.input(1), &no = ctx.input(2);
  bool same = sameDims(yes.dims(), no.dims());
  if (same && forwardSelected(ctx, yes.dims()))
    return;
  if (same && sameDims(condition.dims(), yes.dims()))
    return selectSame(ctx, ctx.state<SelectState>());
  selectBroadcast(ctx, ctx.state<SelectState>());
}

template <KernelFn fn> Expected<BoundKernel> bindSelect(const BindContext &node) {
  DType dtype = node.inputTypes[1];
  SelectLoop loop = selectLoopFor(dtype);
  if (!loop)
    return unsupportedDType(node, dtype);
  return boundWith(fn, SelectState{loop, dtypeSize(dtype)});
}

// --- ClipByValue -------------------------------------------------------------------------------

template <typename T> struct ClipKernel {
  static void run(OpContext &ctx) {
    const Tensor &in = ctx.input(0), &low = ctx.input(1), &high = ctx.input(2);
    bool lowSteps = !low.isScalar(), highSteps = !high.isScalar();
    for (const Tensor *bound : {&low, &high})
      if (!bound->isScalar() && !sameDims(bound->dims(), in.dims()))
        return ctx.fail(invalidArgument(
            "clip_value_min and clip_value_max must be scalars or have the input's shape ",
            dimsText(in.dims()), "; one has ", dimsText(bound->dims())));
    const T *x = in.data<T>(), *lo = low.data<T>(), *hi = high.data<T>();
    int64_t n = in.count();
    Tensor *out = TREADLE_OR_RETURN(ctx.reuseInputOrAllocate(0, 0, in.dtype(), in.dims()));
    T *result = out->data<T>();
    if (!lowSteps && !highSteps) {
      const T least = *lo, most = *hi;
      TREADLE_VECTORISE
      for (int64_t i = 0; i < n; ++i)
        result[i] = clip(x[i], least, most);
    } else {
      for (int64_t i = 0; i < n; ++i)
        result[i] = clip(x[i], lo[lowSteps ? i : 0], hi[highSteps ? i : 0]);
    }
  }
  template <typename R> static R clip(R x, R least, R most) {
    if constexpr (isComplexType<R>) { // clamps each part separately
      return {clip(x.real(), least.real(), most.real()), clip(x.imag(), least.imag(), most.imag())};
    } else {
      R capped = most < x ? most : x;
      return capped < least ? least : capped;
    }
  }
};

// --- AddN --------------------------------------------------------------------------------------

template <typename T> struct AddNKernel {
  static void run(OpContext &ctx) {
    for (int i = 1; i < ctx.numInputs(); ++i)
      if (!sameDims(ctx.input(i).dims(), ctx.input(0).dims()))
        return ctx.fail(invalidArgument("inputs of AddN must have the same shape: input 0 has ",
                                        dimsText(ctx.input(0).dims()), ", input ", i, " has ",
                                        dimsText(ctx.input(i).dims())));
    const Tensor &first = ctx.input(0);
    const T *start = first.data<T>();
    int64_t n = first.count();
    Tensor *out = TREADLE_OR_RETURN(ctx.reuseInputOrAllocate(0, 0, first.dtype(), first.dims()));
    T *sum = out->data<T>();
    if (sum != start)
      std::copy_n(start, n, sum);
    for (int i = 1; i < ctx.numInputs(); ++i) {
      const T *x = ctx.input(i).data<T>();
      TREADLE_VECTORISE
      for (int64_t k = 0; k < n; ++k)
        sum[k] = static_cast<T>(Widened<T>(sum[k]) + Widened<T>(x[k]));
    }
  }
};

// Adds variants: lists, optionals and others, which gradients of functions produce.
void addVariants(OpContext &ctx) {
  Tensor sum = ctx.takeInput(0);
  for (int i = 1; i < ctx.numInputs(); ++i) {
    auto next = TREADLE_OR_RETURN(ctx.check(addVariantTensors(sum, ctx.input(i))));
    sum = std::move(next);
  }
  ctx.setOutput(0, std::move(sum));
}

Expected<BoundKernel> bindAddN(const BindContext &node) {
  BoundKernel bound;
  if (node.inputTypes[0] == DType::Variant) {
    bound.fn = addVariants;
    return bound;
  }
  if (!visitType(node.inputTypes[0], NumericTypes(),
                 [&]<typename T>() { bound.fn = AddNKernel<Wrapping<T>>::run; }))
    return unsupportedDType(node, node.inputTypes[0]);
  return bound;
}

const KernelEntry elementwiseSelectTable[] = {
    {"Select", bindSelect<runSelect>},
    {"SelectV2", bindSelect<runSelectV2>},
    {"ClipByValue", bindByType<ClipKernel, NumericTypes>},
    {"AccumulateNV2", bindAddN},
    {"AddN", bindAddN},
};

} // namespace

std::span<const KernelEntry> elementwiseSelectKernels() { return elementwiseSelectTable; }

} // namespace treadle
