// Shape functions of ragged tensors: row splits, a vector for each ragged dimension, and flat
// values.
#include "treadle/shapes/ShapeFunctions.h"

#include <algorithm>

namespace treadle {
namespace {

// Splits of the gathered rows, one more than there are indices, then those of the inner dimensions.
ShapeResults gathered(const ShapeQuery &query) {
  size_t splits = query.numResults() ? query.numResults() - 1 : 0;
  if (query.numInputs() < 2)
    return {};
  const Shape &values = query.shape(query.numInputs() - 2),
              &indices = query.shape(query.numInputs() - 1);
  ShapeResults out = ShapeResults::all(splits, Shape{Shape::unknown});
  if (splits && indices.isRank(1))
    out.values[0] = Shape{dims::plus(indices.dim(0), 1)};
  out.values.emplace_back(Shape{Shape::unknown} + values.drop(1));
  return out;
}

ShapeResults ranges(const ShapeQuery &query) {
  int64_t count = Shape::unknown;
  for (size_t i = 0; i < query.numInputs(); ++i)
    if (query.shape(i).isRank(1))
      count = dims::meet(count, query.shape(i).dim(0));
  bool isScalar = query.shape(0).isRank(0) && query.shape(1).isRank(0) && query.shape(2).isRank(0);
  return {Shape{isScalar ? 2 : dims::plus(count, 1)}, Shape{Shape::unknown}};
}

ShapeResults fromVariant(const ShapeQuery &query) {
  size_t splits = query.numResults() ? query.numResults() - 1 : 0;
  ShapeResults out = ShapeResults::all(splits, Shape{Shape::unknown});
  out.values.emplace_back(Shape());
  return out;
}

ShapeResults toSparse(const ShapeQuery &query) {
  size_t splits = query.numInputs() ? query.numInputs() - 1 : 0;
  const Shape &values = query.shape(splits);
  int64_t rank = values.hasRank() ? values.rank() + static_cast<int64_t>(splits) : Shape::unknown;
  Shape count{values.count()};
  return {Shape{values.count(), rank}, count, Shape{rank}};
}

ShapeResults toVariant(const ShapeQuery &query) {
  size_t splits = query.numInputs() ? query.numInputs() - 1 : 0;
  if (!query.boolAttr("batched_input"))
    return {Shape::scalar()};
  // A variant for each row.
  int64_t rows = splits ? query.shape(0).dim(0) : Shape::unknown;
  return {Shape{splits ? dims::minus(rows, 1) : query.shape(0).dim(0)}};
}

// The requested shape is completed from the values; an unknown rank is a scalar -1.
ShapeResults toTensor(const ShapeQuery &query) {
  const Shape &asked = query.shape(0), &values = query.shape(1);
  Shape shape = query.shapeFrom(0);
  std::optional<AttrValue> attr = query.attr("row_partition_types");
  const auto *types = attr ? std::get_if<std::vector<std::string>>(&*attr) : nullptr;
  if (!types || types->empty() || asked.isRank(0) || !asked.hasRank())
    return {};
  bool startsWithRows = types->front() == "FIRST_DIM_SIZE";
  int64_t ragged = static_cast<int64_t>(types->size()) - startsWithRows;
  if (!values.hasRank())
    return {shape};
  Shape whole = Shape::ofRank(ragged + 1) + values.drop(1);
  return {meet(whole, shape)};
}

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"*, [s], [r] -> =2", {"RaggedTensorToVariantGradient"}},
  };
  return table;
}

constexpr ShapeEntry functions[] = {
    {"RaggedGather", gathered},
    {"RaggedRange", ranges},
    {"RaggedTensorFromVariant", fromVariant},
    {"RaggedTensorToSparse", toSparse},
    {"RaggedTensorToVariant", toVariant},
    {"RaggedTensorToTensor", toTensor},
};

} // namespace

ShapeFamily raggedShapes() { return {signatures(), functions}; }

} // namespace treadle
