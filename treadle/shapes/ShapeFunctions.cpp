#include "treadle/shapes/ShapeFunctions.h"

#include "treadle/ops/SameOp.h"
#include "treadle/shapes/Signature.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace treadle {

ShapeResults ShapeResults::all(size_t count, const KnownValue &value) {
  ShapeResults out;
  out.values.assign(count, value);
  return out;
}

ShapeResults conflicting(std::string message) {
  ShapeResults out;
  out.conflict = std::move(message);
  return out;
}

ShapeResults noSuchAxis(const Shape &shape, int64_t axis) {
  return conflicting(str("axis ", axis, " isn't one of shape ", shape.text(), "; expected ",
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
  constexpr int64_t mostDims = 254; // of a tensor
  if (const std::optional<Shape::Dims> &values = integers(index))
    return values->size() <= mostDims ? Shape(*values) : Shape();
  // The number of elements is the rank.
  bool isRankKnown = vector.hasRank() && dims::isKnown(vector.dim(0)) && vector.dim(0) <= mostDims;
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

struct Rule {
  ShapeFunction function = nullptr;
  std::optional<Signature> signature;
  size_t numResults = std::numeric_limits<size_t>::max(); // of which it tells

  ShapeResults infer(const ShapeQuery &query) const {
    ShapeResults results = function ? function(query) : signature->infer(query);
    if (results.values.size() > numResults)
      results.values.resize(numResults);
    return results;
  }
};

const Rule *ruleOf(std::string_view op) {
  static const std::unordered_map<std::string_view, Rule> rules = [] {
    std::unordered_map<std::string_view, Rule> out;
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
    // Where an op has more inputs than the one that it is the same as, nothing is known.
    for (const OpDef &op : allOps())
      if (const OpDef *same = sameOp(op);
          same && out.contains(same->name()) && same->inputs().size() == op.inputs().size()) {
        Rule &rule = out[op.name()] = out[same->name()];
        rule.numResults = same->outputs().size();
      }
    return out;
  }();
  auto found = rules.find(op);
  return found == rules.end() ? nullptr : &found->second;
}

template <typename T> Tensor tensorOf(DType type, const KnownValue &value) {
  Expected<Tensor> out = Tensor::make(type, value.shape.all());
  if (!out)
    return {};
  std::ranges::copy(*value.integers, out->data<T>());
  return *out;
}

/// Integers that are all known are the value.
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
  const Rule *rule = ruleOf(query.op());
  ShapeResults results = rule ? rule->infer(query) : ShapeResults();
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
