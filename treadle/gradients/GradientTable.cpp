#include "treadle/gradients/GradientTable.h"

namespace treadle::tfg {

/// Ops whose results don't change with inputs that have gradients, or in steps.
static void addOpsWithoutGradients(GradientTable &table) {
  for (const char *op : {"All",
                         "Any",
                         "ApproximateEqual",
                         "ArgMax",
                         "ArgMin",
                         "AsString",
                         "Bincount",
                         "BroadcastGradientArgs",
                         "Bucketize",
                         "Ceil",
                         "ComputeAccidentalHits",
                         "ConcatOffset",
                         "Const",
                         "DenseBincount",
                         "EditDistance",
                         "Equal",
                         "FakeParam",
                         "Floor",
                         "FloorDiv",
                         "Greater",
                         "GreaterEqual",
                         "HistogramFixedWidth",
                         "InTopK",
                         "InTopKV2",
                         "InvertPermutation",
                         "IsFinite",
                         "IsInf",
                         "IsNan",
                         "Less",
                         "LessEqual",
                         "LinSpace",
                         "LogicalAnd",
                         "LogicalNot",
                         "LogicalOr",
                         "LowerBound",
                         "Multinomial",
                         "NextAfter",
                         "NonMaxSuppression",
                         "NonMaxSuppressionV2",
                         "NonMaxSuppressionV3",
                         "NonMaxSuppressionV4",
                         "NonMaxSuppressionV5",
                         "NotEqual",
                         "OneHot",
                         "OnesLike",
                         "ParameterizedTruncatedNormal",
                         "Placeholder",
                         "RandomPoisson",
                         "RandomPoissonV2",
                         "RandomStandardNormal",
                         "RandomUniform",
                         "RandomUniformInt",
                         "Range",
                         "Rank",
                         "ReduceJoin",
                         "Rint",
                         "Round",
                         "SampleDistortedBoundingBox",
                         "Shape",
                         "ShapeN",
                         "Size",
                         "StatefulStandardNormalV2",
                         "StatefulTruncatedNormal",
                         "StatefulUniform",
                         "StatefulUniformInt",
                         "StatelessMultinomial",
                         "StatelessRandomNormal",
                         "StatelessRandomNormalV2",
                         "StatelessRandomUniform",
                         "StatelessRandomUniformInt",
                         "StatelessRandomUniformIntV2",
                         "StatelessRandomUniformV2",
                         "StatelessTruncatedNormal",
                         "StatelessTruncatedNormalV2",
                         "StopGradient",
                         "TruncateDiv",
                         "TruncatedNormal",
                         "Unique",
                         "UniqueV2",
                         "UniqueWithCounts",
                         "UpperBound",
                         "VarHandleOp",
                         "VarIsInitializedOp",
                         "VariableShape",
                         "Where",
                         "ZerosLike"})
    table[op];
}

const GradientTable &gradientTable() {
  static const GradientTable table = [] {
    GradientTable all;
    addOpsWithoutGradients(all);
    addUnaryGradients(all);
    addBinaryGradients(all);
    addArrayGradients(all);
    addSliceGradients(all);
    addReductionGradients(all);
    addMatrixGradients(all);
    addLinearAlgebraGradients(all);
    addNeuralGradients(all);
    addActivationGradients(all);
    addConvolutionGradients(all);
    addImageGradients(all);
    addCumulativeGradients(all);
    addGatherGradients(all);
    addEinsumGradients(all);
    addListGradients(all);
    addTensorArrayGradients(all);
    return all;
  }();
  return table;
}

} // namespace treadle::tfg
