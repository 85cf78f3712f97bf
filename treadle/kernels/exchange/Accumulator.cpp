#include "treadle/kernels/exchange/Accumulator.h"

#include "treadle/kernels/ElementShapes.h"
#include "treadle/tensor/BudgetedMemory.h"

#include <algorithm>

namespace treadle {

// --- waiting ops -------------------------------------------------------------------------------

Expected<std::vector<Tensor>> Accumulator::takeSum() {
  int64_t count = std::exchange(gradients, 0);
  ++globalStep;
  return sum->take(count, traits.isMean);
}

// Completes waiting ops as far as there are enough gradients. The caller resumes them after
// unlocking.
std::vector<Accumulator::CompletedTake> Accumulator::completeWaiting() {
  std::vector<CompletedTake> finished;
  while (!takers.empty() && (gradients >= takers.front().required ||
                             takers.front().suspension->isUnique())) { // its run has ended
    WaitingTake first = std::move(takers.front());
    takers.erase(takers.begin());
    if (!first.suspension->isUnique() && first.suspension->claim())
      finished.push_back({std::move(first.suspension), takeSum()});
  }
  return finished;
}

void Accumulator::take(OpContext &ctx, int64_t required) {
  std::lock_guard lock(mutex);
  // Ops that wait longer may belong to runs that have ended.
  std::erase_if(takers, [](const WaitingTake &taker) { return taker.suspension->isUnique(); });
  if (gradients < required || !takers.empty()) {
    takers.push_back({required, ctx.suspend()});
    return;
  }
  auto result = ctx.check(takeSum());
  for (size_t i = 0; result && i < result->size(); ++i)
    ctx.setOutput(static_cast<int>(i), std::move((*result)[i]));
}

void Accumulator::apply(OpContext &ctx, int64_t localStep, std::vector<Tensor> gradient) {
  std::vector<CompletedTake> finished;
  {
    std::lock_guard lock(mutex);
    if (localStep < globalStep)
      return;
    if (auto added = sum->add(std::move(gradient)); !added)
      return ctx.fail(std::move(added.error()));
    ++gradients;
    finished = completeWaiting();
  }
  for (CompletedTake &f : finished)
    if (f.result)
      f.suspension->complete(std::move(*f.result));
    else
      f.suspension->fail(std::move(f.result.error()));
}

void Accumulator::setGlobalStep(int64_t step) {
  std::lock_guard lock(mutex);
  globalStep = step;
}

int64_t Accumulator::count() const {
  std::lock_guard lock(mutex);
  return gradients;
}

// --- sums --------------------------------------------------------------------------------------

namespace {

// Computes tensor /= number in place.
Expected<void> divide(Tensor &tensor, int64_t number) {
  Tensor divisor;
  visitType(tensor.dtype(), NumericTypes(), [&]<typename T>() {
    divisor = Tensor::scalar<T>(tensor.dtype(), static_cast<T>(static_cast<float>(number)));
  });
  UpdateLoop loop = divisor ? updateLoop(Update::Div, tensor.dtype()) : nullptr;
  if (!loop)
    return Unexpected(unimplemented("tensors of ", dtypeName(tensor.dtype()), " have no mean"));
  loop(tensor.raw(), tensor.raw(), divisor.raw(), false, tensor.count());
  return {};
}

Error incompatibleGradient(const Tensor &gradient, const PartialShape &expected) {
  return invalidArgument("the gradient has shape ", dimsText(gradient.dims()), ", expected ",
                         expected.text());
}

// Returns the mean of `count` tensors, given their sum.
Expected<Tensor> meanOf(Tensor sum, int64_t count) {
  if (count <= 1)
    return sum;
  Tensor own = TREADLE_TRY(sum.isUnique() ? std::move(sum) : sum.clone());
  TREADLE_TRY(divide(own, count));
  return own;
}

class DenseSum final : public GradientSum {
public:
  explicit DenseSum(PartialShape shape) : shape(std::move(shape)) {}

  Expected<void> add(std::vector<Tensor> gradient) override {
    Tensor &g = gradient[0];
    if (!shape.accepts(g.dims()))
      return Unexpected(incompatibleGradient(g, shape));
    if (total && !std::ranges::equal(total.dims(), g.dims()))
      return Unexpected(incompatibleGradient(g, shapeOf(total)));
    Tensor next = TREADLE_TRY(total ? addTensors(std::move(total), g) : std::move(g));
    total = std::move(next);
    return {};
  }

