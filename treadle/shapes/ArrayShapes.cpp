// Shape functions of constants, reductions and reshaping ops.
#include "treadle/shapes/ShapeFunctions.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace treadle {
namespace {

ShapeResults constant(const ShapeQuery &query) { return {query.constant("value")}; }

// Before graph version 24 a scalar shape meant an unknown shape.
ShapeResults placeholder(const ShapeQuery &query) {
  Shape shape = query.shapeAttr("shape");
  bool isOld = query.producer() > 0 && query.producer() < 24;
  return {isOld && shape.isRank(0) ? Shape() : shape};
}

ShapeResults placeholderWithDefault(const ShapeQuery &query) {
  Shape shape = query.shapeAttr("shape");
  if (!merge(shape, query.shape(0)))
    return shapeError(
        str("the default has shape ", query.shape(0).text(), ", expected ", shape.text()));
  return {shape};
}

ShapeResults ensureShape(const ShapeQuery &query) {
  Shape stated = query.shapeAttr("shape");
  std::optional<Shape> both = merge(query.shape(0), stated);
  if (!both)
    return shapeError(
        str("input 0 has shape ", query.shape(0).text(), ", expected ", stated.text()));
  return {*both};
}

ShapeResults shapeOf(const ShapeQuery &query) {
  ShapeResults out;
  for (size_t i = 0; i < query.numInputs(); ++i) {
    const Shape &input = query.shape(i);
    KnownValue value(Shape{input.hasRank() ? input.rank() : Shape::unknown});
    if (input.hasRank())
      value.integers = Shape::Dims(input.all().begin(), input.all().end());
    out.values.push_back(std::move(value));
  }
  return out;
}

ShapeResults shapeOfVariable(const ShapeQuery &query) {
  Shape held = query.held(0);
  return {Shape{held.hasRank() ? held.rank() : Shape::unknown}};
}

ShapeResults reduced(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  const std::optional<Shape::Dims> &axes = query.integers(1);
  bool keep = query.boolAttr("keep_dims") || query.boolAttr("keepdims");
  if (!input.hasRank())
    return {};
  if (!axes || std::ranges::count(*axes, Shape::unknown)) {
    // As many axes as dimensions reduce to a scalar, since axes are distinct.
    if (!keep && input.rank() == 1 && query.shape(1).isStatic() && query.shape(1).count() == 1)
      return {Shape::scalar()};
    return {keep ? Shape::ofRank(input.rank()) : Shape()};
  }
  std::set<int64_t> gone;
  for (int64_t axis : *axes) {
    if (!input.axis(axis))
      return noSuchAxis(input, axis);
    gone.insert(*input.axis(axis));
  }
  Shape out = Shape::scalar();
  for (int64_t i = 0; i < input.rank(); ++i)
    if (!gone.contains(i) || keep)
      out = out + Shape{gone.contains(i) ? 1 : input.dim(i)};
  return {out};
}

ShapeResults argReduced(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  std::optional<int64_t> axis = query.integer(1);
  if (!input.hasRank() || input.rank() == 0)
    return {};
  if (!axis)
    return {Shape::ofRank(input.rank() - 1)};
  if (!input.axis(*axis))
    return noSuchAxis(input, *axis);
  return {input.without(*axis)};
}

/// Infers the only unknown dimension of a reshape from the number of elements.
void fillMissing(Shape &out, const Shape &input, const Shape::Dims &dims) {
  int64_t known = 1, missing = -1, unknowns = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) {
      ++unknowns;
      missing = static_cast<int64_t>(i);
    } else {
      known = dims::times(known, dims[i]);
    }
  }
  if (unknowns == 1)
    if (int64_t value = dims::exactly(input.count(), known); dims::isKnown(value))
      out.setDim(missing, value);
}

ShapeResults reshape(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  Shape out = query.shapeFrom(1);
  const std::optional<Shape::Dims> &dims = query.integers(1);
  if (!out.hasRank() || !dims)
    return {out};
  fillMissing(out, input, *dims);
  if (dims::isKnown(input.count()) && dims::isKnown(out.count()) && input.count() != out.count())
    return shapeError(str("an input of shape ", input.text(), " (", input.count(),
                          " elements) can't be reshaped to ", out.text(), " (", out.count(),
                          " elements)"));
  return {out};
}

ShapeResults quantizedReshape(const ShapeQuery &query) { return withRange(reshape(query)); }

ShapeResults expandDims(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  std::optional<int64_t> axis = query.integer(1);
  if (!input.hasRank())
    return {};
  if (!axis)
    return {Shape::ofRank(input.rank() + 1)};
  if (*axis < -input.rank() - 1 || *axis > input.rank())
    return shapeError(str("axis ", *axis, " can't be inserted into shape ", input.text(),
                          "; expected ", -input.rank() - 1, " to ", input.rank()));
  return {input.inserted(*axis, 1)};
}

