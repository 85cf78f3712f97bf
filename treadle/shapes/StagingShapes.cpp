// Shape functions of staging areas, batching, and functions mapped over rows.
#include "treadle/shapes/ShapeFunctions.h"

#include <algorithm>

namespace treadle {
namespace {

// The batch size is the total of all combined calls, which is unknown.
ShapeResults batched(const ShapeQuery &query) {
  ShapeResults out;
  for (size_t i = 0; i < query.numInputs(); ++i)
    out.values.emplace_back(query.shape(i).hasRank() && query.shape(i).rank() > 0
                                ? query.shape(i).with(0, Shape::unknown)
                                : Shape());
  out.values.emplace_back(Shape{Shape::unknown, 3});
  out.values.emplace_back(Shape::scalar());
  return out;
}

// A row for each call, of the shape in the attribute.
ShapeResults mapped(const ShapeQuery &query) {
  ShapeResults out;
  Shape rows{query.listSize("Targuments") ? query.shape(0).dim(0) : Shape::unknown};
  for (const Shape &shape : query.shapesAttr("output_shapes"))
    out.values.emplace_back(rows + shape);
  return out;
}

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"*+ -> ", {"Stage", "MapStage", "OrderedMapStage"}},
      {"-> *+", {"Unstage"}},
      {"[] -> *+", {"StagePeek"}},
      {"*, * -> *+", {"MapPeek", "MapUnstage", "OrderedMapPeek", "OrderedMapUnstage"}},
      {"* -> [], *+", {"MapUnstageNoKey", "OrderedMapUnstageNoKey"}},
      {"-> []",
       {"StageSize", "MapSize", "MapIncompleteSize", "OrderedMapSize", "OrderedMapIncompleteSize",
        "EmptyTensorMap", "Timestamp", "StubResourceHandleOp"}},
      {"-> ", {"StageClear", "MapClear", "OrderedMapClear"}},
      {"* -> []",
       {"GetSessionHandle", "TensorMapSize", "IsResourceHandleRefCounting",
        "MakeWeakResourceHandle"}},
      {"* -> *", {"GetSessionTensor", "TensorMapStackKeys", "DebugNumericSummaryV2"}},
      {"* -> ", {"DeleteSessionTensor"}},
      {"[], * -> *", {"TensorMapLookup"}},
      {"[], * -> []", {"TensorMapErase", "TensorMapHasKey"}},
      {"[], *, * -> []", {"TensorMapInsert"}},
      {"*+ -> []", {"CompositeTensorVariantFromComponents"}},
      {"* -> *+", {"CompositeTensorVariantToComponents"}},
      {"X -> X",
       {"Copy", "CopyHost", "DebugIdentity", "DebugIdentityV2", "DebugIdentityV3",
        "DebugGradientIdentity", "DebugGradientRefIdentity"}},
      {"* -> [1]", {"DebugNanCount"}},
      {"* -> [?]", {"DebugNumericSummary"}},
      {"*, *, [] -> *", {"Unbatch"}},
      {"*, *, *, [] -> *", {"UnbatchGrad"}},
      {"*+ -> *+", {"BatchFunction"}},
  };
  return table;
}

ShapeResults forwarded(const ShapeQuery &query) {
  ShapeResults out;
  for (size_t i = 0; i < std::min(query.numInputs(), query.numResults()); ++i)
    out.values.push_back(query.input(i));
  return out;
}

constexpr ShapeEntry functions[] = {
    {"Batch", batched},
    {"MapDefun", mapped},
    {"_ArrayToList", forwarded},
    {"_ListToArray", forwarded},
};

} // namespace

ShapeFamily stagingShapes() { return {signatures(), functions}; }

} // namespace treadle
