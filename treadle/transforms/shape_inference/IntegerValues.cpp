// What is known of the small integer tensors that say shapes: `[batch, -1]` where the batch is not.
#include "treadle/lowering/Attributes.h"
#include "treadle/transforms/shape_inference/ShapeFunctions.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

using Integers = std::optional<Shape::Dims>;
constexpr size_t mostElements = 64; // of a value that says a shape, paddings included

Integers constant(const ShapeQuery &query) {
  auto attr = query.node.attr<TypedAttr>("value");
  Shape stated = attr ? Shape::of(attr.getType()) : Shape();
  if (!stated.hasRank() || stated.rank() > 2 || stated.count() > int64_t{mostElements})
    return std::nullopt;
  Expected<AttrValue> value = convertAttribute(attr);
  const Tensor *tensor = value ? std::get_if<Tensor>(&*value) : nullptr;
  if (!tensor)
    return std::nullopt;
  if (tensor->dtype() == DType::Int32)
    return Shape::Dims(tensor->values<int32_t>().begin(), tensor->values<int32_t>().end());
  if (tensor->dtype() == DType::Int64)
    return Shape::Dims(tensor->values<int64_t>().begin(), tensor->values<int64_t>().end());
  return std::nullopt;
}

Integers shape(const ShapeQuery &query) {
  if (!query.shape(0).hasRank())
    return std::nullopt;
  return Shape::Dims(query.shape(0).all());
}

Integers rank(const ShapeQuery &query) {
  if (!query.shape(0).hasRank())
    return std::nullopt;
  return Shape::Dims{query.shape(0).rank()};
}

Integers size(const ShapeQuery &query) { return Shape::Dims{query.shape(0).count()}; }

Integers first(const ShapeQuery &query) { return query.integers(0); }

Integers concatenated(const ShapeQuery &query, unsigned begin, unsigned end, int64_t rank) {
  Shape::Dims out;
  for (unsigned i = begin; i < end; ++i) {
    const Shape &part = query.shape(i);
    if (!part.hasRank() || part.rank() != rank)
      return std::nullopt;
    Integers values = query.integers(i);
    if (!values && rank == 1 && part.dim(0) == Shape::unknown)
      return std::nullopt;
    if (values)
      llvm::append_range(out, *values);
    else
      out.append(rank == 0 ? 1 : std::min<size_t>(part.dim(0), mostElements + 1), Shape::unknown);
  }
  return out;
}

Integers packed(const ShapeQuery &query) { return concatenated(query, 0, query.numInputs(), 0); }
Integers concatLast(const ShapeQuery &query) {
  return concatenated(query, 0, query.numInputs() - 1, 1);
}
Integers concatFirst(const ShapeQuery &query) {
  return concatenated(query, 1, query.numInputs(), 1);
}

// x[i], x[a:b], x[a:] of a vector.
Integers stridedSlice(const ShapeQuery &query) {
  Integers values = query.integers(0), begin = query.integers(1), end = query.integers(2),
           strides = query.integers(3);
  if (!values || !begin || !end || !strides || begin->size() != 1 || end->size() != 1 ||
      strides->size() != 1 || query.shape(0).rank() != 1 || query.intAttr("ellipsis_mask") ||
      query.intAttr("new_axis_mask") || (*strides)[0] <= 0)
    return std::nullopt;
  int64_t count = static_cast<int64_t>(values->size());
  auto place = [&](int64_t value) { return value < 0 ? value + count : value; };
  if ((!query.intAttr("begin_mask") && (*begin)[0] == Shape::unknown) ||
      (!query.intAttr("end_mask") && !query.intAttr("shrink_axis_mask") &&
       (*end)[0] == Shape::unknown))
    return std::nullopt;
  int64_t from = query.intAttr("begin_mask") ? 0 : place((*begin)[0]);
  if (query.intAttr("shrink_axis_mask")) {
    if (query.intAttr("begin_mask") || from < 0 || from >= count)
      return std::nullopt;
    return Shape::Dims{(*values)[from]};
  }
  int64_t to = query.intAttr("end_mask") ? count : std::min(place((*end)[0]), count);
  Shape::Dims out;
  for (int64_t i = std::max<int64_t>(from, 0); i < to; i += (*strides)[0])
    out.push_back((*values)[i]);
  return out;
}

