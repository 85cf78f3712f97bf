// Gradients of ops that slice tensors, or insert tensors into larger ones.
#include "treadle/gradients/GradientTable.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

constexpr StringRef stridedAttrs[] = {"Index",         "begin_mask",    "end_mask",
                                      "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"};

/// Pads the gradient with zeros to the input's shape.
Values sliceGradient(Emitter &e, const DifferentiatedNode &f) {
  Term begin{&e, e.index(f.x(1))}, whole{&e, e.shapeOf(f.x(0))}, part{&e, e.shapeOf(f.dy())};
  Value paddings = e.same("Pack", {begin, whole - begin - part},
                          {e.integerAttr("N", 2), e.integerAttr("axis", 1)});
  return {e.same("Pad", {f.dy(), paddings}, e.attr("Tpaddings", elementOf(paddings)))};
}

Values padGradient(Emitter &e, const DifferentiatedNode &f) {
  Value paddings = e.index(f.x(1));
  Node columns =
      e.emit("Unpack", paddings, {elementOf(paddings), elementOf(paddings)},
             {e.attr("T", elementOf(paddings)), e.integerAttr("num", 2), e.integerAttr("axis", 1)});
  return {e.slice(f.dy(), columns->getResult(0), e.shapeOf(f.x(0)))};
}

Values stridedSliceGradient(Emitter &e, const DifferentiatedNode &f) {
  Type index = elementOf(f.x(1));
  Value shape = e.cast(e.shapeOf(f.x(0)), index);
  SmallVector<NamedAttribute> attrs = e.attrsOf(f.node, stridedAttrs);
  attrs.push_back(e.attr("T", f.element()));
  return {e.emit("StridedSliceGrad", {shape, f.x(1), f.x(2), f.x(3), f.dy()}, f.element(), attrs)
              ->getResult(0)};
}

Values stridedSliceGradGradient(Emitter &e, const DifferentiatedNode &f) {
  Value sliced =
      e.same("StridedSlice", {f.dy(), f.x(1), f.x(2), f.x(3)}, e.attrsOf(f.node, stridedAttrs));
  return {nullptr, nullptr, nullptr, nullptr, sliced};
}

} // namespace

void addSliceGradients(GradientTable &table) {
  table["Slice"] = sliceGradient;
  table["Pad"] = padGradient;
  table["PadV2"] = padGradient;
  table["StridedSlice"] = stridedSliceGradient;
  table["StridedSliceGrad"] = stridedSliceGradGradient;
}

} // namespace treadle::tfg
