// The record of every op, TensorFlow's and our own: what it takes, gives and is (names, types,
// attributes, defaults, flags), and what is known of it (OpFacts).
//
// The table is read-only data without pointers: a program that links it pays nothing at start-up.
// Everything returned here lives as long as the program; all functions are thread-safe.
#pragma once

#include "treadle/ops/OpFacts.h"
#include "treadle/tensor/DType.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace treadle {

/// What an attribute holds; `AttrDef::isList` tells whether a list of them.
enum class AttrKind : uint8_t { String, Int, Float, Bool, Type, Shape, Tensor, Func };

/// A shape in the table; a dimension of -1 is unknown.
struct ShapeConstant {
  bool hasRank;
  std::span<const int64_t> dims;
};

/// A tensor in the table: of integers, in row-major order.
struct TensorConstant {
  DType dtype;
  std::span<const int64_t> dims;
  std::span<const int64_t> values;
};

/// One value of a default or of a set of allowed values. Which accessor fits is said by the
/// attribute's kind; the others give nonsense.
class AttrConstant {
public:
  constexpr explicit AttrConstant(uint64_t word) : word(word) {}

  std::string_view asString() const;
  int64_t asInt() const;
  float asFloat() const;
  bool asBool() const;
  DType asType() const;
  ShapeConstant asShape() const;
  TensorConstant asTensor() const;
  std::string_view asFunc() const; // the function's name

private:
  uint64_t word;
};

/// An attribute of an op.
class AttrDef {
public:
  constexpr AttrDef(ops::Text nameText, AttrKind attrKind, bool list, bool withDefault,
                    bool withMinimum, int32_t smallest, uint16_t firstDefault, uint16_t numDefaults,
                    uint16_t firstAllowed, uint16_t numAllowed)
      : nameText(nameText), attrKind(attrKind), list(list), withDefault(withDefault),
        withMinimum(withMinimum), smallest(smallest), firstDefault(firstDefault),
        numDefaults(numDefaults), firstAllowed(firstAllowed), numAllowed(numAllowed) {}

  std::string_view name() const;
  AttrKind kind() const { return attrKind; }
  bool isList() const { return list; }
  /// The kind as a GraphDef spells it: `type`, `list(int)`, ...
  std::string_view kindName() const;

  bool hasDefault() const { return withDefault; }
  /// One value, or for a list its elements. Empty without a default, and for an empty list.
  std::span<const AttrConstant> defaultValues() const;

  /// The least value of an int, or the least length of a list.
  std::optional<int64_t> minimum() const {
    return withMinimum ? std::optional<int64_t>(smallest) : std::nullopt;
  }
  /// The values that are allowed, of a list for each element; empty: all are.
  std::span<const AttrConstant> allowedValues() const;

private:
  ops::Text nameText;
  AttrKind attrKind;
  bool list, withDefault, withMinimum;
  int32_t smallest;
  uint16_t firstDefault, numDefaults, firstAllowed, numAllowed;
};

/// An input or output of an op: one tensor, or several.
///   typeListAttr set              as many as the list attribute has types, of those types
///   numberAttr set                as many as the int attribute says, all of one type
///   neither                       one
/// and the one type is `type()`, or where that is Invalid the value of the attribute `typeAttr`.
class ArgDef {
public:
  constexpr ArgDef(ops::Text nameText, ops::Text typeText, ops::Text numberText,
                   ops::Text typeListText, DType dtype, bool ref)
      : nameText(nameText), typeText(typeText), numberText(numberText), typeListText(typeListText),
        dtype(dtype), ref(ref) {}

  std::string_view name() const;
  DType type() const { return dtype; }
  std::string_view typeAttr() const;
  std::string_view numberAttr() const;
  std::string_view typeListAttr() const;
  /// A reference to a v1 variable.
  bool isRef() const { return ref; }

private:
  ops::Text nameText, typeText, numberText, typeListText;
  DType dtype;
  bool ref;
};

/// An op.
class OpDef {
public:
  constexpr OpDef(ops::Text nameText, uint16_t firstInput, uint8_t numInputs, uint16_t firstOutput,
                  uint8_t numOutputs, uint16_t firstAttr, uint8_t numAttrs, uint8_t flags,
                  uint8_t deprecated, uint16_t factsNumber)
      : nameText(nameText), firstInput(firstInput), firstOutput(firstOutput), firstAttr(firstAttr),
        factsNumber(factsNumber), numInputs(numInputs), numOutputs(numOutputs), numAttrs(numAttrs),
        flags(flags), deprecated(deprecated) {}

