// Tensors made of parts of others, element by element: for those that are in memory.
#pragma once

#include "treadle/codegen/Translator.h"

namespace treadle::codegen {

MaybeValues concatByIndex(Translator &t, tfg::Node node, const Values &inputs);
/// Tensors of one shape along a new dimension.
MaybeValues packByIndex(Translator &t, tfg::Node node, const Values &inputs, int64_t axis);
/// With others around it, as many as said before and after it along each axis.
MaybeValues padByIndex(Translator &t, const Typed &from, KnownValue known,
                       llvm::ArrayRef<int64_t> before, llvm::ArrayRef<int64_t> after,
                       mlir::Value outside);
/// Its elements with as many of another one between neighbours as said for each axis.
std::optional<Typed> apartByIndex(Translator &t, const Typed &from, llvm::ArrayRef<int64_t> between,
                                  mlir::Value other);
MaybeValues reverseByIndex(Translator &t, tfg::Node node, const Values &inputs);
/// A tensor with another block at a place that is known: both are read, nothing is overwritten.
Typed blockByIndex(Translator &t, const Typed &whole, const Typed &part,
                   llvm::ArrayRef<int64_t> begins, KnownValue known);

} // namespace treadle::codegen
