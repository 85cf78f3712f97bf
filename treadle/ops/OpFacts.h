// What is known of an op beyond its signature: what it does, what it can't do, and what it is to
// passes, compiled code and the runtime. OpFacts.txt says it, a row an op or a group of ops;
// nothing else in treadle lists ops by such facts.
#pragma once

#include <bit>
#include <cstdint>

namespace treadle {

namespace ops {
/// A piece of the table's text.
struct Text {
  uint32_t offset : 22 = 0;
  uint32_t size : 10 = 0;
};
} // namespace ops

/// What an op is to control flow and calls.
enum class OpKind : uint8_t {
  Plain, // nothing of the following
  Argument,
  Placeholder, // a value that is fed
  NoOp,
  // Control flow of version 1.
  Switch,
  Merge,
  Enter,
  Exit,
  NextIteration,
  OtherV1, // LoopCond, and what comes from other compilers
  // Nodes that run the functions which their attributes name, on their own inputs.
  Call,
  If,
  Case,
  While,
  For,
  OtherCall,   // calls a function, but not simply with its inputs: RemoteCall, SymbolicGradient
  HigherOrder, // calls functions of elements or rows, over and over, as other kernels compute
};

constexpr bool isV1ControlFlow(OpKind kind) {
  return kind >= OpKind::Switch && kind <= OpKind::OtherV1;
}
constexpr bool isConditional(OpKind kind) { return kind == OpKind::If || kind == OpKind::Case; }
/// Gives to the next iteration what it is given.
constexpr bool leadsBack(OpKind kind) { return kind == OpKind::NextIteration; }
/// Whether an edge leads from one iteration to the next.
constexpr bool isBackEdge(OpKind from, OpKind to) { return leadsBack(from) && to == OpKind::Merge; }
/// Gives what it is given, in another place of a loop or a conditional.
constexpr bool handsOn(OpKind kind) {
  return kind >= OpKind::Switch && kind <= OpKind::NextIteration;
}
/// The first input is true or false, and says which of two branches runs; else it is a number.
constexpr bool choosesByTruth(OpKind kind) { return kind == OpKind::If; }
/// Functions that run again and again.
constexpr bool isLoop(OpKind kind) { return kind == OpKind::While || kind == OpKind::For; }
/// A loop whose iterations give the arguments of the next: it gives its own where none runs.
constexpr bool carriesArguments(OpKind kind) { return kind == OpKind::While; }
/// Runs functions, in whatever way.
constexpr bool runsFunctions(OpKind kind) { return kind >= OpKind::Call; }
/// Call, If, Case and While: the functions take the node's inputs and give its results.
constexpr bool isFunctional(OpKind kind) { return kind >= OpKind::Call && kind <= OpKind::While; }

/// Which end of a resource an access concerns. Putting something into a first-in-first-out queue
/// and taking something out of it give the same in either order, so they don't meet.
enum class Part : uint8_t { In = 1, Out = 2, Whole = In | Out };

struct Access {
  enum Kind : uint8_t { None, Read, Write } kind = None;
  Part part = Part::Whole;
};

/// What an op does besides giving its results.
struct OpEffects {
  /// To each resource that one of its inputs is a handle or a reference to.
  Access handles;
  /// What it accesses without being given a handle.
  enum class Reach : uint8_t {
    Nothing,
    World,   // printing, Python, files, whatever is unknown
    Own,     // a state that only this node has: the generator of a random op
    Named,   // a staging area, by its attributes container and shared_name
    Channel, // between a Send and its Recv, by their attributes
  } reach = Reach::Nothing;
  Access reached;
  /// Gives a description of work that is done later, by whoever gets it (a dataset): it holds the
  /// handles that it is given, and whatever its functions access.
  bool isDeferred = false;
};

/// When the op, where it has no effects, can't fail.
enum class Totality : uint8_t {
  MayFail,
  Always,
  Numbers,   // where all of its inputs are numbers or booleans
  Broadcast, // where these have shapes that fit together
  Product,   // where these are matrices whose inner dimensions are equal
};

/// How machine code stands to an op.
enum class NativeForm : uint8_t {
  None,     // it calls the op's kernel
  Passes,   // hands elements on, or computes shapes: next to nothing, compiled or not
  Computes, // computes elements, in one pass with what comes before and after
};

/// What an op is to kernels that compute several at once: a contraction, then steps, and in the end
/// an activation.
enum class FusionRole : uint8_t { None, Contraction, Step, Activation };

/// What the time that an op takes is made of, where it isn't that of a kernel at work.
enum class OpCost : uint8_t {
  Compute,
  Free,
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  Broadcast,
  Transfer, // from one to another
};

/// Where an exchange says who takes part in it, and which exchange it is.
enum class ExchangeKeys : uint8_t {
  None,       // it is no collective exchange
  Attributes, // group_size, group_key and instance_key
  Inputs,     // the first inputs: size, group and instance
  AfterValue, // these, behind the value
  Communicator,
  World, // everybody takes part
};

/// Images among the inputs and results of an op, with their channels where the attribute
/// data_format says.
struct ImageFacts {
  uint8_t inputs = 0;       // a bit for each
  int8_t sizes = -1;        // the input that lists the dimensions of an image
  bool givesImage = false;  // as its first result
  bool isOfAnyRank = false; // whatever data_format says