Integers gathered(const ShapeQuery &query) {
  Integers values = query.integers(0), indices = query.integers(1);
  if (!values || !indices || query.shape(0).rank() != 1 || query.shape(1).rank() > 1)
    return std::nullopt;
  Shape::Dims out;
  for (int64_t index : *indices)
    out.push_back(index >= 0 && index < static_cast<int64_t>(values->size()) ? (*values)[index]
                                                                             : Shape::unknown);
  return out;
}

Integers product(const ShapeQuery &query) {
  Integers values = query.integers(0);
  if (!values || query.boolAttr("keep_dims") || query.shape(0).rank() != 1)
    return std::nullopt;
  return Shape::Dims{Shape(*values).count()};
}

template <typename Apply> Integers elementwise(const ShapeQuery &query, Apply apply) {
  Integers left = query.integers(0), right = query.integers(1);
  if (!left || !right || !query.shape(0).hasRank() || !query.shape(1).hasRank() ||
      query.shape(0).rank() > 1 || query.shape(1).rank() > 1 ||
      (left->size() != right->size() && left->size() != 1 && right->size() != 1))
    return std::nullopt;
  Shape::Dims out;
  size_t count = left->size() == 1 ? right->size() : left->size();
  for (size_t i = 0; i < count; ++i) {
    int64_t a = (*left)[left->size() == 1 ? 0 : i], b = (*right)[right->size() == 1 ? 0 : i];
    int64_t value = Shape::unknown;
    bool isKnown = a != Shape::unknown && b != Shape::unknown && apply(a, b, value);
    // int32 wraps around: what doesn't fit isn't known.
    bool fits = isKnown && value > -(int64_t{1} << 31) && value < (int64_t{1} << 31);
    out.push_back(fits ? value : Shape::unknown);
  }
  return out;
}

struct IntegerEntry {
  std::string_view op;
  Integers (*function)(const ShapeQuery &);
};

constexpr IntegerEntry table[] = {
    {"Const", constant},
    {"Shape", shape},
    {"Rank", rank},
    {"Size", size},
    {"Identity", first},
    {"StopGradient", first},
    {"Cast", first},
    {"ExpandDims", first},
    {"Reshape", first},
    {"Squeeze", first},
    {"Pack", packed},
    {"ConcatV2", concatLast},
    {"Concat", concatFirst},
    {"StridedSlice", stridedSlice},
    {"GatherV2", gathered},
    {"Gather", gathered},
    {"Prod", product},
    {"Add",
     [](const ShapeQuery &q) {
       return elementwise(
           q, [](int64_t a, int64_t b, int64_t &c) { return !llvm::AddOverflow(a, b, c); });
     }},
    {"AddV2",
     [](const ShapeQuery &q) {
       return elementwise(
           q, [](int64_t a, int64_t b, int64_t &c) { return !llvm::AddOverflow(a, b, c); });
     }},
    {"Sub",
     [](const ShapeQuery &q) {
       return elementwise(
           q, [](int64_t a, int64_t b, int64_t &c) { return !llvm::SubOverflow(a, b, c); });
     }},
    {"Mul",
     [](const ShapeQuery &q) {
       return elementwise(
           q, [](int64_t a, int64_t b, int64_t &c) { return !llvm::MulOverflow(a, b, c); });
     }},
    {"Maximum",
     [](const ShapeQuery &q) {
       return elementwise(q, [](int64_t a, int64_t b, int64_t &c) {
         c = std::max(a, b);
         return true;
       });
     }},
    {"Minimum",
     [](const ShapeQuery &q) {
       return elementwise(q, [](int64_t a, int64_t b, int64_t &c) {
         c = std::min(a, b);
         return true;
       });
     }},
};

} // namespace

std::optional<Shape::Dims> integersOf(const ShapeQuery &query) {
  static const llvm::StringMap<Integers (*)(const ShapeQuery &)> functions = [] {
    llvm::StringMap<Integers (*)(const ShapeQuery &)> out;
    for (const IntegerEntry &entry : table)
      out[StringRef(entry.op)] = entry.function;
    return out;
  }();
  auto function = functions.lookup(query.node.opType());
  if (!function || query.node.numResults() == 0)
    return std::nullopt;
  // Only of integers.
  auto type = dyn_cast<TensorType>(query.node->getResult(0).getType());
  if (!type ||
      !(type.getElementType().isSignlessInteger(32) || type.getElementType().isSignlessInteger(64)))
    return std::nullopt;
  Integers values = function(query);
  if (values && values->size() > mostElements)
    return std::nullopt;
  return values;
}

} // namespace treadle::tfg
