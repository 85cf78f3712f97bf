// What graphs spell out in several ways, by formulas.
#pragma once

#include "treadle/transforms/fuse_kernels/Formula.h"

namespace treadle::tfg {

/// Several nodes that give what an activation of ours does: _GeluExact, _GeluApproximate, _Swish,
/// _HardSwish, _HardSigmoid.
struct ActivationForm {
  llvm::StringRef op;
  mlir::Value x;
  Node root;
  NodeSet nodes;
};

/// The parts of (x - mean) / sqrt(variance + epsilon) * scale + offset. `scale` and `offset` are
/// null where there are none.
struct LayerNorm {
  mlir::Value x, scale, offset;
  float epsilon = 0;
  int64_t axis = 0; // the dimension over which the means are
  NodeSet nodes;
};

/// Finds the forms that end in a node of a body.
class FormFinder {
public:
  explicit FormFinder(const Fuser &fuser);
  std::optional<ActivationForm> activation(Node root) const;
  std::optional<LayerNorm> layerNorm(Node root) const;

private:
  const Fuser &fuser;
  // Those that the body may have: activations by their ops.
  llvm::SmallVector<std::pair<llvm::StringRef, const Formula *>> activations;
  const Formula *ofLayerNorm = nullptr;
};

/// Nodes that may be the last of a form, users first.
llvm::SmallVector<Node> endsOfForms(mlir::Block &body);

} // namespace treadle::tfg
