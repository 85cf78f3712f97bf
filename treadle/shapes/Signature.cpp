// Application of shape signatures (Signature.h): inputs bind letters, outputs use them.
#include "treadle/shapes/Signature.h"

#include <array>

namespace treadle {
namespace {

using Item = Signature::Item;
using Operand = Signature::Operand;

/// Bindings of letters to dimensions.
class Bindings {
public:
  Bindings() { numbers.fill(Shape::unknown); }

  /// Binds letters. Returns false if the shape contradicts the operand or earlier bindings.
  bool bind(const Operand &operand, const Shape &shape);
  Shape make(const Operand &operand, const ShapeQuery &query, size_t index) const;
  /// Formats an operand with its bindings: `[B,n,n], n = 3`.
  std::string describe(const Operand &operand) const;

private:
  bool bindDim(const Item &item, int64_t dim);
  Shape make(const Item &item, const ShapeQuery &query) const;

  std::array<int64_t, 26> numbers;
  std::array<Shape, 26> sequences;
};

bool Bindings::bindDim(const Item &item, int64_t dim) {
  if (!dims::isKnown(dim))
    return true;
  if (item.kind == Item::Number)
    return dim == item.number;
  if (item.kind != Item::Letter)
    return true;
  if (dim % item.number)
    return false;
  int64_t &bound = numbers[item.letter - 'a'];
  if (dims::isKnown(bound))
    return bound == dim / item.number;
  bound = dim / item.number;
  return true;
}

bool Bindings::bind(const Operand &operand, const Shape &shape) {
  if (operand.kind != Operand::Pattern || !shape.hasRank())
    return true;
  int64_t count = static_cast<int64_t>(operand.items.size()), rank = shape.rank(), sequence = -1;
  for (int64_t i = 0; i < count; ++i)
    if (operand.items[i].kind == Item::Sequence)
      sequence = i;
  if (sequence < 0 ? rank != count : rank < count - 1)
    return false;
  int64_t length = sequence < 0 ? 0 : rank - (count - 1);
  for (int64_t i = 0, at = 0; i < count; ++i) {
    if (i != sequence) {
      if (!bindDim(operand.items[i], shape.dim(at++)))
        return false;
      continue;
    }
    Shape &bound = sequences[operand.items[i].letter - 'A'];
    std::optional<Shape> both = merge(bound, shape.drop(at).take(length));
    if (!both)
      return false;
    bound = *both;
    at += length;
  }
  return true;
}

Shape Bindings::make(const Item &item, const ShapeQuery &query) const {
  switch (item.kind) {
  case Item::Any:
    return {Shape::unknown};
  case Item::Number:
    return {item.number};
  case Item::Letter:
    return {dims::times(item.number, numbers[item.letter - 'a'])};
  case Item::Sequence:
    return sequences[item.letter - 'A'];
  case Item::Input:
    return {query.dimFrom(item.number, item.element)};
  case Item::Attribute:
    return {query.intAttr(item.key, Shape::unknown)};
  }
  return {};
}

Shape Bindings::make(const Operand &operand, const ShapeQuery &query, size_t index) const {
  Shape out = Shape::scalar();
  switch (operand.kind) {
  case Operand::Any:
    return {};
  case Operand::FromInput:
    return query.shapeFrom(operand.input);
  case Operand::FromAttribute: {
    std::vector<Shape> shapes = query.shapesAttr(operand.key);
    return index < shapes.size() ? shapes[index] : query.shapeAttr(operand.key);
  }
  case Operand::Pattern:
    for (const Item &item : operand.items)
      out = out + make(item, query);
    return out;
  }
  return out;
}

std::string Bindings::describe(const Operand &operand) const {
  std::string out(operand.text);
  if (!out.starts_with('['))
    out = "[" + out + "]";
  std::string_view separator = " where ";
  for (const Item &item : operand.items) {
    if (item.kind == Item::Letter && dims::isKnown(numbers[item.letter - 'a']))
      out += str(separator, item.letter, " = ", numbers[item.letter - 'a']);
    else if (item.kind == Item::Sequence && sequences[item.letter - 'A'].hasRank())
      out += str(separator, item.letter, " = ", sequences[item.letter - 'A'].text());
    else
      continue;
    separator = ", ";
  }
  return out;
}

const Operand &nth(const std::vector<Operand> &operands, size_t index) {
  return operands[std::min(index, operands.size() - 1)];
}

} // namespace

ShapeResults Signature::infer(const ShapeQuery &query) const {
  if (!takes(query.numInputs()))
    return {};
  Bindings bindings;
  for (size_t i = 0; i < query.numInputs(); ++i) {
    const Operand &operand = nth(inputs, i);
    Bindings before = bindings;
    if (!bindings.bind(operand, query.shape(i)))
      return shapeError(str("input ", i, " has shape ", query.shape(i).text(), ", expected ",
                            before.describe(operand)));
    if (operand.held && !bindings.bind(*operand.held, query.held(i)))
      return shapeError(str("input ", i, " is a handle of a resource of shape ",
                            query.held(i).text(), ", expected ", before.describe(*operand.held)));
  }
  ShapeResults out;
  for (size_t i = 0; !outputs.empty() && i < query.numResults(); ++i) {
    const Operand &operand = nth(outputs, i);
    size_t index = i + 1 < outputs.size() ? 0 : i + 1 - outputs.size();
    KnownValue value(bindings.make(operand, query, operand.isRepeated ? index : 0));
    if (operand.held)
      value.held = {bindings.make(*operand.held, query, index)};
    out.values.push_back(std::move(value));
  }
  return out;
}

} // namespace treadle
