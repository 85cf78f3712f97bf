// Signatures of SavedModels as attributes.
#pragma once

#include "treadle/import/Attributes.h"
#include "treadle/proto/meta_graph.pb.h"

namespace treadle::graphdef {

/// Returns `{inputs = {x = {name = "x:0", type = tensor<?xf32>}}, outputs = {...}, method =
/// "..."}`; null if a dictionary can't represent the signature (composite tensors, default values).
mlir::DictionaryAttr importSignature(AttributeImporter &attributes, TypeTable &types,
                                     const pb::SignatureDef &signature);

// Keys of the dictionary.
inline constexpr llvm::StringLiteral signatureInputsKey = "inputs";
inline constexpr llvm::StringLiteral signatureOutputsKey = "outputs";
inline constexpr llvm::StringLiteral signatureMethodKey = "method";
inline constexpr llvm::StringLiteral tensorNameKey = "name";
inline constexpr llvm::StringLiteral tensorTypeKey = "type";

} // namespace treadle::graphdef
