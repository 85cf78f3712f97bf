// Shape functions of ops that parse examples and records; attributes give the numbers of results.
#include "treadle/shapes/ShapeFunctions.h"

#include <algorithm>

namespace treadle {
namespace {

/// Results in the op's order.
class ResultList {
public:
  void add(size_t count, const Shape &shape) {
    for (size_t i = 0; i < count; ++i)
      results.values.emplace_back(shape);
  }
  /// Adds indices, values and shapes of `count` sparse tensors.
  void addSparse(size_t count, int64_t rank) {
    add(count, Shape{Shape::unknown, rank});
    add(count, Shape{Shape::unknown});
    add(count, Shape{rank});
  }
  /// Adds dense features: their shapes after the batch dimensions `before`.
  void addDense(const std::vector<Shape> &shapes, const Shape &before) {
    for (const Shape &shape : shapes)
      results.values.emplace_back(before + shape);
  }

  ShapeResults results;
};

/// Returns the count in an attribute; a malformed node may have any value.
size_t countAttr(const ShapeQuery &query, std::string_view key) {
  return static_cast<size_t>(std::clamp<int64_t>(query.intAttr(key), 0, query.numResults()));
}

// The sizes of all fields, then the values of each, for a batch of messages.
ShapeResults decodeProto(const ShapeQuery &query) {
  const Shape &batch = query.shape(0);
  if (!batch.hasRank() || !query.numResults())
    return {};
  ShapeResults out = ShapeResults::all(query.numResults(), batch + Shape{Shape::unknown});
  out.values[0] = batch + Shape{static_cast<int64_t>(query.listSize("field_names"))};
  return out;
}

ShapeResults encodeProto(const ShapeQuery &query) {
  const Shape &sizes = query.shape(0);
  return sizes.hasRank() && sizes.rank() > 0 ? ShapeResults{sizes.take(-1)} : ShapeResults();
}

ShapeResults parseExample(const ShapeQuery &query) {
  ResultList out;
  const Shape &batch = query.shape(0);
  out.addSparse(countAttr(query, "Nsparse"), 2);
  out.addDense(query.shapesAttr("dense_shapes"), batch.hasRank() ? batch : Shape{Shape::unknown});
  return std::move(out.results);
}

// One example, or a vector of them.
ShapeResults parseExampleV2(const ShapeQuery &query) {
  ResultList out;
  const Shape &batch = query.shape(0);
  int64_t rank = batch.hasRank() ? batch.rank() + 1 : Shape::unknown;
  out.addSparse(countAttr(query, "num_sparse"), rank);
  out.addDense(query.shapesAttr("dense_shapes"), batch);
  out.add(query.listSize("ragged_value_types"), Shape{Shape::unknown});
  int64_t splits = batch.isRank(1) ? dims::plus(batch.dim(0), 1) : Shape::unknown;
  out.add(query.listSize("ragged_split_types"), batch.isRank(0) ? Shape{0} : Shape{splits});
  return std::move(out.results);
}

ShapeResults parseSingleExample(const ShapeQuery &query) {
  ResultList out;
  out.addSparse(countAttr(query, "num_sparse"), 1);
  out.addDense(query.shapesAttr("dense_shapes"), Shape::scalar());
  return std::move(out.results);
}

ShapeResults parseSingleSequenceExample(const ShapeQuery &query) {
  ResultList out;
  out.addSparse(countAttr(query, "Ncontext_sparse"), 1);
  out.addDense(query.shapesAttr("context_dense_shapes"), Shape::scalar());
  out.addSparse(countAttr(query, "Nfeature_list_sparse"), 2);
  out.addDense(query.shapesAttr("feature_list_dense_shapes"), Shape{Shape::unknown});
  return std::move(out.results);
}

/// A vector of sequences, or with V2 also a single one; steps are one more dimension.
void addSequences(const ShapeQuery &query, ResultList &out, int64_t rank, const Shape &batch) {
  out.addSparse(countAttr(query, "Nfeature_list_sparse"), rank);
  out.addDense(query.shapesAttr("feature_list_dense_shapes"), batch + Shape{Shape::unknown});
  out.add(countAttr(query, "Nfeature_list_dense"), batch);
}

ShapeResults parseSequenceExample(const ShapeQuery &query) {
  ResultList out;
  Shape batch{query.shape(0).dim(0)};
  out.addSparse(countAttr(query, "Ncontext_sparse"), 2);
  out.addDense(query.shapesAttr("context_dense_shapes"), batch);
  addSequences(query, out, 3, batch);
  return std::move(out.results);
}

ShapeResults parseSequenceExampleV2(const ShapeQuery &query) {
  ResultList out;
  const Shape &batch = query.shape(0);
  int64_t rank = batch.hasRank() ? batch.rank() : Shape::unknown;
  Shape splits{batch.isRank(1) ? dims::plus(batch.dim(0), 1) : Shape::unknown};
  out.addSparse(countAttr(query, "Ncontext_sparse"), dims::plus(rank, 1));
  out.addDense(query.shapesAttr("context_dense_shapes"), batch);
  out.add(query.listSize("context_ragged_value_types"), Shape{Shape::unknown});
  out.add(query.listSize("context_ragged_split_types"), splits);
  addSequences(query, out, dims::plus(rank, 2), batch);
  out.add(query.listSize("feature_list_ragged_value_types"), Shape{Shape::unknown});
  out.add(query.listSize("feature_list_ragged_split_types"), splits);
  out.add(query.listSize("feature_list_ragged_split_types"), Shape{Shape::unknown});
  return std::move(out.results);
}

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"X, *+ -> X+", {"DecodeCSV"}},
  };
  return table;
}

constexpr ShapeEntry functions[] = {
    {"DecodeProtoV2", decodeProto},
    {"EncodeProto", encodeProto},
    {"ParseExample", parseExample},
    {"ParseExampleV2", parseExampleV2},
    {"ParseSingleExample", parseSingleExample},
    {"ParseSequenceExample", parseSequenceExample},
    {"ParseSequenceExampleV2", parseSequenceExampleV2},
    {"ParseSingleSequenceExample", parseSingleSequenceExample},
};

} // namespace

ShapeFamily parsingShapes() { return {signatures(), functions}; }

} // namespace treadle
