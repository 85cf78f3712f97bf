// The record of every op, TensorFlow's and Treadle's: its signature (names, types, attributes,
// defaults, flags) and its further properties (OpFacts).
//
// The table is read-only data without pointers, so it costs nothing at start-up. Returned pointers
// and views live as long as the program; all functions are thread-safe.
#pragma once

#include "treadle/ops/OpFacts.h"
#include "treadle/tensor/DType.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace treadle {

/// The type of an attribute; `AttrDef::isList` tells whether it is a list of these.
enum class AttrKind : uint8_t { String, Int, Float, Bool, Type, Shape, Tensor, Func };

/// A shape constant; -1 is an unknown dimension.
struct ShapeConstant {
  bool hasRank;
  std::span<const int64_t> dims;
};

/// An integer tensor constant, in row-major order.
struct TensorConstant {
  DType dtype;
  std::span<const int64_t> dims;
  std::span<const int64_t> values;
};

/// A default or an allowed value of an attribute. Only the accessor of the attribute's type is
/// valid.
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
  /// Returns the type as a GraphDef spells it: `type`, `list(int)`, ...
  std::string_view kindName() const;

  bool hasDefault() const { return withDefault; }
  /// Returns the default: one value, or a list's elements. Empty without a default, and for an
  /// empty list.
  std::span<const AttrConstant> defaultValues() const;

  /// Returns the smallest value of an int, or the smallest length of a list.
  std::optional<int64_t> minimum() const {
    return withMinimum ? std::optional<int64_t>(smallest) : std::nullopt;
  }
  /// Returns the allowed values, for lists those of each element; empty if all are allowed.
  std::span<const AttrConstant> allowedValues() const;

private:
  ops::Text nameText;
  AttrKind attrKind;
  bool list, withDefault, withMinimum;
  int32_t smallest;
  uint16_t firstDefault, numDefaults, firstAllowed, numAllowed;
};

/// An input or output of an op: one tensor or several.
///   typeListAttr set   one for each type in the list attribute, of that type
///   numberAttr set     as many as the int attribute says, all of one type
///   neither            one
/// The type is `type()`, or if that is Invalid the value of the attribute `typeAttr`.
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
  /// Whether it is a reference to a v1 variable.
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
  /// Returns the attribute of this name, or null if there is none.
  const AttrDef *findAttr(std::string_view name) const;

  /// Whether the op has effects or hidden inputs: it isn't folded, and two of them aren't merged.
  bool isStateful() const { return flags & 1; }
  bool isCommutative() const { return flags & 2; }
  /// Whether the op is commutative and associative, over any number of inputs.
  bool isAggregate() const { return flags & 4; }
  /// Whether reference inputs may be uninitialized variables.
  bool allowsUninitializedInput() const { return flags & 8; }
  /// Whether the op communicates with other tasks, so that all of them must run it.
  bool isDistributedCommunication() const { return flags & 16; }
  /// The graph version from which the op is deprecated; 0 if it isn't.
  int deprecatedSince() const { return deprecated; }

  const OpFacts &facts() const;
  OpKind kind() const { return facts().kind; }
  /// The family of resources that the op makes (`variable`, `table`, `queue`, ...); empty if it
  /// makes none. Handles of one family with equal names refer to one resource.
  std::string_view makes() const;
  /// Whether the op runs at no or almost no cost.
  bool hasNoCost() const { return facts().cost == OpCost::Free && !facts().blocks; }
  /// The elementwise form of the op (`add`), or empty. Ops of one form compute the same.
  std::string_view elementwise() const;
  /// The op with the same behavior whose functions have no side effects: StatelessIf for If. Empty
  /// if there is none.
  std::string_view statelessTwin() const;
  /// The shapes of its results as a signature (shapes/Signature.h). Empty if a shape function or
  /// nothing defines them.
  std::string_view shapes() const;
  /// The reduction over the axes that the second input lists (`sum`). Empty for other ops.
  std::string_view reduction() const;
  /// The comparison with the opposite result, except for NaN. Empty for other ops.
  std::string_view negation() const;
  /// The op that this one inverts: applied to that op's result it returns that op's first input.
  /// Empty if there is none.
  std::string_view undoes() const;
  /// The op that computes on a tensor what this one does to a variable. Empty if there is none.
  std::string_view onTensor() const;
  /// The side effect as a verb for people (`prints`). Empty if there is none.
  std::string_view does() const;
  /// The attribute that names the file that the op accesses (see OpPermission::attr); empty if
  /// there is none.
  std::string_view permissionAttr() const;

private:
  ops::Text nameText;
  uint16_t firstInput, firstOutput, firstAttr, factsNumber;
  uint8_t numInputs, numOutputs, numAttrs;
  uint8_t flags;
  uint8_t deprecated;
};

/// Returns the op of this name, or null if there is none. Takes about as long as hashing the name.
const OpDef *lookupOp(std::string_view name);

/// Returns all ops, sorted by name.
std::span<const OpDef> allOps();

/// Returns the properties of the op of this name; the defaults if there is no such op.
const OpFacts &opFacts(std::string_view name);

/// Returns the kind of the op of this name; Plain if there is no such op.
OpKind opKind(std::string_view name);
/// Returns None if there is no such op.
FusionRole fusionRole(std::string_view name);

/// Returns the op of this kind (Call, If, Case or While), with or without side effects.
std::string_view functionalOp(OpKind kind, bool isStateful);

/// Returns the op for an operator of C++ or Python: `+`, `-` with one operand or two, `//`, `==`,
/// `+=` on a variable.
std::string_view operatorOp(std::string_view symbol, size_t operands);

/// Returns the side effects of the op of this name; for an unknown op, the most general ones.
OpEffects lookupEffects(std::string_view name);

/// Whether nodes of the op may declare their effects: true for unknown ops and ops that run Python.
bool mayDeclareEffects(std::string_view name);

/// Returns OpDef::makes of the op of this name; empty if there is no such op.
std::string_view resourceFamily(std::string_view name);

/// Whether an op of this name may wait for another op or run, as TensorFlow defines it; custom
/// kernels have traits instead.
bool isBlockingOp(std::string_view name);

} // namespace treadle
