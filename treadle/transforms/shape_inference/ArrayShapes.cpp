// Constants, reductions, and ops that give their input another shape, repeat it or put it together.
#include "treadle/transforms/shape_inference/ShapeFunctions.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

Results constant(const ShapeQuery &query) {
  Attribute value = query.node.attr("value");
  if (auto typed = dyn_cast_or_null<TypedAttr>(value))
    return only(Shape::of(typed.getType()));
  return {};
}

Results scalar(const ShapeQuery &) { return only(Shape::scalar()); }
Results fromAttr(const ShapeQuery &query) { return only(query.shapeAttr("shape")); }
template <unsigned input> Results fromInput(const ShapeQuery &query) {
  return only(query.shapeFrom(input));
}

// Before version 24 of graphs a scalar stood for an unknown shape.
Results placeholder(const ShapeQuery &query) {
  Shape shape = query.shapeAttr("shape");
  if (auto graph = dyn_cast<GraphOp>(query.node->getParentOp());
      graph && shape.hasRank() && shape.rank() == 0 && graph.getVersion().getProducer() < 24)
    return {};
  return only(shape);
}

Results shapeOf(const ShapeQuery &query) {
  Results out;
  for (const KnownValue *input : query.inputs)
    out.push_back({Shape({input->shape.hasRank() ? input->shape.rank() : Shape::unknown})});
  return out;
}

Results reduced(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  auto axes = query.integers(1);
  bool keep = query.boolAttr("keep_dims") || query.boolAttr("keepdims");
  if (!input.hasRank())
    return {};
  if (!axes || llvm::is_contained(*axes, Shape::unknown))
    return keep ? only(Shape::ofRank(input.rank())) : Results();
  llvm::SmallDenseSet<int64_t> gone;
  for (int64_t axis : *axes) {
    if (!input.axis(axis))
      return {};
    gone.insert(*input.axis(axis));
  }
  Shape::Dims dims;
  for (auto [i, dim] : llvm::enumerate(input.all())) {
    if (!gone.contains(static_cast<int64_t>(i)))
      dims.push_back(dim);
    else if (keep)
      dims.push_back(1);
  }
  return only(Shape(dims));
}

Results argReduced(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  auto axis = query.integer(1);
  if (!input.hasRank() || input.rank() == 0)
    return {};
  if (!axis)
    return only(Shape::ofRank(input.rank() - 1));
  if (!input.axis(*axis))
    return {};
  Shape::Dims dims(input.all());
  dims.erase(dims.begin() + *input.axis(*axis));
  return only(Shape(dims));
}

// One dimension may be -1: it follows from the others where all of the input is known.
Results reshape(const ShapeQuery &query) {
  Shape out = query.shapeFrom(1);
  auto dims = query.integers(1);
  if (!out.hasRank() || !dims)
    return only(out);
  int64_t count = query.shape(0).count();
  int64_t known = 1, missing = -1, unknowns = 0;
  for (auto [i, dim] : llvm::enumerate(*dims)) {
    if (dim < 0) {
      ++unknowns;
      missing = static_cast<int64_t>(i);
    } else {
      known *= dim;
    }
  }
  if (unknowns == 1 && count != Shape::unknown && known > 0 && count % known == 0)
    out.setDim(missing, count / known);
  return only(out);
}

Results expandDims(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  auto axis = query.integer(1);
  if (!input.hasRank())
    return {};
  if (!axis)
    return only(Shape::ofRank(input.rank() + 1));
  int64_t at = *axis < 0 ? *axis + input.rank() + 1 : *axis;
  if (at < 0 || at > input.rank())
    return {};
  Shape::Dims dims(input.all());
  dims.insert(dims.begin() + at, 1);
  return only(Shape(dims));
}

Results squeeze(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  SmallVector<int64_t> axes = query.intsAttr("squeeze_dims");
  if (!input.hasRank() || (axes.empty() && !input.isStatic()))
    return {};
  llvm::SmallDenseSet<int64_t> gone;
  for (int64_t axis : axes) {
    if (!input.axis(axis))
      return {};
    gone.insert(*input.axis(axis));
  }
  Shape::Dims dims;
  for (auto [i, dim] : llvm::enumerate(input.all()))
    if (axes.empty() ? dim != 1 : !gone.contains(static_cast<int64_t>(i)))
      dims.push_back(dim);
  return only(Shape(dims));
}

