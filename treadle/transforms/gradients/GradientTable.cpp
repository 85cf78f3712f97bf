#include "treadle/transforms/gradients/GradientTable.h"

namespace treadle::tfg {

static void addOpsWithoutGradients(GradientTable &table) {
  for (const char *op : {"ArgMax",
                         "ArgMin",
                         "BroadcastGradientArgs",
                         "Ceil",
                         "ConcatOffset",
                         "Const",
                         "EditDistance",
                         "Equal",
                         "Floor",
                         "FloorDiv",
                         "Greater",
                         "GreaterEqual",
                         "InvertPermutation",
                         "Less",
                         "LessEqual",
                         "LinSpace",
                         "LogicalAnd",
                         "LogicalNot",
                         "LogicalOr",
                         "NotEqual",
                         "OneHot",
                         "OnesLike",
                         "RandomStandardNormal",
                         "RandomUniform",
                         "RandomUniformInt",
                         "Range",
                         "Rank",
                         "Rint",
                         "Round",
                         "Shape",
                         "ShapeN",
                         "Size",
                         "StatelessRandomNormal",
                         "StatelessRandomNormalV2",
                         "StatelessRandomUniform",
                         "StatelessRandomUniformV2",
                         "StopGradient",
                         "TruncateDiv",
                         "TruncatedNormal",
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
    addNeuralGradients(all);
    return all;
  }();
  return table;
}

} // namespace treadle::tfg
