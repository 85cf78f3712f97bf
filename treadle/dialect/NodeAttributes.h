// The names of attributes that don't belong to ops. Each is defined here and nowhere else; those of
// file formats are in import/Keywords.h.
//
// Attributes whose names begin with an underscore are stored in files: TensorFlow's, and those that
// Treadle's conversions use to restore the original form. If such an attribute has an unexpected
// type, it is ignored. Attributes that begin with `tfg.` are Treadle's notes: no GraphDef contains
// them, and the verifier checks them.
#pragma once

#include "treadle/dialect/Tfg.h"

#define GET_ATTRDEF_CLASSES
#include "treadle/dialect/TfgAttributes.h.inc"

namespace treadle::tfg {

/// Whether the name can't be a NodeDef attribute: `_mlir_name` and similar names are fields of the
/// node, and names that begin with `tfg.` are notes. Import keeps a NodeDef's own attributes of
/// such names as bytes.
inline bool isReserved(llvm::StringRef key) {
  return key.starts_with("_mlir_") || key.starts_with("tfg.");
}
/// Whether the attribute describes the node and is not a parameter of its op.
inline bool isAboutNode(llvm::StringRef key) {
  return key.starts_with("_") || key.starts_with("tfg.");
}

//===----------------------------------------------------------------------===//
// TensorFlow's
//===----------------------------------------------------------------------===//

/// A list: `loc:@x` requests colocation with node x. See rewriting/Colocation.h.
inline constexpr llvm::StringLiteral classKey = "_class";

/// A list of shapes, one for each result, as they were when the graph was built.
/// tfg-consolidate-attrs converts them to types, and kernel fusion uses them; all other shapes are
/// types. A pass that changes a node's results must remove or update it.
inline constexpr llvm::StringLiteral outputShapesKey = "_output_shapes";
/// A list of shapes, one for each input. Nothing reads it.
inline constexpr llvm::StringLiteral inputShapesKey = "_input_shapes";
/// Returns `_output_shapes` if it has `count` shapes; null otherwise.
mlir::ArrayAttr statedShapes(mlir::Attribute attr, size_t count);

/// On a While: whether iterations may overlap although they have effects. Null if unspecified.
inline constexpr llvm::StringLiteral statefulParallelismKey = "_stateful_parallelism";
/// The name of the gradient that Python registered for this node.
inline constexpr llvm::StringLiteral gradientOpTypeKey = "_gradient_op_type";

/// On a call or a function: the call isn't inlined.
inline constexpr llvm::StringLiteral noInlineKey = "_noinline", mustCompileKey = "_XlaMustCompile";
/// On a function: XLA or a TPU compiles it as a unit.
inline constexpr llvm::StringLiteral xlaCompileKey = "_xla_compile_id",
                                     tpuReplicateKey = "_tpu_replicate";

/// On an If, a Case or a While, and on a call: it is lowered to the nodes of its functions, see
/// rewriting/Dissolving.h.
inline constexpr llvm::StringLiteral dissolvedKey = "_lower_using_switch_merge",
                                     dissolvedCallKey = "_lower_as_multi_device_function";

//===----------------------------------------------------------------------===//
// Treadle's, in files
//===----------------------------------------------------------------------===//

/// Names of nodes in the same graph or function that should run before this one: soft edges. See
/// rewriting/SoftEdges.h.
inline constexpr llvm::StringLiteral softInputsKey = "_soft_inputs";

/// A bool on the Enter nodes of a loop: its iterations overlap, so it isn't raised to a While.
inline constexpr llvm::StringLiteral overlapKey = "_overlap";
inline bool overlaps(Node enter) {
  auto flag = enter.attr<mlir::BoolAttr>(overlapKey);
  return flag && flag.getValue();
}

/// A bool on calls of functions that tfg-outline-clusters created.
inline constexpr llvm::StringLiteral clusterKey = "_cluster";

/// On a While that was raised from a frame: the frame's name.
inline constexpr llvm::StringLiteral frameNameKey = "_frame_name";

/// On the v1 control flow node that takes over a functional node's name: that node's op, and its
/// attributes as `_lowered.KEY`.
inline constexpr llvm::StringLiteral loweredKey = "_lowered";
/// On every other node that a functional node was lowered to: that node's name.
inline constexpr llvm::StringLiteral loweredFromKey = "_lowered_from";
/// On an Enter or Switch: the number of the input that it forwards, not counting a selector of
/// branches.
inline constexpr llvm::StringLiteral loweredInputKey = "_lowered_input";

/// On a conditional with regions: the names of the functional form's arguments, in order. `^x` if
/// no branch used the value, so that it became a control input; `^^x` if it was a control input
/// before.
inline constexpr llvm::StringLiteral operandsKey = "_operands";
/// Returns the names; invalid names become empty strings.
llvm::SmallVector<llvm::StringRef> operandNames(mlir::Operation *conditional);

//===----------------------------------------------------------------------===//
// Notes
//===----------------------------------------------------------------------===//

/// A #tfg.problem on an XlaCallModule.
inline constexpr llvm::StringLiteral problemKey = "tfg.problem";
/// Returns why the node's program couldn't be outlined into a function; null for other nodes.
ProblemAttr programProblem(Node node);

/// A #tfg.op_traits on a node whose op a user registered.
inline constexpr llvm::StringLiteral opTraitsKey = "tfg.op_traits";
inline OpTraitsAttr statedTraits(Node node) { return node.attr<OpTraitsAttr>(opTraitsKey); }

/// A unit on an EnsureShape that represents a LoopCond, which exists only in frames; it becomes a
/// LoopCond when the loop is lowered.
inline constexpr llvm::StringLiteral loopConditionKey = "tfg.loop_condition";
/// Whether the node is such an EnsureShape of a bool scalar.
bool isLoopCondition(Node node);

/// A unit on an If that was raised from Switch nodes: its condition is their predicate, a bool
/// scalar.
inline constexpr llvm::StringLiteral switchKey = "tfg.switch";
bool takesPredicate(Node conditional);

/// A unit on a ToBool that converts the condition of the functional form to a predicate.
inline constexpr llvm::StringLiteral regionPredicateKey = "tfg.region_predicate";

/// A unit on a functional node while passes run: it isn't converted to regions.
inline constexpr llvm::StringLiteral staysFunctionalKey = "tfg.stays_functional";
/// A bool on a While while passes run: whether it was raised from a frame.
inline constexpr llvm::StringLiteral fromFrameKey = "tfg.from_frame";
/// A bool on a While that is to be lowered to a frame: whether its iterations overlap. And a unit
/// on those whose nodes take the names in the functions.
inline constexpr llvm::StringLiteral toFrameKey = "tfg.overlap", ownNamesKey = "tfg.own_names";
/// A symbol: the function that the op's name refers to.
inline constexpr llvm::StringLiteral legacyCallKey = "tfg.legacy_call";

//===----------------------------------------------------------------------===//
// On graphs, functions and arguments
//===----------------------------------------------------------------------===//

/// The name of a function's argument, result or control result.
inline constexpr llvm::StringLiteral argNameKeyword = "tfg.name";
/// On an argument: the value of `_output_shapes` for its one value.
inline constexpr llvm::StringLiteral argShapesKey = "tf._output_shapes";

/// Units on what tfg-consolidate-attrs took shapes and handle data from: a node, an argument (two
/// units), a function. tfg-prepare-attrs-export reads them.
inline constexpr llvm::StringLiteral regenerateNodeKey = "_mlir_regenerate_output_shapes",
                                     regenerateArgKey = "tfg.regenerate_output_shapes",
                                     regenerateHandleKey = "tfg.regenerate_handle_data",
                                     regenerateInputsKey = "tfg.regenerate_input_shapes";

/// On the function that a graph was lifted to. On an argument: [node, result number] of the value
/// that it replaces. On the function: the version and the other attributes of the graph.
inline constexpr llvm::StringLiteral liftedValueKey = "tfg.lifted_value_attr",
                                     liftedVersionKey = "tfg.lifted_graph_version",
                                     liftedGraphAttrsKey = "tfg.lifted_graph_attrs";

/// On a tfg.graph while passes run: functions that the model's metadata refers to, as a list of
/// #tf_type.func. Passes keep them and their signatures.
inline constexpr llvm::StringLiteral keptFunctionsKey = "tfg.kept_functions";

/// Emits an error at the node if its notes are malformed.
mlir::LogicalResult verifyNotes(Node node);

} // namespace treadle::tfg
