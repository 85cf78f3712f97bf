// The gradients of ops: one function each that builds the gradients of a node's inputs.
#pragma once

#include "treadle/gradients/Emitter.h"

#include <functional>

namespace treadle::tfg {

/// A node of the function under differentiation, with the gradients of its results.
struct DifferentiatedNode {
  Node node;
  Values gradients; // none is null

  mlir::Value x(unsigned i) const { return node->getOperand(i); }
  mlir::Value y(unsigned i) const { return node->getResult(i); }
  mlir::Value dy(unsigned i = 0) const { return gradients[i]; }
  unsigned numInputs() const { return node.numData(); }
  mlir::Type element() const { return elementOf(node->getOperand(0)); }
  bool flag(llvm::StringRef name) const {
    auto value = node.attr<mlir::BoolAttr>(name);
    return value && value.getValue();
  }
};

/// Returns the gradients of the inputs in order; null for inputs without one, and trailing ones may
/// be omitted.
using GradientFunction = std::function<Values(Emitter &, const DifferentiatedNode &)>;
using GradientTable = llvm::StringMap<GradientFunction>;

/// Returns the table of all families below. An op without a gradient, whose inputs count as
/// constant, has an empty function.
const GradientTable &gradientTable();

void addUnaryGradients(GradientTable &table);
void addBinaryGradients(GradientTable &table);
void addArrayGradients(GradientTable &table);
void addSliceGradients(GradientTable &table);
void addReductionGradients(GradientTable &table);
void addMatrixGradients(GradientTable &table);
void addLinearAlgebraGradients(GradientTable &table);
void addNeuralGradients(GradientTable &table);
void addActivationGradients(GradientTable &table);
void addConvolutionGradients(GradientTable &table);
void addImageGradients(GradientTable &table);
void addCumulativeGradients(GradientTable &table);
void addGatherGradients(GradientTable &table);
void addEinsumGradients(GradientTable &table);
void addListGradients(GradientTable &table);
void addTensorArrayGradients(GradientTable &table);

/// Sums gradients in the result's shape over the dimensions along which an elementwise op broadcast
/// its inputs.
Values summedToInputs(Emitter &e, const DifferentiatedNode &f, mlir::Value gx, mlir::Value gy);

/// Like `summedToInputs`, but for a matrix product, which broadcasts only batch dimensions.
Values summedOverBatches(Emitter &e, const DifferentiatedNode &f, mlir::Value gx, mlir::Value gy);

/// Returns the shape of a reduction's input with size 1 along the reduced axes.
mlir::Value keptShape(Emitter &e, const DifferentiatedNode &f, mlir::Value shape);

} // namespace treadle::tfg
