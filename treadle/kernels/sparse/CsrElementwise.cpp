// Elementwise ops on CSR matrices: sums, scaling, softmax.
#include "treadle/kernels/sparse/CsrMatrix.h"

#include <algorithm>
#include <cmath>

namespace treadle {
namespace {

/// Outputs matrices with the structure of `like` and other values.
void setValues(OpContext &ctx, const CsrObject &like, Tensor values) {
  ctx.setOutput(0, makeVariant(makeRef<CsrObject>(like.shape, like.batchStarts, like.rowStarts,
                                                  like.columns, std::move(values))));
}

// Inputs: a, b, alpha, beta: alpha * a + beta * b. Entries that cancel out are kept as zeros.
template <typename T> struct AddKernel {
  static void run(OpContext &ctx) {
    const CsrObject *a = csrInput(ctx, 0, dtypeOf<T>);
    const CsrObject *b = TREADLE_OR_RETURN(a ? csrInput(ctx, 1, dtypeOf<T>) : nullptr);
    const Tensor &alpha = ctx.input(2), &beta = ctx.input(3);
    if (a->shape != b->shape || alpha.rank() != 0 || beta.rank() != 0)
      return ctx.fail(invalidArgument("the operands' shapes are ", dimsText(a->shape), " and ",
                                      dimsText(b->shape), ", alpha and beta are ",
                                      tensorTypeText(alpha), " and ", tensorTypeText(beta),
                                      ", expected equal shapes and scalars"));
    std::vector<CsrOf<T>> sums;
    for (int64_t i = 0; i < a->batch(); ++i)
      sums.push_back(alpha.scalarValue<T>() * a->at<T>(i) + beta.scalarValue<T>() * b->at<T>(i));
    if (auto sum = csrOfMatrices<T>(ctx, a->shape, sums))
      ctx.setOutput(0, makeVariant(std::move(sum)));
  }
};

// Inputs: matrices, and a scalar or a factor [batch,1,1] for each.
template <typename T> struct ScaleKernel {
  static void run(OpContext &ctx) {
    const CsrObject *a = TREADLE_OR_RETURN(csrInput(ctx, 0, dtypeOf<T>));
    const Tensor &b = ctx.input(1);
    bool isEach = b.rank() == 3 && b.dim(0) == a->batch() && b.dim(1) == 1 && b.dim(2) == 1 &&
                  a->shape.size() == 3;
    if (b.rank() != 0 && !isEach)
      return ctx.fail(invalidArgument("the factor is ", tensorTypeText(b),
                                      ", expected a scalar or [batch,1,1] for ",
                                      dimsText(a->shape)));
    auto values = TREADLE_OR_RETURN(ctx.check(Tensor::make(dtypeOf<T>, a->values.dims())));
    for (int64_t i = 0; i < a->batch(); ++i)
      std::transform(a->values.data<T>() + a->batchStarts[i],
                     a->values.data<T>() + a->batchStarts[i + 1],
                     values.template data<T>() + a->batchStarts[i],
                     [factor = b.data<T>()[isEach ? i : 0]](T x) { return x * factor; });
    setValues(ctx, *a, std::move(values));
  }
};

/// Calls `visit` with the begin and end of each row's values.
template <typename Visit> void forEachRow(const CsrObject &matrix, Visit visit) {
  for (int64_t i = 0; i < matrix.batch(); ++i)
    for (int64_t row = 0; row < matrix.rows(); ++row)
      visit(matrix.batchStarts[i] + matrix.starts(i)[row],
            matrix.batchStarts[i] + matrix.starts(i)[row + 1]);
}

// Missing entries are ignored.
template <typename T> struct SoftmaxKernel {
  static void run(OpContext &ctx) {
    const CsrObject *in = TREADLE_OR_RETURN(csrInput(ctx, 0, dtypeOf<T>));
    auto values = TREADLE_OR_RETURN(ctx.check(Tensor::make(dtypeOf<T>, in->values.dims())));
    const T *logits = in->values.data<T>();
    T *out = values.template data<T>();
    forEachRow(*in, [&](int64_t begin, int64_t end) {
      if (begin == end)
        return;
      T largest = *std::max_element(logits + begin, logits + end), sum(0);
      for (int64_t i = begin; i < end; ++i)
        sum += out[i] = std::exp(logits[i] - largest);
      for (int64_t i = begin; i < end; ++i)
        out[i] /= sum;
    });
    setValues(ctx, *in, std::move(values));
  }
};

// Inputs: softmax, and the gradient; the gradient's entries outside of the softmax's are ignored.
template <typename T> struct SoftmaxGradKernel {
  static void run(OpContext &ctx) {
    const CsrObject *softmax = csrInput(ctx, 0, dtypeOf<T>);
    const CsrObject *grad = TREADLE_OR_RETURN(softmax ? csrInput(ctx, 1, dtypeOf<T>) : nullptr);
    if (softmax->shape != grad->shape)
      return ctx.fail(invalidArgument("softmax and grad_softmax have shapes ",
                                      dimsText(softmax->shape), " and ", dimsText(grad->shape),
                                      ", expected equal ones"));
    auto values = TREADLE_OR_RETURN(ctx.check(Tensor::make(dtypeOf<T>, softmax->values.dims())));
    T *out = values.template data<T>();
    for (int64_t i = 0; i < softmax->batch(); ++i) {
      CsrOf<T> product = softmax->at<T>(i).cwiseProduct(grad->at<T>(i));
      for (int64_t row = 0; row < softmax->rows(); ++row) {
        T sum = product.row(row).sum();
        const int32_t *starts = softmax->starts(i);
        for (int32_t k = softmax->batchStarts[i] + starts[row];
             k < softmax->batchStarts[i] + starts[row + 1]; ++k) {
          T g = grad->at<T>(i).coeff(row, softmax->columns.data<int32_t>()[k]);
          out[k] = (g - sum) * softmax->values.data<T>()[k];
        }
      }
    }
    setValues(ctx, *softmax, std::move(values));
  }
};

template <template <typename> class Kernel>
Expected<BoundKernel> bindByOperand(const BindContext &node) {
  return bindForType<Kernel, MatrixTypes>(node, node.attrs.getOr("T", DType::Invalid));
}

using RealMatrixTypes = TypeList<float, double>;

const KernelEntry csrElementwiseTable[] = {
    {"SparseMatrixAdd", bindByOperand<AddKernel>},
    {"SparseMatrixMul", bindByOperand<ScaleKernel>},
    {"SparseMatrixSoftmax", bindCsr<SoftmaxKernel, RealMatrixTypes>},
    {"SparseMatrixSoftmaxGrad", bindCsr<SoftmaxGradKernel, RealMatrixTypes>},
};

} // namespace

std::span<const KernelEntry> csrElementwiseKernels() { return csrElementwiseTable; }

} // namespace treadle
