#include "treadle/dialect/stablehlo/Window.h"

#include "mlir/IR/BuiltinTypeInterfaces.h"
#include "llvm/Support/MathExtras.h"

#include <optional>

using namespace mlir;
using namespace treadle::stablehlo;

/// Returns the size with gaps between elements; nullopt on overflow.
static std::optional<int64_t> dilated(int64_t size, int64_t dilation) {
  int64_t gaps;
  if (size == 0)
    return 0;
  if (llvm::MulOverflow(size - 1, dilation, gaps) || gaps == INT64_MAX)
    return std::nullopt;
  return gaps + 1;
}

int64_t WindowDim::places(int64_t base) const {
  if (ShapedType::isDynamic(base) || ShapedType::isDynamic(size))
    return ShapedType::kDynamic;
  std::optional<int64_t> wide = dilated(base, baseDilation), window = dilated(size, dilation);
  int64_t padded;
  if (!wide || !window || llvm::AddOverflow(*wide, low, padded) ||
      llvm::AddOverflow(padded, high, padded) || padded == INT64_MAX)
    return ShapedType::kDynamic;
  return padded <= 0 || *window > padded ? 0 : (padded - *window) / stride + 1;
}
