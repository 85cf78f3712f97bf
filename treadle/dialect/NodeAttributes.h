// The attributes that don't belong to ops: each name stands here, and nowhere else. Those of
// formats alone are in import/Keywords.h.
//
// Those that begin with an underscore are in files: TensorFlow's, and those by which Treadle's
// conversions find their way back. One of another type than its reader expects counts for nothing.
// Those that begin with `tfg.` are Treadle's notes: no GraphDef holds them, and the verifier checks
// what they hold.
#pragma once

#include "treadle/dialect/Tfg.h"

#define GET_ATTRDEF_CLASSES
#include "treadle/dialect/TfgAttributes.h.inc"

namespace treadle::tfg {

/// Whether no NodeDef states the attribute: `_mlir_name` and its like are fields of the node, what
/// begins with `tfg.` is a note. Import keeps a NodeDef's own attributes of such names as bytes.
inline bool isReserved(llvm::StringRef key) {
  return key.starts_with("_mlir_") || key.starts_with("tfg.");
}
/// Whether the attribute says something about a node, and nothing to its op.
inline bool isAboutNode(llvm::StringRef key) {
  return key.starts_with("_") || key.starts_with("tfg.");
}

//===----------------------------------------------------------------------===//
// TensorFlow's
//===----------------------------------------------------------------------===//

/// A list: `loc:@x` asks for the device of node x. See rewriting/Colocation.h.
inline constexpr llvm::StringLiteral classKey = "_class";

/// A shape for each result, as it was when the graph was made. tfg-consolidate-attrs turns them
/// into types, and kernels are fused by them; all other shapes are types. What changes a node's
/// results removes it, or lists theirs.
inline constexpr llvm::StringLiteral outputShapesKey = "_output_shapes";
/// A shape for each input, which nothing reads.
inline constexpr llvm::StringLiteral inputShapesKey = "_input_shapes";
/// `_output_shapes` if it is a shape for each of so many values; null otherwise.
mlir::ArrayAttr statedShapes(mlir::Attribute attr, size_t count);

/// On a While: whether iterations may overlap although they have effects. Null: it doesn't say.
inline constexpr llvm::StringLiteral statefulParallelismKey = "_stateful_parallelism";
/// The gradient that Python registered for this node.
inline constexpr llvm::StringLiteral gradientOpTypeKey = "_gradient_op_type";

/// On a call or a function: it stays a call.
inline constexpr llvm::StringLiteral noInlineKey = "_noinline", mustCompileKey = "_XlaMustCompile";
/// On a function that XLA or a TPU compiles as it stands.
inline constexpr llvm::StringLiteral xlaCompileKey = "_xla_compile_id",
                                     tpuReplicateKey = "_tpu_replicate";

/// On an If, a Case or a While; on a call: it dissolves, see rewriting/Dissolving.h.
inline constexpr llvm::StringLiteral dissolvedKey = "_lower_using_switch_merge",
                                     dissolvedCallKey = "_lower_as_multi_device_function";

//===----------------------------------------------------------------------===//
// Treadle's, in files
//===----------------------------------------------------------------------===//

/// Names of nodes of the same graph or function that should run before this one: soft edges. See
/// rewriting/SoftEdges.h.
inline constexpr llvm::StringLiteral softInputsKey = "_soft_inputs";

/// A bool on the Enter nodes of a loop: its iterations overlap, so it stays a frame.
inline constexpr llvm::StringLiteral overlapKey = "_overlap";
inline bool overlaps(Node enter) {
  auto flag = enter.attr<mlir::BoolAttr>(overlapKey);
  return flag && flag.getValue();
}

/// A bool on calls of the functions that tfg-outline-clusters makes.
inline constexpr llvm::StringLiteral clusterKey = "_cluster";

/// On a While that was a frame: the frame's name.
inline constexpr llvm::StringLiteral frameNameKey = "_frame_name";

/// On the node of v1 control flow that takes a functional node's name: that node's op, and (as
/// `_lowered.KEY`) its attributes.
inline constexpr llvm::StringLiteral loweredKey = "_lowered";
/// On every other node made of a functional node: that node's name.
inline constexpr llvm::StringLiteral loweredFromKey = "_lowered_from";
/// On an Enter or Switch: which input (the selector of branches left out) it lets in.
inline constexpr llvm::StringLiteral loweredInputKey = "_lowered_input";

/// Of a conditional with regions: what the functional form gave to its functions, by name, in
/// order. `^x` where no branch used the value, so that it became a control input; `^^x` where it
/// was one.
inline constexpr llvm::StringLiteral operandsKey = "_operands";
/// Empty strings stand for what is no name.
llvm::SmallVector<llvm::StringRef> operandNames(mlir::Operation *conditional);

//===----------------------------------------------------------------------===//
// Notes
//===----------------------------------------------------------------------===//

/// A #tfg.problem, on an XlaCallModule.
inline constexpr llvm::StringLiteral problemKey = "tfg.problem";
/// Why no function was made of the node's program; null for other nodes.
ProblemAttr programProblem(Node node);

/// A #tfg.op_traits, on a node of an op that users register.
inline constexpr llvm::StringLiteral opTraitsKey = "tfg.op_traits";
inline OpTraitsAttr statedTraits(Node node) { return node.attr<OpTraitsAttr>(opTraitsKey); }

/// A unit on an EnsureShape that stands for a LoopCond, which only frames have: run, it is one.
inline constexpr llvm::StringLiteral loopConditionKey = "tfg.loop_condition";
/// Whether the node is an EnsureShape that is so marked, of a bool scalar.
bool isLoopCondition(Node node);

/// A unit on an If that was Switch nodes: its condition is their predicate, a bool scalar.
inline constexpr llvm::StringLiteral switchKey = "tfg.switch";
bool takesPredicate(Node conditional);

/// A unit on a ToBool that makes a predicate of what the functional form had as its condition.
inline constexpr llvm::StringLiteral regionPredicateKey = "tfg.region_predicate";

/// A unit on a functional node while passes run: that it gets no regions.
inline constexpr llvm::StringLiteral staysFunctionalKey = "tfg.stays_functional";
/// A bool on a While while passes run: whether it is from a frame.
inline constexpr llvm::StringLiteral fromFrameKey = "tfg.from_frame";
/// A bool on a While that is to be a frame: whether its iterations are to overlap; and a unit on
/// those whose names are to be the functions' own.
inline constexpr llvm::StringLiteral toFrameKey = "tfg.overlap", ownNamesKey = "tfg.own_names";
/// A symbol: the function that the op names.
inline constexpr llvm::StringLiteral legacyCallKey = "tfg.legacy_call";

//===----------------------------------------------------------------------===//
// On graphs, functions and arguments
//===----------------------------------------------------------------------===//

/// The name of a function's argument, result or control result.
inline constexpr llvm::StringLiteral argNameKeyword = "tfg.name";
/// On an argument: `_output_shapes` of one value.
inline constexpr llvm::StringLiteral argShapesKey = "tf._output_shapes";

/// Units on what tfg-consolidate-attrs took shapes and handle data from, for
/// tfg-prepare-attrs-export: a node, an argument (twice), a function.
inline constexpr llvm::StringLiteral regenerateNodeKey = "_mlir_regenerate_output_shapes",
                                     regenerateArgKey = "tfg.regenerate_output_shapes",
                                     regenerateHandleKey = "tfg.regenerate_handle_data",
                                     regenerateInputsKey = "tfg.regenerate_input_shapes";

/// Of a function that was a graph. On an argument: [the node, the number of its result] that it
/// stands for; on the function: the version and the other attributes of the graph.
inline constexpr llvm::StringLiteral liftedValueKey = "tfg.lifted_value_attr",
                                     liftedVersionKey = "tfg.lifted_graph_version",
                                     liftedGraphAttrsKey = "tfg.lifted_graph_attrs";

/// On a tfg.graph while passes run: functions that somebody outside of the module knows, as a list
/// of #tf_type.func. They stay, with their signatures.
inline constexpr llvm::StringLiteral keptFunctionsKey = "tfg.kept_functions";

/// What is wrong with the notes of a node, as an error at the node.
mlir::LogicalResult verifyNotes(Node node);

} // namespace treadle::tfg
