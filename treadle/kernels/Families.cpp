// Gathers the families into one registry.
#include "treadle/kernels/Families.h"

// One line a family; `std::span<const KernelEntry> xyzKernels()` stands at the end of its file. It
// is declared here alone, so that a new family doesn't compile the others anew.
#define TREADLE_FAMILIES(X)                                                                        \
  X(elementwiseArithmetic)                                                                         \
  X(elementwiseCompare)                                                                            \
  X(elementwiseDivision)                                                                           \
  X(reductionArg)                                                                                  \
  X(reduction)                                                                                     \
  X(elementwiseUnary)                                                                              \
  X(elementwiseSelect)                                                                             \
  X(elementwiseMath)                                                                               \
  X(elementwiseGrad)                                                                               \
  X(cast)                                                                                          \
  X(fourier)                                                                                       \
  X(specialFunction)                                                                               \
  X(integralFunction)                                                                              \
  X(einsum)                                                                                        \
  X(decomposition)                                                                                 \
  X(linearAlgebra)                                                                                 \
  X(matrixFunction)                                                                                \
  X(leastSquares)                                                                                  \
  X(eigenvalue)                                                                                    \
  X(bandedMatrix)                                                                                  \
  X(lstm)                                                                                          \
  X(lstmGates)                                                                                     \
  X(normalization)                                                                                 \
  X(layerNorm)                                                                                     \
  X(pooling)                                                                                       \
  X(convolution)                                                                                   \
  X(bincount)                                                                                      \
  X(topK)                                                                                          \
  X(selection)                                                                                     \
  X(candidateSampling)                                                                             \
  X(cumulative)                                                                                    \
  X(softmax)                                                                                       \
  X(bias)                                                                                          \
  X(activation)                                                                                    \
  X(randomStateless)                                                                               \
  X(random)                                                                                        \
  X(randomStateful)                                                                                \
  X(randomSample)                                                                                  \
  X(randomTruncated)                                                                               \
  X(multinomial)                                                                                   \
  X(sparseSegment)                                                                                 \
  X(segment)                                                                                       \
  X(matMul)                                                                                        \
  X(concat)                                                                                        \
  X(xla)                                                                                           \
  X(xlaCustomCall)                                                                                 \
  X(xlaRandom)                                                                                     \
  X(fill)                                                                                          \
  X(pass)                                                                                          \
  X(shape)                                                                                         \
  X(gather)                                                                                        \
  X(slice)                                                                                         \
  X(tile)                                                                                          \
  X(asString)                                                                                      \
  X(search)                                                                                        \
  X(space)                                                                                         \
  X(matrix)                                                                                        \
  X(scatter)                                                                                       \
  X(string)                                                                                        \
  X(set)                                                                                           \
  X(partition)                                                                                     \
  X(unique)                                                                                        \
  X(reverse)                                                                                       \
  X(transpose)                                                                                     \
  X(variable)                                                                                      \
  X(refVariable)                                                                                   \
  X(assert)                                                                                        \
  X(print)                                                                                         \
  X(tensorArray)                                                                                   \
  X(stack)                                                                                         \
  X(queue)                                                                                         \
  X(mutex)                                                                                         \
  X(rendezvous)                                                                                    \
  X(collective)                                                                                    \
  X(barrier)                                                                                       \
  X(optional)                                                                                      \
  X(tensorList)                                                                                    \
  X(tensorListWhole)                                                                               \
  X(variableScatter)                                                                               \
  X(sparseSerialize)                                                                               \
  X(ragged)                                                                                        \
  X(optimizer)                                                                                     \
  X(checkpoint)                                                                                    \
  X(regex)                                                                                         \
  X(stringSplit)                                                                                   \
  X(lookupTable)                                                                                   \
  X(raggedToTensor)                                                                                \
  X(accumulator)                                                                                   \
  X(stringHash)                                                                                    \
  X(bytes)                                                                                         \
  X(stringNumber)                                                                                  \
  X(parseExample)                                                                                  \
  X(imageResize)                                                                                   \
  X(scaleAndTranslate)                                                                             \
  X(cropAndResize)                                                                                 \
  X(nonMaxSuppression)                                                                             \
  X(combinedNonMaxSuppression)                                                                     \
  X(imageColor)                                                                                    \
  X(imageTransform)                                                                                \
  X(numericCheck)                                                                                  \
  X(fakeQuantization)                                                                              \
  X(quantize)                                                                                      \
  X(quantizeAndDequantize)                                                                         \
  X(requantize)                                                                                    \
  X(quantizedMath)                                                                                 \
  X(sparseShape)                                                                                   \
  X(sparseMath)                                                                                    \
  X(sparseMerge)                                                                                   \
  X(featureCross)                                                                                  \
  X(countSparse)                                                                                   \
  X(sparseGradient)                                                                                \
  X(sparseTensorMap)                                                                               \
  X(csrMatrix)                                                                                     \
  X(csrProduct)                                                                                    \
  X(csrElementwise)                                                                                \
  X(tensorMap)                                                                                     \
  X(compositeTensor)                                                                               \
  X(staging)                                                                                       \
  X(mapStaging)                                                                                    \
  X(sessionTensor)                                                                                 \
  X(batch)                                                                                         \
  X(summary)                                                                                       \
  X(summaryWriter)                                                                                 \
  X(reader)                                                                                        \
  X(debugNumber)                                                                                   \
  X(crossProduct)                                                                                  \
  X(imageSummary)                                                                                  \
  X(raggedRow)                                                                                     \
  X(substring)                                                                                     \
  X(unicode)                                                                                       \
  X(decodeImage)                                                                                   \
  X(encodeImage)                                                                                   \
  X(file)                                                                                          \
  X(ctcLoss)                                                                                       \
  X(ctcDecode)                                                                                     \
  X(editDistance)                                                                                  \
  X(blockLstm)                                                                                     \
  X(gru)                                                                                           \
  X(drawBoxes)                                                                                     \
  X(randomCrop)                                                                                    \
  X(glimpse)                                                                                       \
  X(wavFile)                                                                                       \
  X(spectrogram)                                                                                   \
  X(dilation)                                                                                      \
  X(globalNormalization)                                                                           \
  X(remapping)                                                                                     \
  X(fractionalPooling)                                                                             \
  X(fusedPadding)                                                                                  \
  X(sliceFile)

namespace treadle {

#define TREADLE_DECLARE(family) std::span<const KernelEntry> family##Kernels();
TREADLE_FAMILIES(TREADLE_DECLARE)
#undef TREADLE_DECLARE

const KernelRegistry &builtinKernels() {
  static const KernelRegistry *registry = [] {
    auto *all = new KernelRegistry;
#define TREADLE_ADD(family) all->add(family##Kernels());
    TREADLE_FAMILIES(TREADLE_ADD)
#undef TREADLE_ADD
    return all;
  }();
  return *registry;
}

} // namespace treadle
