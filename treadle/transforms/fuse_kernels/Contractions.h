// Convolutions and matrix products, and what happens to their results.
#pragma once

#include "treadle/transforms/fuse_kernels/Forms.h"

namespace treadle::tfg {

/// Nodes of which each alone sees the one before.
struct Chain {
  struct Link {
    Node node;
    llvm::StringRef op;  // as fused_ops has it
    unsigned input = 0;  // where the value before comes in
    NodeSet others = {}; // of an activation that is spelled out
  };

  Node last() const { return links.empty() ? first : links.back().node; }
  NodeSet nodes() const;

  Node first;
  llvm::SmallVector<Link> links;
};

/// What the fused node does with a node that takes the result of a chain as this input; empty where
/// the chain ends before it.
using StepOf = llvm::function_ref<llvm::StringRef(const Chain &, Node, unsigned)>;
/// By the value that they take.
using ActivationForms = llvm::DenseMap<mlir::Value, ActivationForm>;

/// The chain after `first`: steps, and then an activation.
Chain followChain(const Fuser &fuser, Node first, StepOf stepOf, const ActivationForms &forms);

/// What a fused node has besides the first one's own inputs and attributes.
struct Epilogue {
  llvm::SmallVector<mlir::Value> arguments;
  llvm::SmallVector<llvm::StringRef> ops;
  float epsilon = 0.0001F, alpha = 0.2F;

  /// Takes in an activation, or a step with all its inputs.
  void add(const Chain::Link &link);
};

/// Builds the fused node, without a name, where the last one of the chain is.
Node buildFused(Fuser &fuser, const Chain &chain, llvm::StringRef op, mlir::ValueRange inputs,
                const Epilogue &epilogue, mlir::Type type);

} // namespace treadle::tfg
