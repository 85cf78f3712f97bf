// Shape functions of tensor arrays: a handle, the shape of the elements, and a flow that orders
// accesses.
#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {
namespace {

// The element shape applies to all elements only with identical_element_shapes.
ShapeResults made(const ShapeQuery &query) {
  return {KnownValue(Shape{2}, {query.shapeAttr("element_shape")}), Shape::scalar()};
}

ShapeResults gradient(const ShapeQuery &query) {
  return {KnownValue(Shape{2}, query.input(0).held), Shape::scalar()};
}

ShapeResults gradientWithRows(const ShapeQuery &query) {
  return {KnownValue(Shape{2}, {query.shapeFrom(2) + query.held(0)}), Shape::scalar()};
}

ShapeResults gathered(const ShapeQuery &query) {
  Shape element = meet(query.held(0), query.shapeAttr("element_shape"));
  return {Shape{query.shape(1).dim(0)} + element};
}

// All elements, in unknown number.
ShapeResults packed(const ShapeQuery &query) {
  return {Shape{Shape::unknown} + meet(query.held(0), query.shapeAttr("element_shape"))};
}

ShapeResults concatenated(const ShapeQuery &query) {
  Shape row = query.shapeAttr("element_shape_except0"), held = query.held(0);
  if (held.hasRank() && held.rank() > 0)
    row = meet(row, held.drop(1));
  return {Shape{Shape::unknown} + row, Shape{Shape::unknown}};
}

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"*, [] -> []", {"TensorArraySize", "TensorArraySizeV2", "TensorArraySizeV3"}},
      {"* -> ", {"TensorArrayClose", "TensorArrayCloseV2", "TensorArrayCloseV3"}},
      {"*:X, [], [] -> X", {"TensorArrayRead", "TensorArrayReadV2", "TensorArrayReadV3"}},
      {"*:X, [], X, [] -> []", {"TensorArrayWrite", "TensorArrayWriteV2", "TensorArrayWriteV3"}},
      {"*:X, [n], [n,X], [] -> []",
       {"TensorArrayScatter", "TensorArrayScatterV2", "TensorArrayScatterV3"}},
      {"*, *, [n], [] -> []", {"TensorArraySplit", "TensorArraySplitV2", "TensorArraySplitV3"}},
      {"*:X, [?,X], [] -> []", {"TensorArrayUnpack"}},
  };
  return table;
}

constexpr ShapeEntry functions[] = {
    {"TensorArray", made},
    {"TensorArrayV2", made},
    {"TensorArrayV3", made},
    {"TensorArrayGrad", gradient},
    {"TensorArrayGradV2", gradient},
    {"TensorArrayGradV3", gradient},
    {"TensorArrayGradWithShape", gradientWithRows},
    {"TensorArrayGather", gathered},
    {"TensorArrayGatherV2", gathered},
    {"TensorArrayGatherV3", gathered},
    {"TensorArrayPack", packed},
    {"TensorArrayConcat", concatenated},
    {"TensorArrayConcatV2", concatenated},
    {"TensorArrayConcatV3", concatenated},
};

} // namespace

ShapeFamily tensorArrayShapes() { return {signatures(), functions}; }

} // namespace treadle
