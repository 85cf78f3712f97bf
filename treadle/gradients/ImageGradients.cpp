// Gradients of resizing, and of ops that move pixels or rows.
#include "treadle/gradients/GradientTable.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

constexpr StringRef resizeAttrs[] = {"align_corners", "half_pixel_centers"};

/// Returns the height and the width of an image.
Value imageSize(Emitter &e, Value image) {
  Value shape = e.shapeOf(image);
  return e.slice(shape, e.integers(1), e.integers(2));
}

Values resizeGradient(Emitter &e, const DifferentiatedNode &f, StringRef op) {
  SmallVector<NamedAttribute> attrs = e.attrsOf(f.node, resizeAttrs);
  attrs.push_back(e.attr("T", f.element()));
  return {e.emit(op, {f.dy(), f.x(0)}, f.element(), attrs)->getResult(0)};
}

Values nearestNeighborGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same("ResizeNearestNeighborGrad", {f.dy(), imageSize(e, f.x(0))},
                 e.attrsOf(f.node, resizeAttrs))};
}

Values cropAndResizeGradient(Emitter &e, const DifferentiatedNode &f) {
  SmallVector<NamedAttribute> attrs = e.attrsOf(f.node, {"method"});
  attrs.push_back(e.attr("T", f.element()));
  Value image = e.emit("CropAndResizeGradImage", {f.dy(), f.x(1), f.x(2), e.shapeOf(f.x(0))},
                       f.element(), attrs)
                    ->getResult(0);
  Value boxes = e.emit("CropAndResizeGradBoxes", {f.dy(), f.x(0), f.x(1), f.x(2)},
                       elementOf(f.x(1)), e.attr("T", f.element()))
                    ->getResult(0);
  return {image, boxes};
}

Values mirrorPadGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same("MirrorPadGrad", {f.dy(), f.x(1)}, e.attrsOf(f.node, {"mode", "Tpaddings"}))};
}

Values mirrorPadGradGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same("MirrorPad", {f.dy(), f.x(1)}, e.attrsOf(f.node, {"mode", "Tpaddings"}))};
}

Values reverseSequenceGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same("ReverseSequence", {f.dy(), f.x(1)},
                 e.attrsOf(f.node, {"seq_dim", "batch_dim", "Tlen"}))};
}

Values rollGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same("Roll", {f.dy(), e.same("Neg", f.x(1)), f.x(2)},
                 e.attrsOf(f.node, {"Tshift", "Taxis"}))};
}

/// The inverse op takes the same attributes and further inputs.
GradientFunction inverseOp(StringRef op, ArrayRef<StringRef> attrs) {
  return [op, attrs](Emitter &e, const DifferentiatedNode &f) -> Values {
    SmallVector<Value> inputs(f.node.data());
    inputs[0] = f.dy();
    return {e.same(op, inputs, e.attrsOf(f.node, attrs))};
  };
}

constexpr StringRef blockAttrs[] = {"block_size", "data_format"};

/// The inverse op has another attribute for the dtype of the paddings.
Values batchToSpaceGradient(Emitter &e, const DifferentiatedNode &f, StringRef op, StringRef from,
                            StringRef to) {
  SmallVector<Value> inputs(f.node.data());
  inputs[0] = f.dy();
  SmallVector<NamedAttribute> attrs = e.attrsOf(f.node, {"block_size", "Tblock_shape"});
  if (Attribute type = f.node.attr(from))
    attrs.push_back(e.attr(to, type));
  return {e.same(op, inputs, attrs)};
}

} // namespace

void addImageGradients(GradientTable &table) {
  table["ResizeBilinear"] = [](Emitter &e, const DifferentiatedNode &f) {
    return resizeGradient(e, f, "ResizeBilinearGrad");
  };
  table["ResizeBicubic"] = [](Emitter &e, const DifferentiatedNode &f) {
    return resizeGradient(e, f, "ResizeBicubicGrad");
  };
  table["ResizeNearestNeighbor"] = nearestNeighborGradient;
  table["CropAndResize"] = cropAndResizeGradient;
  table["MirrorPad"] = mirrorPadGradient;
  table["MirrorPadGrad"] = mirrorPadGradGradient;
  table["ReverseSequence"] = reverseSequenceGradient;
  table["Roll"] = rollGradient;
  table["SpaceToDepth"] = inverseOp("DepthToSpace", blockAttrs);
  table["DepthToSpace"] = inverseOp("SpaceToDepth", blockAttrs);
  table["SpaceToBatchND"] = [](Emitter &e, const DifferentiatedNode &f) {
    return batchToSpaceGradient(e, f, "BatchToSpaceND", "Tpaddings", "Tcrops");
  };
  table["BatchToSpaceND"] = [](Emitter &e, const DifferentiatedNode &f) {
    return batchToSpaceGradient(e, f, "SpaceToBatchND", "Tcrops", "Tpaddings");
  };
  table["SpaceToBatch"] = [](Emitter &e, const DifferentiatedNode &f) {
    return batchToSpaceGradient(e, f, "BatchToSpace", "Tpaddings", "Tidx");
  };
  table["BatchToSpace"] = [](Emitter &e, const DifferentiatedNode &f) {
    return batchToSpaceGradient(e, f, "SpaceToBatch", "Tidx", "Tpaddings");
  };
}

} // namespace treadle::tfg
