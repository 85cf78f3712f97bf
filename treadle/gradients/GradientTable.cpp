#include "treadle/gradients/GradientTable.h"

#include "treadle/ops/OpTable.h"

namespace treadle::tfg {

const GradientTable &gradientTable() {
  static const GradientTable table = [] {
    GradientTable all;
    for (const OpDef &op : allOps())
      if (op.facts().hasNoGradient)
        all[op.name()];
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
