// The tables of the kernel families, one function a family, each defined beside its kernels.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

// One line a family: std::span<const KernelEntry> xyzKernels();
std::span<const KernelEntry> elementwiseArithmeticKernels();
std::span<const KernelEntry> elementwiseCompareKernels();
std::span<const KernelEntry> elementwiseDivisionKernels();
std::span<const KernelEntry> reductionArgKernels();
std::span<const KernelEntry> reductionKernels();
std::span<const KernelEntry> elementwiseUnaryKernels();
std::span<const KernelEntry> elementwiseSelectKernels();
std::span<const KernelEntry> elementwiseMathKernels();
std::span<const KernelEntry> elementwiseGradKernels();
std::span<const KernelEntry> castKernels();
std::span<const KernelEntry> einsumKernels();
std::span<const KernelEntry> lstmKernels();
std::span<const KernelEntry> normalizationKernels();
std::span<const KernelEntry> specialFunctionKernels();
std::span<const KernelEntry> fourierKernels();
std::span<const KernelEntry> decompositionKernels();
std::span<const KernelEntry> linearAlgebraKernels();
std::span<const KernelEntry> poolingKernels();
std::span<const KernelEntry> convolutionKernels();
std::span<const KernelEntry> bincountKernels();
std::span<const KernelEntry> topKKernels();
std::span<const KernelEntry> cumulativeKernels();
std::span<const KernelEntry> softmaxKernels();
std::span<const KernelEntry> biasKernels();
std::span<const KernelEntry> activationKernels();
std::span<const KernelEntry> randomStatelessKernels();
std::span<const KernelEntry> randomKernels();
std::span<const KernelEntry> sparseSegmentKernels();
std::span<const KernelEntry> segmentKernels();
std::span<const KernelEntry> matMulKernels();
std::span<const KernelEntry> concatKernels();
std::span<const KernelEntry> fillKernels();
std::span<const KernelEntry> passKernels();
std::span<const KernelEntry> shapeKernels();
std::span<const KernelEntry> gatherKernels();
std::span<const KernelEntry> sliceKernels();
std::span<const KernelEntry> tileKernels();
std::span<const KernelEntry> asStringKernels();
std::span<const KernelEntry> searchKernels();
std::span<const KernelEntry> spaceKernels();
std::span<const KernelEntry> matrixKernels();
std::span<const KernelEntry> scatterKernels();
std::span<const KernelEntry> stringKernels();
std::span<const KernelEntry> setKernels();
std::span<const KernelEntry> partitionKernels();
std::span<const KernelEntry> uniqueKernels();
std::span<const KernelEntry> reverseKernels();
std::span<const KernelEntry> transposeKernels();
std::span<const KernelEntry> variableKernels();
std::span<const KernelEntry> refVariableKernels();
std::span<const KernelEntry> assertKernels();
std::span<const KernelEntry> printKernels();
std::span<const KernelEntry> tensorArrayKernels();
std::span<const KernelEntry> stackKernels();
std::span<const KernelEntry> queueKernels();
std::span<const KernelEntry> mutexKernels();
std::span<const KernelEntry> rendezvousKernels();
std::span<const KernelEntry> barrierKernels();
std::span<const KernelEntry> optionalKernels();
std::span<const KernelEntry> tensorListKernels();
std::span<const KernelEntry> tensorListWholeKernels();
std::span<const KernelEntry> variableScatterKernels();
std::span<const KernelEntry> sparseSerializeKernels();
std::span<const KernelEntry> raggedKernels();
std::span<const KernelEntry> optimizerKernels();
std::span<const KernelEntry> accumulatorKernels();

/// All built-in kernels. Built at the first call; thread-safe.
const KernelRegistry &builtinKernels();

} // namespace treadle