ShapeResults squeeze(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  std::vector<int64_t> axes = query.intsAttr("squeeze_dims");
  if (!input.hasRank() || (axes.empty() && !input.isStatic()))
    return {};
  std::set<int64_t> gone;
  for (int64_t axis : axes) {
    if (!input.axis(axis))
      return noSuchAxis(input, axis);
    gone.insert(*input.axis(axis));
    if (dims::isKnown(input.dim(axis)) && input.dim(axis) != 1)
      return shapeError(
          str("dimension ", axis, " of shape ", input.text(), " can't be removed, it is not 1"));
  }
  Shape out = Shape::scalar();
  for (int64_t i = 0; i < input.rank(); ++i)
    if (axes.empty() ? input.dim(i) != 1 : !gone.contains(i))
      out = out + Shape{input.dim(i)};
  return {out};
}

ShapeResults transpose(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  const std::optional<Shape::Dims> &perm = query.integers(1);
  if (!perm) {
    Shape out = input.hasRank()
                    ? Shape::ofRank(input.rank())
                    : Shape::ofRank(query.shapeFrom(1).hasRank() ? query.shapeFrom(1).rank()
                                                                 : Shape::unknown);
    // With fewer than two dimensions there is only one permutation.
    return {input.hasRank() && input.rank() < 2 ? input : out};
  }
  Shape out = Shape::ofRank(static_cast<int64_t>(perm->size()));
  if (input.hasRank() && input.rank() != out.rank())
    return shapeError(
        str("a permutation of ", out.rank(), " dimensions doesn't match shape ", input.text()));
  for (int64_t i = 0; i < out.rank(); ++i)
    if (dims::isKnown((*perm)[i]))
      out.setDim(i, input.dim((*perm)[i]));
  return {out};
}

// The axes along which a gradient is reduced because its operand was broadcast.
ShapeResults broadcastGradientAxes(const ShapeQuery &query) {
  ShapeResults out{Shape{Shape::unknown}, Shape{Shape::unknown}};
  const std::optional<Shape::Dims> &left = query.integers(0), &right = query.integers(1);
  if (!left || !right || !Shape(*left).isStatic() || !Shape(*right).isStatic())
    return out;
  int64_t rank = static_cast<int64_t>(std::max(left->size(), right->size()));
  auto padded = [&](const Shape::Dims &dims) {
    Shape::Dims longer(rank - dims.size(), 1);
    longer.insert(longer.end(), dims.begin(), dims.end());
    return longer;
  };
  Shape::Dims a = padded(*left), b = padded(*right), axes[2];
  for (int64_t i = 0; i < rank; ++i) {
    // If both are 1, either may be reduced.
    if (a[i] == 1)
      axes[0].push_back(i);
    if (b[i] == 1)
      axes[1].push_back(i);
  }
  bool areEqual = a == b && left->size() == right->size();
  for (int i = 0; i < 2; ++i) {
    Shape::Dims found = areEqual ? Shape::Dims() : axes[i];
    out.values[i].shape = Shape{static_cast<int64_t>(found.size())};
    out.values[i].integers = std::move(found);
  }
  return out;
}

/// Returns the element of a constant float scalar, or nullopt.
std::optional<double> floatOf(const KnownValue &value) {
  const Tensor &constant = value.constant;
  if (!constant || constant.count() != 1)
    return std::nullopt;
  if (constant.dtype() == DType::Float32)
    return constant.scalarValue<float>();
  return constant.dtype() == DType::Float64 ? std::optional(constant.scalarValue<double>())
                                            : std::nullopt;
}

/// Returns the length that the kernel computes; unknown if it fails.
int64_t lengthOfFloats(const ShapeQuery &query) {
  std::optional<double> start = floatOf(query.input(0)), limit = floatOf(query.input(1)),
                        step = floatOf(query.input(2));
  if (!start || !limit || !step || (*step > 0 ? *start > *limit : *limit > *start))
    return Shape::unknown;
  double length = std::ceil(std::abs((*limit - *start) / *step));
  constexpr double most = 9.2e18;
  return length < most ? static_cast<int64_t>(length) : Shape::unknown;
}

ShapeResults range(const ShapeQuery &query) {
  if (isFloating(query.resultType(0)))
    return {Shape{lengthOfFloats(query)}};
  std::optional<int64_t> start = query.integer(0), limit = query.integer(1),
                         step = query.integer(2);
  int64_t distance = 0;
  if (!start || !limit || !step || *step == 0 ||
      __builtin_sub_overflow(*limit, *start, &distance) || distance == Shape::unknown)
    return {Shape{Shape::unknown}};
  if (distance != 0 && (distance > 0) != (*step > 0))
    return shapeError(str("from ", *start, " to ", *limit, " isn't reachable in steps of ", *step));
  // Rounded away from zero; both have the same sign.
  return {Shape{distance / *step + (distance % *step != 0)}};
}

