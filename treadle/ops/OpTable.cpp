// Lookup in the generated table, and views of its rows.
#include "treadle/ops/OpTable.h"

#include "treadle/ops/OpAlias.h"
#include "treadle/ops/Tables.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace treadle {
namespace {

std::string_view view(ops::Text text) { return {ops::texts + text.offset, text.size}; }

// FNV-1a; must match hash_of in generate.py.
uint32_t hashName(std::string_view name) {
  uint32_t hash = 2166136261u;
  for (unsigned char c : name)
    hash = (hash ^ c) * 16777619u;
  return hash;
}

constexpr uint8_t unknownRank = 255;

} // namespace

// The encoding of words must match `constant` in generate.py.
std::string_view AttrConstant::asString() const {
  return {ops::texts + static_cast<uint32_t>(word), static_cast<size_t>(word >> 32)};
}
std::string_view AttrConstant::asFunc() const { return asString(); }
int64_t AttrConstant::asInt() const { return static_cast<int64_t>(word); }
float AttrConstant::asFloat() const { return std::bit_cast<float>(static_cast<uint32_t>(word)); }
bool AttrConstant::asBool() const { return word != 0; }
DType AttrConstant::asType() const { return static_cast<DType>(word); }

ShapeConstant AttrConstant::asShape() const {
  auto rank = static_cast<uint8_t>(word >> 32);
  if (rank == unknownRank)
    return {false, {}};
  return {true, {ops::ints + static_cast<uint32_t>(word), rank}};
}

TensorConstant AttrConstant::asTensor() const {
  const int64_t *dims = ops::ints + static_cast<uint32_t>(word);
  auto rank = static_cast<uint8_t>(word >> 32);
  auto numValues = static_cast<uint8_t>(word >> 40);
  return {static_cast<DType>(word >> 48), {dims, rank}, {dims + rank, numValues}};
}

std::string_view AttrDef::name() const { return view(nameText); }

std::string_view AttrDef::kindName() const {
  static constexpr std::array<std::array<std::string_view, 2>, 8> names = {{
      {"string", "list(string)"},
      {"int", "list(int)"},
      {"float", "list(float)"},
      {"bool", "list(bool)"},
      {"type", "list(type)"},
      {"shape", "list(shape)"},
      {"tensor", "list(tensor)"},
      {"func", "list(func)"},
  }};
  return names[static_cast<size_t>(attrKind)][list ? 1 : 0];
}

std::span<const AttrConstant> AttrDef::defaultValues() const {
  return {ops::constants + firstDefault, numDefaults};
}

std::span<const AttrConstant> AttrDef::allowedValues() const {
  return {ops::constants + firstAllowed, numAllowed};
}

std::string_view ArgDef::name() const { return view(nameText); }
std::string_view ArgDef::typeAttr() const { return view(typeText); }
std::string_view ArgDef::numberAttr() const { return view(numberText); }
std::string_view ArgDef::typeListAttr() const { return view(typeListText); }

std::string_view OpDef::name() const { return view(nameText); }
std::span<const ArgDef> OpDef::inputs() const { return {ops::args + firstInput, numInputs}; }
std::span<const ArgDef> OpDef::outputs() const { return {ops::args + firstOutput, numOutputs}; }
std::span<const AttrDef> OpDef::attrs() const { return {ops::attrs + firstAttr, numAttrs}; }

const OpFacts &OpDef::facts() const { return ops::facts[factsNumber]; }
std::string_view OpDef::makes() const { return view(facts().makes); }
std::string_view OpDef::elementwise() const { return view(facts().elementwise); }
std::string_view OpDef::statelessTwin() const { return view(facts().statelessTwin); }
std::string_view OpDef::shapes() const { return view(facts().shapes); }
std::string_view OpDef::reduction() const { return view(facts().reduction); }
std::string_view OpDef::negation() const { return view(facts().negation); }
std::string_view OpDef::undoes() const { return view(facts().undoes); }
std::string_view OpDef::onTensor() const { return view(facts().onTensor); }
std::string_view OpDef::does() const { return view(facts().does); }
std::string_view OpDef::permissionAttr() const { return view(facts().want.attr); }

const AttrDef *OpDef::findAttr(std::string_view name) const {
  auto found = std::ranges::find(attrs(), name, &AttrDef::name);
  return found == attrs().end() ? nullptr : &*found;
}

const OpDef *lookupOp(std::string_view name) {
  for (size_t slot = hashName(name);; ++slot) {
    uint16_t number = ops::slots[slot & (ops::numSlots - 1)];
    if (number == 0)
      return nullptr;
    const OpDef &op = ops::ops[number - 1];
    if (op.name() == name)
      return &op;
  }
}

const OpDef *aliasedOp(const OpDef &op) {
  std::span pairs(ops::opAliases, ops::numOpAliases);
  auto number = static_cast<uint16_t>(&op - ops::ops);
  auto found = std::ranges::lower_bound(pairs, number, {}, &ops::OpAlias::op);
  return found != pairs.end() && found->op == number ? &ops::ops[found->same] : nullptr;
}

std::span<const OpDef> allOps() { return {ops::ops, ops::numOps}; }

const OpFacts &opFacts(std::string_view name) {
  static constexpr OpFacts nothing;
  const OpDef *def = lookupOp(name);
  return def ? def->facts() : nothing;
}

OpKind opKind(std::string_view name) { return opFacts(name).kind; }
FusionRole fusionRole(std::string_view name) { return opFacts(name).fusion; }

std::string_view functionalOp(OpKind kind, bool isStateful) {
  auto found = std::ranges::find_if(
      allOps(), [&](const OpDef &op) { return op.kind() == kind && !op.statelessTwin().empty(); });
  return isStateful ? found->name() : found->statelessTwin();
}

std::string_view operatorOp(std::string_view symbol, size_t operands) {
  static const std::vector<const OpDef *> ops = [] {
    std::vector<const OpDef *> ops;
    for (const OpDef &op : allOps())
      if (op.facts().operatorSymbol.size != 0)
        ops.push_back(&op);
    return ops;
  }();
  auto found = std::ranges::find_if(ops, [&](const OpDef *op) {
    return view(op->facts().operatorSymbol) == symbol && op->inputs().size() == operands;
  });
  return found == ops.end() ? std::string_view() : (*found)->name();
}

OpEffects lookupEffects(std::string_view name) {
  constexpr Access write{Access::Write};
  const OpDef *def = lookupOp(name);
  return def ? def->facts().effects : OpEffects{write, OpEffects::Reach::World, write};
}

bool mayDeclareEffects(std::string_view name) {
  const OpDef *def = lookupOp(name);
  return !def || def->facts().runsPython;
}

std::string_view resourceFamily(std::string_view name) {
  const OpDef *def = lookupOp(name);
  return def ? def->makes() : std::string_view();
}

bool isBlockingOp(std::string_view name) { return opFacts(name).blocks; }

} // namespace treadle