  constexpr bool takesImage(unsigned input) const { return inputs >> input & 1; }
  constexpr unsigned firstInput() const { return std::countr_zero(inputs); }
  constexpr unsigned endOfInputs() const { return std::bit_width(inputs); }
  constexpr explicit operator bool() const { return inputs != 0; }
};

/// What an op asks for beside its values.
struct OpWant {
  enum Kind : uint8_t { Nothing, Read, Write, Clock } kind = Nothing;
  /// The input that names the file; -1: none does.
  int8_t input = -1;
  /// The attribute that names it; empty: none does.
  ops::Text attr;
};

struct OpFacts {
  OpKind kind = OpKind::Plain;
  /// Of an op that runs functions on its own inputs: which of the inputs is the first argument of
  /// each; -1: inputs and arguments don't correspond one to one.
  int8_t firstArgument = -1;
  OpEffects effects;
  Totality totality = Totality::MayFail;
  NativeForm native = NativeForm::None;
  FusionRole fusion = FusionRole::None;
  OpCost cost = OpCost::Compute;
  /// Has a counterpart with regions in the dialect tfg: its name with `Region` behind it.
  bool hasRegionForm = false;
  /// May wait for another op or run.
  bool blocks = false;
  /// May take long without keeping the machine busy, in code that isn't ours.
  bool runsPython = false;
  /// Keeps nothing that it is given beyond the run; said of stateful ops only.
  bool forgets = false;
  /// Reads variables and does nothing else: compiled code calls its kernel.
  bool readsVariables = false;
  /// Reads and writes variables that it is given handles to, and does nothing else.
  bool updatesVariables = false;
  /// Fails unless its first input is true, and does nothing else.
  bool checks = false;
  /// Its results are elements of its inputs, put elsewhere.
  bool movesElements = false;
  /// Its results don't change with its inputs, or in steps: it hands no gradient on.
  bool hasNoGradient = false;
  /// Computes each element of its result from one of each input, in no form that OpDef::elementwise
  /// names.
  bool isPointwise = false;
  /// Its machine code is for scalars only.
  bool isNativeForScalars = false;
  /// See OpDef::makes, OpDef::elementwise, OpDef::statelessTwin, OpDef::shapes.
  ops::Text makes, elementwise, statelessTwin, shapes;
  /// Gives its first input, rounded to what a few bits can hold.
  bool rounds = false;
  /// Says whether a variable holds something.
  bool asksWhetherInitialized = false;
  /// Makes its second input an iterator over its first, a dataset.
  bool startsIterator = false;
  /// Gives the resources in which gradients are collected for those that it is given.
  bool givesGradients = false;
  /// Gives what another task sends.
  bool receives = false;
  /// Its condition may be a vector, with an element for each row of the other inputs.
  bool takesConditionOfRows = false;
  ExchangeKeys keys = ExchangeKeys::None;
  ImageFacts images;
  OpWant want;
  /// See the functions of these names in OpDef, and operatorOp.
  ops::Text reduction, negation, undoes, onTensor, operatorSymbol, does;
};

} // namespace treadle
