#include "treadle/shapes/ShapeFunctions.h"

#include "treadle/ops/OpAlias.h"
#include "treadle/shapes/Signature.h"

#include <algorithm>
#include <unordered_map>

namespace treadle {

ShapeResults ShapeResults::all(size_t count, const KnownValue &value) {
  ShapeResults out;
  out.values.assign(count, value);
  return out;
}

ShapeResults shapeError(std::string message) {
  ShapeResults out;
  out.conflict = std::move(message);
  return out;
}

ShapeResults noSuchAxis(const Shape &shape, int64_t axis) {
  return shapeError(str("axis ", axis, " is out of range for shape ", shape.text(), "; expected ",
                        -shape.rank(), " to ", shape.rank() - 1));
}

ShapeResults withRange(ShapeResults results) {
  results.values.resize(1);
  results.values.resize(3, Shape::scalar());
  return results;
}

const KnownValue &ShapeQuery::input(size_t index) const {
  static const KnownValue nothing;
  return index < inputs.size() ? *inputs[index] : nothing;
}

Shape ShapeQuery::held(size_t index, size_t component) const {
  const std::vector<Shape> &shapes = input(index).held;
  return component < shapes.size() ? shapes[component] : Shape();
}

std::optional<int64_t> ShapeQuery::integer(size_t index) const {
  const std::optional<Shape::Dims> &values = integers(index);
  if (!values || values->size() != 1 || values->front() == Shape::unknown)
    return std::nullopt;
  return values->front();
}

int64_t ShapeQuery::dimFrom(size_t index, size_t element) const {
  const std::optional<Shape::Dims> &values = integers(index);
  return values && element < values->size() && (*values)[element] >= 0 ? (*values)[element]
                                                                       : Shape::unknown;
}

Shape ShapeQuery::shapeFrom(size_t index) const {
  const Shape &vector = shape(index);
  if (vector.hasRank() && vector.rank() != 1)
    return {};
  constexpr int64_t maxDims = 254; // of a tensor
  if (const std::optional<Shape::Dims> &values = integers(index))
    return values->size() <= maxDims ? Shape(*values) : Shape();
  // The number of elements is the rank.
  bool isRankKnown = vector.hasRank() && dims::isKnown(vector.dim(0)) && vector.dim(0) <= maxDims;
  return isRankKnown ? Shape::ofRank(vector.dim(0)) : Shape();
}

template <typename T> static T get(const ShapeQuery &query, std::string_view key, T otherwise) {
  std::optional<AttrValue> value = query.attr(key);
  T *typed = value ? std::get_if<T>(&*value) : nullptr;
  return typed ? std::move(*typed) : std::move(otherwise);
}

int64_t ShapeQuery::intAttr(std::string_view key, int64_t otherwise) const {
  return get(*this, key, otherwise);
}

bool ShapeQuery::boolAttr(std::string_view key, bool otherwise) const {
  return get(*this, key, otherwise);
}

std::string ShapeQuery::textAttr(std::string_view key, std::string_view otherwise) const {
  return get(*this, key, std::string(otherwise));
}

DType ShapeQuery::typeAttr(std::string_view key) const { return get(*this, key, TypeAttr()).dtype; }

std::vector<int64_t> ShapeQuery::intsAttr(std::string_view key) const {
  return get(*this, key, std::vector<int64_t>());
}

Shape ShapeQuery::shapeAttr(std::string_view key) const {
  return Shape::of(get(*this, key, PartialShape()));
}

std::vector<Shape> ShapeQuery::shapesAttr(std::string_view key) const {
  std::vector<Shape> out;
  for (const PartialShape &shape : get(*this, key, std::vector<PartialShape>()))
    out.push_back(Shape::of(shape));
  return out;
}

size_t ShapeQuery::listSize(std::string_view key) const {
  std::optional<AttrValue> value = attr(key);
  if (!value)
    return 0;
  return std::visit(
      [](const auto &held) -> size_t {
        using T = std::decay_t<decltype(held)>;
        if constexpr (detail::IsVector<T>::value)
          return held.size();
        return 0;
      },
      *value);
}

std::span<const ShapeFamily> shapeFamilies() {
  static const std::vector<ShapeFamily> families = {
      elementwiseShapes(), arrayShapes(),   concatShapes(),  sliceShapes(),
      matrixShapes(),      windowShapes(),  imageShapes(),   segmentShapes(),
      sparseShapes(),      stringShapes(),  parsingShapes(), randomShapes(),
      variableShapes(),    controlShapes(), queueShapes(),   tensorListShapes(),
      tensorArrayShapes(), raggedShapes(),  spaceShapes(),   fourierShapes(),
      mediaShapes(),       stagingShapes(), datasetShapes(), compressedShapes(),
      quantizedShapes(),
  };
  return families;
}

namespace {

struct ShapeRule {
  ShapeFunction function = nullptr;
  std::optional<Signature> signature;

