// Keys of attributes for the parts of a GraphDef outside of its attribute maps, beyond those that
// the tfg dialect defines.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace treadle::graphdef {

/// On a node, function or graph: a #tf_type.message with the fields of its NodeDef, FunctionDef or
/// GraphDef that aren't represented otherwise, and inputs in their original spelling if it isn't
/// canonical.
inline constexpr llvm::StringLiteral restKey = "_mlir_rest";

/// On a node of a function whose op isn't in the op table: the names of its results, "output:0" and
/// so on.
inline constexpr llvm::StringLiteral outputsKey = "_mlir_outputs";
/// On such a node if the file defines its op: the names are all of the op's outputs, in order.
inline constexpr llvm::StringLiteral allOutputsKey = "_mlir_all_outputs";

/// The prefix of attributes from a FunctionDef's attribute map and from its arguments' maps.
inline constexpr llvm::StringLiteral attrPrefix = "tf.";
/// On a function: a shape for each of its data arguments.
inline constexpr llvm::StringLiteral inputShapesKey = "tf._input_shapes";

// In the dictionaries of arguments and results: the fields of an ArgDef.
inline constexpr llvm::StringLiteral argDescriptionKey = "tfg.description";
inline constexpr llvm::StringLiteral argTypeKey = "tfg.type";
inline constexpr llvm::StringLiteral argTypeAttrKey = "tfg.type_attr";
inline constexpr llvm::StringLiteral argNumberAttrKey = "tfg.number_attr";
inline constexpr llvm::StringLiteral argTypeListAttrKey = "tfg.type_list_attr";
inline constexpr llvm::StringLiteral argHandleDataKey = "tfg.handle_data";
inline constexpr llvm::StringLiteral argIsRefKey = "tfg.is_ref";
inline constexpr llvm::StringLiteral argFullTypeKey = "tfg.experimental_full_type";
/// In generic functions: the argument's entry of FunctionDef.arg_attr.
inline constexpr llvm::StringLiteral argAttrsKey = "tfg.arg_attrs";
/// A #tf_type.message with the remaining fields of the ArgDef.
inline constexpr llvm::StringLiteral argRestKey = "tfg.rest";
/// On a generic function: the definitions of its attributes, by name.
inline constexpr llvm::StringLiteral funcAttrsKey = "tfg.func_attrs";

// On the outermost module of a SavedModel: a #tf_type.message of the SavedModel without its meta
// graphs.
inline constexpr llvm::StringLiteral savedModelKey = "tfg.saved_model";
/// The folder of the SavedModel, which contains its variables and assets.
inline constexpr llvm::StringLiteral filesKey = "tfg.files";
/// On a meta graph: a #tf_type.message without its graph and the contents of `tfg.signatures`.
inline constexpr llvm::StringLiteral metaGraphKey = "tfg.meta_graph";
/// On a meta graph: its signatures by name, see import/Signatures.h.
inline constexpr llvm::StringLiteral signaturesKey = "tfg.signatures";

} // namespace treadle::graphdef
