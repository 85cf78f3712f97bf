// Gathers the families into one registry.
#include "treadle/kernels/Families.h"

namespace treadle {

const KernelRegistry &builtinKernels() {
  static const KernelRegistry *registry = [] {
    auto *all = new KernelRegistry;
    // for each family: all->add(xyzKernels());
    all->add(elementwiseArithmeticKernels());
    all->add(elementwiseCompareKernels());
    all->add(elementwiseDivisionKernels());
    all->add(reductionArgKernels());
    all->add(reductionKernels());
    all->add(elementwiseUnaryKernels());
    all->add(elementwiseSelectKernels());
    all->add(elementwiseMathKernels());
    all->add(elementwiseGradKernels());
    all->add(castKernels());
    all->add(fourierKernels());
    all->add(specialFunctionKernels());
    all->add(einsumKernels());
    all->add(decompositionKernels());
    all->add(linearAlgebraKernels());
    all->add(lstmKernels());
    all->add(normalizationKernels());
    all->add(poolingKernels());
    all->add(convolutionKernels());
    all->add(bincountKernels());
    all->add(topKKernels());
    all->add(cumulativeKernels());
    all->add(softmaxKernels());
    all->add(biasKernels());
    all->add(activationKernels());
    all->add(randomStatelessKernels());
    all->add(randomKernels());
    all->add(sparseSegmentKernels());
    all->add(segmentKernels());
    all->add(matMulKernels());
    all->add(concatKernels());
    all->add(fillKernels());
    all->add(passKernels());
    all->add(shapeKernels());
    all->add(gatherKernels());
    all->add(sliceKernels());
    all->add(tileKernels());
    all->add(asStringKernels());
    all->add(searchKernels());
    all->add(spaceKernels());
    all->add(matrixKernels());
    all->add(scatterKernels());
    all->add(stringKernels());
    all->add(setKernels());
    all->add(partitionKernels());
    all->add(uniqueKernels());
    all->add(reverseKernels());
    all->add(transposeKernels());
    all->add(variableKernels());
    all->add(refVariableKernels());
    all->add(assertKernels());
    all->add(printKernels());
    all->add(tensorArrayKernels());
    all->add(stackKernels());
    all->add(queueKernels());
    all->add(mutexKernels());
    all->add(rendezvousKernels());
    all->add(barrierKernels());
    all->add(optionalKernels());
    all->add(tensorListKernels());
    all->add(tensorListWholeKernels());
    all->add(variableScatterKernels());
    all->add(sparseSerializeKernels());
    all->add(raggedKernels());
    all->add(optimizerKernels());
    all->add(accumulatorKernels());
    return all;
  }();
  return *registry;
}

} // namespace treadle