  ShapeResults infer(const ShapeQuery &query) const {
    return function ? function(query) : signature->infer(query);
  }
};

const ShapeRule *ruleOf(std::string_view op) {
  static const std::unordered_map<std::string_view, ShapeRule> rules = [] {
    std::unordered_map<std::string_view, ShapeRule> out;
    for (const OpDef &op : allOps())
      if (!op.shapes().empty())
        out[op.name()] = {nullptr, Signature::parse(op.shapes())};
    for (const ShapeFamily &family : shapeFamilies()) {
      for (const SignatureEntry &entry : family.signatures) {
        std::optional<Signature> signature = Signature::parse(entry.signature);
        for (std::string_view name : entry.ops)
          out[name] = {nullptr, signature};
      }
      for (const ShapeEntry &entry : family.functions)
        out[entry.op] = {entry.function, std::nullopt};
    }
    for (const OpDef &op : allOps())
      if (const OpDef *same = aliasedOp(op); same && out.contains(same->name()))
        out[op.name()] = out[same->name()];
    return out;
  }();
  auto found = rules.find(op);
  return found == rules.end() ? nullptr : &found->second;
}

/// A node of an alias op, presented under the name of the op that it is an alias of.
class AliasNode : public NodeView {
public:
  AliasNode(const ShapeQuery &query, const OpDef &same) : query(query), same(same) {}
  std::string_view op() const override { return same.name(); }
  size_t numResults() const override { return std::min(query.numResults(), same.outputs().size()); }
  DType resultType(size_t index) const override { return query.resultType(index); }
  std::optional<AttrValue> attr(std::string_view key) const override { return query.attr(key); }
  KnownValue constant(std::string_view key) const override { return query.constant(key); }
  int64_t producer() const override { return query.producer(); }

private:
  const ShapeQuery &query;
  const OpDef &same;
};

/// Infers the results that both ops have; the inputs before those of bytes are shared.
ShapeResults inferAlias(const OpDef &same, const OpDef &op, const ShapeRule &rule,
                        const ShapeQuery &query) {
  std::vector<const KnownValue *> inputs;
  for (const ArgDef &arg : op.inputs()) {
    if (arg.type() == DType::UInt8)
      break;
    int64_t count = arg.numberAttr().empty() ? 1 : query.intAttr(arg.numberAttr());
    for (int64_t i = 0; i < count && inputs.size() < query.numInputs(); ++i)
      inputs.push_back(&query.input(inputs.size()));
    if (!arg.typeListAttr().empty())
      while (inputs.size() < query.numInputs())
        inputs.push_back(&query.input(inputs.size()));
  }
  AliasNode node(query, same);
  ShapeResults results = rule.infer(ShapeQuery(node, inputs));
  if (results.values.size() > node.numResults())
    results.values.resize(node.numResults());
  return results;
}

ShapeResults inferByRule(const ShapeQuery &query) {
  const ShapeRule *rule = ruleOf(query.op());
  const OpDef *op = lookupOp(query.op()), *same = op ? aliasedOp(*op) : nullptr;
  if (!rule)
    return {};
  return same ? inferAlias(*same, *op, *rule, query) : rule->infer(query);
}

template <typename T> Tensor tensorOf(DType type, const KnownValue &value) {
  Expected<Tensor> out = Tensor::make(type, value.shape.all());
  if (!out)
    return {};
  std::ranges::copy(*value.integers, out->data<T>());
  return *out;
}

/// Makes a constant of integers that are all known.
void makeConstant(KnownValue &value, DType type) {
  bool isWhole = value.integers && !value.constant && value.shape.isStatic() &&
                 value.shape.count() == static_cast<int64_t>(value.integers->size()) &&
                 !std::ranges::count(*value.integers, Shape::unknown);
  if (isWhole && type == DType::Int32)
    value.constant = tensorOf<int32_t>(type, value);
  else if (isWhole && type == DType::Int64)
    value.constant = tensorOf<int64_t>(type, value);
}

} // namespace

bool hasShapeFunction(std::string_view op) { return ruleOf(op); }

ShapeResults inferShapes(const ShapeQuery &query) {
  ShapeResults results = inferByRule(query);
  if (results.values.size() > query.numResults())
    results.values.resize(query.numResults());
  if (std::optional<Shape::Dims> integers = integersOf(query)) {
    if (results.values.empty())
      results.values.emplace_back();
    results.values[0].integers = std::move(integers);
  }
  for (size_t i = 0; i < results.values.size(); ++i)
    makeConstant(results.values[i], query.resultType(i));
  return results;
}

} // namespace treadle