  Expected<std::vector<Tensor>> take(int64_t count, bool divides) override {
    return meanOf(std::exchange(total, {}), divides ? count : 1).map([](Tensor mean) {
      return std::vector{std::move(mean)};
    });
  }

private:
  PartialShape shape;
  Tensor total;
};

// The sum of sparse gradients. A row's mean is over the gradients that contain it.
class SparseSum final : public GradientSum {
public:
  SparseSum(DType dtype, PartialShape shape) : dtype(dtype), shape(std::move(shape)) {}

  Expected<void> add(std::vector<Tensor> gradient) override {
    const Tensor &indices = gradient[0], &values = gradient[1], &dims = gradient[2];
    TREADLE_TRY(check(indices, values, dims));
    for (int64_t i = 0; i < indices.count(); ++i)
      TREADLE_TRY(addRow(indexAt(indices, i), rowOf(values, i)));
    whole = shapeOf(values);
    whole.dims[0] = dims.count()                           ? indexAt(dims, 0)
                    : shape.hasRank && !shape.dims.empty() ? shape.dims[0]
                                                           : -1;
    return {};
  }

  Expected<std::vector<Tensor>> take(int64_t, bool divides) override {
    std::vector<int64_t> indices;
    std::vector<Tensor> means;
    for (auto &[index, row] : rows) {
      Tensor mean = TREADLE_TRY(meanOf(std::move(row.sum), divides ? row.count : 1));
      indices.push_back(index);
      means.push_back(std::move(mean));
    }
    rows.clear();
    Dims dims = whole.dims;
    return stackTensors(dtype, means, dims.subspan(1)).map([&](Tensor values) {
      return std::vector{Tensor::vector<int64_t>(DType::Int64, indices), std::move(values),
                         Tensor::vector<int64_t>(DType::Int64, dims)};
    });
  }

private:
  struct RowSum {
    Tensor sum;
    int64_t count = 0;
  };

  // Adds to a row; drops the row if that fails.
  Expected<void> addRow(int64_t index, Tensor value) {
    auto [entry, isNew] = rows.try_emplace(index);
    RowSum &row = entry->second;
    Expected<Tensor> sum = std::move(value);
    if (!isNew)
      sum = callOrUndo([&] { return addTensors(std::move(row.sum), *sum); },
                       [&] { rows.erase(entry); });
    if (!sum) {
      rows.erase(entry);
      return Unexpected(std::move(sum.error()));
    }
    row.sum = std::move(*sum);
    ++row.count;
    return {};
  }

  Expected<void> check(const Tensor &indices, const Tensor &values, const Tensor &dims) const {
    if (indices.rank() != 1 || values.rank() < 1 || values.dim(0) != indices.count() ||
        dims.rank() != 1)
      return Unexpected(invalidArgument("the gradient has values ", tensorTypeText(values),
                                        " for the indices ", tensorTypeText(indices),
                                        ", expected a row for each"));
    PartialShape own = shapeOf(values), others = rows.empty() ? shape : whole;
    own.dims[0] = -1; // rows may be missing
    if (!areCompatible(own, others) || !areCompatible(own, shape))
      return Unexpected(incompatibleGradient(values, others));
    int64_t limit = dims.count() ? indexAt(dims, 0) : INT64_MAX;
    for (int64_t i = 0; i < indices.count(); ++i)
      if (int64_t index = indexAt(indices, i); index < 0 || index >= limit)
        return Unexpected(
            invalidArgument("gradient index ", index, " is outside [0, ", limit, ")"));
    return {};
  }

  DType dtype;
  PartialShape shape;
  const MemoryShare share;
  std::map<int64_t, RowSum, std::less<>, BudgetedAllocator<std::pair<const int64_t, RowSum>>> rows{
      share};
  PartialShape whole; // of the last gradient, as if it had all rows
};

} // namespace

std::unique_ptr<GradientSum> makeDenseSum(const AccumulatorTraits &traits) {
  return std::make_unique<DenseSum>(traits.shape);
}
std::unique_ptr<GradientSum> makeSparseSum(const AccumulatorTraits &traits) {
  return std::make_unique<SparseSum>(traits.dtype, traits.shape);
}

} // namespace treadle
