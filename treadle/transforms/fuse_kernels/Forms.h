// Detection of activations and normalizations that graphs spell out in several ways.
#pragma once

#include "treadle/transforms/fuse_kernels/Formula.h"

namespace treadle::tfg {

/// Nodes that compute one of our activations: _GeluExact, _GeluApproximate, _Swish, _HardSwish,
/// _HardSigmoid.
struct ActivationForm {
  llvm::StringRef op;
  mlir::Value x;
  Node root;
  NodeSet nodes;
};

/// The parts of (x - mean) / sqrt(variance + epsilon) * scale + offset. `scale` and `offset` are
/// null if missing.
struct LayerNorm {
  mlir::Value x, scale, offset;
  float epsilon = 0;
  int64_t axis = 0; // the reduced dimension
  NodeSet nodes;
};

/// Finds the forms that end at a node of a body.
class FormFinder {
public:
  explicit FormFinder(const Fuser &fuser);
  std::optional<ActivationForm> activation(Node root) const;
  std::optional<LayerNorm> layerNorm(Node root) const;

private:
  const Fuser &fuser;
  // The activations whose ops the body has, so that they may occur.
  llvm::SmallVector<std::pair<llvm::StringRef, const Formula *>> activations;
  const Formula *ofLayerNorm = nullptr;
};

/// Returns the nodes that may be the last of a form, users first.
llvm::SmallVector<Node> endsOfForms(mlir::Block &body);

} // namespace treadle::tfg