Results transpose(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  auto perm = query.integers(1);
  if (!perm)
    return only(input.hasRank()                ? Shape::ofRank(input.rank())
                : query.shapeFrom(1).hasRank() ? Shape::ofRank(query.shapeFrom(1).rank())
                                               : Shape());
  Shape::Dims dims;
  for (int64_t from : *perm)
    dims.push_back(from == Shape::unknown ? Shape::unknown : input.dim(from));
  return only(Shape(dims));
}

Results pack(const ShapeQuery &query) {
  Shape shape;
  for (const KnownValue *input : query.inputs)
    shape = meet(shape, input->shape);
  if (!shape.hasRank())
    return {};
  int64_t axis = query.intAttr("axis");
  int64_t at = axis < 0 ? axis + shape.rank() + 1 : axis;
  if (at < 0 || at > shape.rank())
    return {};
  Shape::Dims dims(shape.all());
  dims.insert(dims.begin() + at, query.numInputs());
  return only(Shape(dims));
}

Results unpack(const ShapeQuery &query) {
  std::optional<int64_t> at = query.shape(0).axis(query.intAttr("axis"));
  if (!at)
    return {};
  Shape::Dims dims(query.shape(0).all());
  dims.erase(dims.begin() + *at);
  return Results(query.node.numResults(), KnownValue{Shape(dims)});
}

Results concatParts(ArrayRef<const KnownValue *> parts, std::optional<int64_t> axis) {
  Shape shape;
  for (const KnownValue *part : parts)
    if (part->shape.hasRank() && part->shape.rank() > 0 && !shape.hasRank())
      shape = part->shape;
  if (!shape.hasRank())
    return {};
  std::optional<int64_t> at = axis ? shape.axis(*axis) : std::nullopt;
  if (!at)
    return only(Shape::ofRank(shape.rank()));
  int64_t sum = 0;
  for (const KnownValue *part : parts) {
    int64_t dim = part->shape.dim(*at);
    sum = sum == Shape::unknown || dim == Shape::unknown ? Shape::unknown : sum + dim;
    shape = meet(shape, part->shape);
  }
  shape.setDim(*at, sum);
  return only(shape);
}

Results concatLast(const ShapeQuery &query) {
  return concatParts(query.inputs.drop_back(), query.integer(query.numInputs() - 1));
}
Results concatFirst(const ShapeQuery &query) {
  return concatParts(query.inputs.drop_front(), query.integer(0));
}

Results tile(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  auto multiples = query.integers(1);
  if (!input.hasRank())
    return {};
  Shape out = Shape::ofRank(input.rank());
  if (multiples && static_cast<int64_t>(multiples->size()) == input.rank())
    for (auto [i, times] : llvm::enumerate(*multiples))
      if (times != Shape::unknown && input.dim(i) != Shape::unknown)
        out.setDim(i, times * input.dim(i));
  return only(out);
}

Results pad(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  if (!input.hasRank())
    return {};
  auto paddings = query.integers(1);
  Shape out = Shape::ofRank(input.rank());
  if (paddings && static_cast<int64_t>(paddings->size()) == 2 * input.rank())
    for (int64_t i = 0; i < input.rank(); ++i)
      if (int64_t before = (*paddings)[2 * i], after = (*paddings)[2 * i + 1];
          before != Shape::unknown && after != Shape::unknown && input.dim(i) != Shape::unknown)
        out.setDim(i, before + input.dim(i) + after);
  return only(out);
}

Results range(const ShapeQuery &query) {
  auto start = query.integer(0), limit = query.integer(1), delta = query.integer(2);
  if (!start || !limit || !delta || *delta == 0 || (*limit - *start) / *delta < 0)
    return only(Shape({Shape::unknown}));
  int64_t distance = std::abs(*limit - *start), step = std::abs(*delta);
  return only(Shape({(distance + step - 1) / step}));
}

