// Fusion of convolutions and matrix products with their epilogues.
#pragma once

#include "treadle/transforms/fuse_kernels/Forms.h"

namespace treadle::tfg {

/// A sequence of nodes, each of which is the only user of the one before.
struct Chain {
  struct Link {
    Node node;
    llvm::StringRef op;  // the name in fused_ops
    unsigned input = 0;  // the input that takes the previous value
    NodeSet others = {}; // of a decomposed activation
  };

  Node last() const { return links.empty() ? first : links.back().node; }
  NodeSet nodes() const;

  Node first;
  llvm::SmallVector<Link> links;
};

/// Returns the name in fused_ops of a node that takes the result of a chain as this input; empty if
/// it ends the chain.
using StepOf = llvm::function_ref<llvm::StringRef(const Chain &, Node, unsigned)>;
/// Activations by their inputs.
using ActivationForms = llvm::DenseMap<mlir::Value, ActivationForm>;

/// Returns the chain that starts at `first`: steps, then possibly an activation.
Chain followChain(const Fuser &fuser, Node first, StepOf stepOf, const ActivationForms &forms);

/// The inputs and attributes of a fused node in addition to those of its first node.
struct Epilogue {
  llvm::SmallVector<mlir::Value> arguments;
  llvm::SmallVector<llvm::StringRef> ops;
  float epsilon = 0.0001F, alpha = 0.2F;

  /// Adds an activation, or a step with all of its inputs.
  void add(const Chain::Link &link);
};

/// Builds the fused node, without a name, at the position of the last node of the chain.
Node buildFused(Fuser &fuser, const Chain &chain, llvm::StringRef op, mlir::ValueRange inputs,
                const Epilogue &epilogue, mlir::Type type);

} // namespace treadle::tfg