ShapeResults oneHot(const ShapeQuery &query) {
  const Shape &indices = query.shape(0);
  if (!indices.hasRank())
    return {};
  return {indices.inserted(query.intAttr("axis", -1), query.dimFrom(1))};
}

ShapeResults where(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  return {Shape{Shape::unknown, input.hasRank() ? input.rank() : Shape::unknown}};
}

// The broadcast shape has the rank of the longer one.
ShapeResults broadcastArgs(const ShapeQuery &query) {
  int64_t left = query.shape(0).dim(0), right = query.shape(1).dim(0);
  bool isKnown = dims::isKnown(left) && dims::isKnown(right);
  return {Shape{isKnown ? std::max(left, right) : Shape::unknown}};
}

/// Splits a tensor into pieces for a grid of devices, or joins these.
ShapeResults pieces(const ShapeQuery &query, bool isSplit) {
  std::vector<int64_t> counts = query.intsAttr(isSplit ? "num_splits" : "num_concats"),
                       paddings = query.intsAttr("paddings");
  const Shape &input = query.shape(0);
  paddings.resize(counts.size());
  if (!input.hasRank() || input.rank() != static_cast<int64_t>(counts.size()))
    return {};
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < counts.size(); ++d) {
    int64_t size = input.dim(static_cast<int64_t>(d));
    if (counts[d] < 1)
      return {};
    sizes.push_back(isSplit ? dims::exactly(dims::plus(size, paddings[d]), counts[d])
                            : dims::minus(dims::times(size, counts[d]), paddings[d]));
  }
  return ShapeResults::all(query.numResults(), Shape(sizes));
}

ShapeResults concatPieces(const ShapeQuery &query) { return pieces(query, false); }
ShapeResults splitPieces(const ShapeQuery &query) { return pieces(query, true); }

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"X, X, *, [] -> X", {"Addons>GatherTree", "GatherTree"}},
      {"X -> X",
       {"XlaReducePrecision", "XlaSharding", "XlaSort", "XlaSpmdFullToShardShape",
        "XlaSpmdShardToFullShape"}},
      {"X, X -> X, X", {"XlaKeyValueSort"}},
      {"[], * -> []", {"XlaSetBound"}},
      {"-> []", {"XlaReplicaId"}},
      {"X, *, * -> X", {"XlaDynamicUpdateSlice"}},
      {"*, *, * -> =2", {"XlaDynamicSlice"}},
      {"[], [], [] -> [$1,$0]", {"SobolSample"}},
      {"[?], [] -> []", {"KMC2ChainInitialization"}},
      {"[?,d], [], [], [] -> [$1,d]", {"KmeansPlusPlusInitialization"}},
      {"-> {shape}", {"PlaceholderV2", "ImmutableConst"}},
      {"* -> []", {"Rank", "Size", "LoopCond"}},
      {"*, * -> =0", {"Fill"}},
      {"[n] -> =0", {"Empty"}},
      {"*, * -> =1", {"BroadcastTo"}},
      {"[], [], [] -> [$2]", {"LinSpace"}},
      {"X, *, * -> X", {"InplaceUpdate", "InplaceAdd", "InplaceSub"}},
      {"[n], [m] -> [?], [?]", {"ListDiff"}},
      {"[B,n], [B,m] -> [B,m]", {"LowerBound", "UpperBound"}},
      {"X -> X", {"DataFormatVecPermute"}},
      {"[n] -> [?], [n]", {"Unique"}},
      {"[n] -> [?], [n], [?]", {"UniqueWithCounts"}},
  };
  return table;
}

const std::vector<ShapeEntry> &functions() {
  static const std::vector<ShapeEntry> table = {
      {"Const", constant},
      {"Placeholder", placeholder},
      {"PlaceholderWithDefault", placeholderWithDefault},
      {"EnsureShape", ensureShape},
      {"Shape", shapeOf},
      {"ShapeN", shapeOf},
      {"VariableShape", shapeOfVariable},
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
      {"_ArgMax", argReduced},
      {"_ArgMin", argReduced},
      {"Reshape", reshape},
      {"QuantizedReshape", quantizedReshape},
      {"ExpandDims", expandDims},
      {"Squeeze", squeeze},
      {"Transpose", transpose},
      {"ConjugateTranspose", transpose},
      {"Range", range},
      {"OneHot", oneHot},
      {"Where", where},
      {"BroadcastArgs", broadcastArgs},
      {"XlaConcatND", concatPieces},
      {"XlaSplitND", splitPieces},
      {"BroadcastGradientArgs", broadcastGradientAxes},
  };
  return table;
}

} // namespace

ShapeFamily arrayShapes() { return {signatures(), functions()}; }

} // namespace treadle
