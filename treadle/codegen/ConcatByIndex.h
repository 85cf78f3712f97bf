// Tensors in memory composed of parts of others, element by element.
#pragma once

#include "treadle/codegen/Translator.h"

namespace treadle::codegen {

MaybeValues concatByIndex(Translator &t, tfg::Node node, const Values &inputs);
/// Stacks tensors of one shape along a new dimension.
MaybeValues packByIndex(Translator &t, tfg::Node node, const Values &inputs, int64_t axis);
/// Pads a tensor by the given amounts before and after it along each axis.
MaybeValues padByIndex(Translator &t, const TracedValue &from, KnownValue known,
                       llvm::ArrayRef<int64_t> before, llvm::ArrayRef<int64_t> after,
                       mlir::Value outside);
/// Inserts the given number of elements of another tensor between neighbours along each axis.
std::optional<TracedValue> interiorPadByIndex(Translator &t, const TracedValue &from,
                                              llvm::ArrayRef<int64_t> between, mlir::Value other);
MaybeValues reverseByIndex(Translator &t, tfg::Node node, const Values &inputs);
/// Replaces a block at a known position by another tensor. Both are read; neither is overwritten.
TracedValue blockByIndex(Translator &t, const TracedValue &whole, const TracedValue &part,
                         llvm::ArrayRef<int64_t> begins, KnownValue known);

} // namespace treadle::codegen