  std::string_view name() const;
  std::span<const ArgDef> inputs() const;
  std::span<const ArgDef> outputs() const;
  std::span<const AttrDef> attrs() const;
  /// Null if the op has no attribute of this name.
  const AttrDef *findAttr(std::string_view name) const;

  /// Does or sees more than its inputs say: two of them are not one, and it isn't folded away.
  bool isStateful() const { return flags & 1; }
  bool isCommutative() const { return flags & 2; }
  /// Associative as well, over any number of inputs.
  bool isAggregate() const { return flags & 4; }
  /// Its reference inputs may be uninitialized variables.
  bool allowsUninitializedInput() const { return flags & 8; }
  /// Talks to other tasks, so that all of them have to run it.
  bool isDistributedCommunication() const { return flags & 16; }
  /// The graph version since which it shouldn't be used; 0: it may be.
  int deprecatedSince() const { return deprecated; }

  const OpFacts &facts() const;
  OpKind kind() const { return facts().kind; }
  /// The family of resources that the op makes (`variable`, `table`, `queue`, ...): handles that
  /// equal names of one family stand for one resource. Empty if it makes none.
  std::string_view makes() const;
  /// Nothing, or next to nothing, runs for it.
  bool isFormal() const { return facts().cost == OpCost::Free && !facts().blocks; }
  /// What an elementwise op computes (`add`): ops of one form compute the same. Empty for others.
  std::string_view elementwise() const;
  /// The op that differs from this one only in that its functions have no effects: StatelessIf for
  /// If. Empty if there is none.
  std::string_view statelessTwin() const;
  /// How the shapes of its results follow from those of its inputs, as shapes/Signature.h reads it.
  /// Empty where a shape function tells, or nothing.
  std::string_view shapes() const;
  /// What a reduction makes of the elements along the axes that its second input names (`sum`).
  /// Empty for other ops.
  std::string_view reduction() const;
  /// The comparison that is true where this one is false, but for NaN. Empty for other ops.
  std::string_view negation() const;
  /// The op whose first input this one gives, if it is given the result. Empty if there is none.
  std::string_view undoes() const;
  /// The op that does to a tensor what this one does to a variable. Empty if there is none.
  std::string_view onTensor() const;
  /// What the op does to the outside world, for people (`prints`). Empty if nothing is said.
  std::string_view does() const;
  /// The attribute that names what the op wants (see OpWant::attr); empty if there is none.
  std::string_view wantedAttr() const;

private:
  ops::Text nameText;
  uint16_t firstInput, firstOutput, firstAttr, factsNumber;
  uint8_t numInputs, numOutputs, numAttrs;
  uint8_t flags;
  uint8_t deprecated;
};

/// The op of this name, null if there is none. Takes about as long as hashing the name.
const OpDef *lookupOp(std::string_view name);

/// All ops, sorted by name.
std::span<const OpDef> allOps();

/// The facts about the op of this name; of one that nobody knows, those of a row that says nothing.
const OpFacts &opFacts(std::string_view name);

/// The kind of the op of this name; Plain if there is no such op.
OpKind opKind(std::string_view name);
/// None where the op is unknown.
FusionRole fusionRole(std::string_view name);

/// The op that calls functions in this way (Call, If, Case or While), with effects or without.
std::string_view functionalOp(OpKind kind, bool isStateful);

/// The op that an operator of C++ or Python stands for: `+`, `-` with one operand or with two,
/// `//`,
/// `==`, `+=` of a variable.
std::string_view operatorOp(std::string_view symbol, size_t operands);

/// What an op of this name does. Of one that nobody knows: anything.
OpEffects lookupEffects(std::string_view name);

/// Whether a node of the op may state what it does: one that nobody knows, or that runs Python.
bool statesEffects(std::string_view name);

/// OpDef::makes of the op of this name; empty if there is none.
std::string_view resourceFamily(std::string_view name);

/// Whether an op of this name may wait for another op or run (as TensorFlow defines its ops;
/// kernels of users say so themselves).
bool isBlockingOp(std::string_view name);

} // namespace treadle