Results linSpace(const ShapeQuery &query) {
  return only(Shape({query.integer(2).value_or(Shape::unknown)}));
}

Results oneHot(const ShapeQuery &query) {
  const Shape &indices = query.shape(0);
  if (!indices.hasRank())
    return {};
  int64_t axis = query.intAttr("axis", -1);
  int64_t at = axis < 0 ? axis + indices.rank() + 1 : axis;
  if (at < 0 || at > indices.rank())
    return {};
  Shape::Dims dims(indices.all());
  dims.insert(dims.begin() + at, query.integer(1).value_or(Shape::unknown));
  return only(Shape(dims));
}

Results where(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  return only(Shape({Shape::unknown, input.hasRank() ? input.rank() : Shape::unknown}));
}

Results ensureShape(const ShapeQuery &query) {
  return only(meet(query.shape(0), query.shapeAttr("shape")));
}

Results diagPart(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  if (!input.hasRank() || input.rank() < 2)
    return {};
  Shape::Dims dims(input.all().drop_back(2));
  int64_t rows = input.dim(-2), columns = input.dim(-1);
  bool isKnown = rows != Shape::unknown && columns != Shape::unknown;
  dims.push_back(isKnown ? std::min(rows, columns) : Shape::unknown);
  return only(Shape(dims));
}

constexpr ShapeEntry table[] = {
    {"Const", constant},
    {"Placeholder", placeholder},
    {"PlaceholderV2", fromAttr},
    {"PlaceholderWithDefault", fromAttr},
    {"EnsureShape", ensureShape},
    {"Shape", shapeOf},
    {"ShapeN", shapeOf},
    {"Rank", scalar},
    {"Size", scalar},
    {"L2Loss", scalar},
    {"LoopCond", scalar},
    {"Sum", reduced},
    {"Prod", reduced},
    {"Max", reduced},
    {"Min", reduced},
    {"Mean", reduced},
    {"EuclideanNorm", reduced},
    {"All", reduced},
    {"Any", reduced},
    {"ReduceJoin", reduced},
    {"ArgMax", argReduced},
    {"ArgMin", argReduced},
    {"Reshape", reshape},
    {"ExpandDims", expandDims},
    {"Squeeze", squeeze},
    {"Transpose", transpose},
    {"ConjugateTranspose", transpose},
    {"Pack", pack},
    {"Unpack", unpack},
    {"ConcatV2", concatLast},
    {"Concat", concatFirst},
    {"Tile", tile},
    {"Pad", pad},
    {"PadV2", pad},
    {"MirrorPad", pad},
    {"Range", range},
    {"LinSpace", linSpace},
    {"OneHot", oneHot},
    {"Where", where},
    {"MatrixDiagPart", diagPart},
    {"Fill", fromInput<0>},
    {"Empty", fromInput<0>},
    {"BroadcastTo", fromInput<1>},
    {"ScatterNd", fromInput<2>},
    {"RandomUniform", fromInput<0>},
    {"RandomUniformInt", fromInput<0>},
    {"RandomStandardNormal", fromInput<0>},
    {"TruncatedNormal", fromInput<0>},
    {"ParameterizedTruncatedNormal", fromInput<0>},
    {"StatelessRandomUniform", fromInput<0>},
    {"StatelessRandomUniformInt", fromInput<0>},
    {"StatelessRandomUniformFullInt", fromInput<0>},
    {"StatelessRandomNormal", fromInput<0>},
    {"StatelessTruncatedNormal", fromInput<0>},
    {"StatelessRandomUniformV2", fromInput<0>},
    {"StatelessRandomUniformIntV2", fromInput<0>},
    {"StatelessRandomUniformFullIntV2", fromInput<0>},
    {"StatelessRandomNormalV2", fromInput<0>},
    {"StatelessTruncatedNormalV2", fromInput<0>},
};

} // namespace

ArrayRef<ShapeEntry> arrayShapes() { return table; }

} // namespace treadle::tfg
