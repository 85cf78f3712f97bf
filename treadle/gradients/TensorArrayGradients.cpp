// Gradients of TensorArrays as in v1 graphs: a gradient array accompanies the array, and the
// gradient of its flow is the flow of the gradient array.
#include "treadle/gradients/GradientTable.h"
#include "treadle/gradients/TensorArraySource.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

struct Arrays {
  Emitter &e;
  const DifferentiatedNode &f;
  Value handle, flow; // of the gradient array

  Type dtype() const {
    auto stated = f.node.attr<TypeAttr>(f.node.attr("dtype") ? "dtype" : "T");
    return stated ? stated.getValue() : Type();
  }
  Value write(StringRef op, Value at, Value value) const {
    return e.emit(op, {handle, at, value, flow}, elementOf(flow), e.attr("T", dtype()))
        ->getResult(0);
  }
  Value read(StringRef op, Value at) const {
    return e.emit(op, {handle, at, flow}, dtype(), e.attr("dtype", dtype()))->getResult(0);
  }
};

/// Uses the flow's array, because reads of a gradient array must come after all writes to it, which
/// the flow orders.
Arrays gradientArray(Emitter &e, const DifferentiatedNode &f, Value flow) {
  Node made = e.emit("TensorArrayGradV3", {f.x(0), flow}, {elementOf(f.x(0)), elementOf(flow)},
                     e.attr("source", Attribute(e.builder.getStringAttr(newArraySource))));
  return {e, f, made->getResult(0), made->getResult(1)};
}

Values readGradient(Emitter &e, const DifferentiatedNode &f) {
  Arrays a = gradientArray(e, f, f.x(2));
  return {nullptr, nullptr, a.write("TensorArrayWriteV3", f.x(1), f.dy())};
}

Values gatherGradient(Emitter &e, const DifferentiatedNode &f) {
  Arrays a = gradientArray(e, f, f.x(2));
  return {nullptr, nullptr, a.write("TensorArrayScatterV3", f.x(1), f.dy())};
}

Values concatGradient(Emitter &e, const DifferentiatedNode &f) {
  Arrays a = gradientArray(e, f, f.x(1));
  Value flow = e.emit("TensorArraySplitV3", {a.handle, f.dy(), f.y(1), a.flow}, elementOf(a.flow),
                      e.attr("T", a.dtype()))
                   ->getResult(0);
  return {nullptr, flow};
}

Values writeGradient(Emitter &e, const DifferentiatedNode &f) {
  Arrays a = gradientArray(e, f, f.dy());
  return {nullptr, nullptr, a.read("TensorArrayReadV3", f.x(1)), f.dy()};
}

Values scatterGradient(Emitter &e, const DifferentiatedNode &f) {
  Arrays a = gradientArray(e, f, f.dy());
  return {nullptr, nullptr, a.read("TensorArrayGatherV3", f.x(1)), f.dy()};
}

Values splitGradient(Emitter &e, const DifferentiatedNode &f) {
  Arrays a = gradientArray(e, f, f.dy());
  Node whole = e.emit("TensorArrayConcatV3", {a.handle, a.flow},
                      {a.dtype(), e.builder.getI64Type()}, e.attr("dtype", a.dtype()));
  return {nullptr, whole->getResult(0), nullptr, f.dy()};
}

} // namespace

void addTensorArrayGradients(GradientTable &table) {
  table["TensorArrayReadV3"] = readGradient;
  table["TensorArrayGatherV3"] = gatherGradient;
  table["TensorArrayConcatV3"] = concatGradient;
  table["TensorArrayWriteV3"] = writeGradient;
  table["TensorArrayScatterV3"] = scatterGradient;
  table["TensorArraySplitV3"] = splitGradient;
}

} // namespace treadle::tfg
