// Gradients of ops that move whole tensors: reshape, concatenate, split, permute, repeat.
#include "treadle/gradients/GradientTable.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

Values passThrough(Emitter &, const DifferentiatedNode &f) { return f.gradients; }

Values readGradient(Emitter &, const DifferentiatedNode &f) { return {f.dy()}; }

Values reshapeGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.reshape(f.dy(), e.shapeOf(f.x(0)))};
}

Values packGradient(Emitter &e, const DifferentiatedNode &f) {
  SmallVector<NamedAttribute> attrs = e.attrsOf(f.node, {"T", "axis"});
  attrs.push_back(e.integerAttr("num", f.numInputs()));
  SmallVector<Type> types(f.numInputs(), f.element());
  return Values(e.emit("Unpack", f.dy(), types, attrs).results());
}

Values unpackGradient(Emitter &e, const DifferentiatedNode &f) {
  SmallVector<NamedAttribute> attrs = e.attrsOf(f.node, {"axis"});
  attrs.push_back(e.integerAttr("N", f.gradients.size()));
  return {e.same("Pack", f.gradients, attrs)};
}

/// Returns the slice of the whole's gradient for each part.
Values slicesOf(Emitter &e, Value whole, ValueRange parts, Value axis) {
  Type i32 = e.builder.getI32Type();
  SmallVector<Type> indices(parts.size(), i32);
  NamedAttribute count = e.integerAttr("N", parts.size());
  Node shapes = e.emit("ShapeN", parts, indices,
                       {e.attr("T", elementOf(parts[0])), e.attr("out_type", i32), count});
  SmallVector<Value> inputs = {e.index(axis)};
  llvm::append_range(inputs, shapes.results());
  Node offsets = e.emit("ConcatOffset", inputs, indices, count);
  Values slices;
  for (auto [offset, shape] : llvm::zip(offsets.results(), shapes.results()))
    slices.push_back(e.slice(whole, offset, shape));
  return slices;
}

Values concatGradient(Emitter &e, const DifferentiatedNode &f) {
  Values gradients = {nullptr};
  llvm::append_range(gradients, slicesOf(e, f.dy(), f.node.data().drop_front(), f.x(0)));
  return gradients;
}

Values concatV2Gradient(Emitter &e, const DifferentiatedNode &f) {
  unsigned last = f.numInputs() - 1;
  return slicesOf(e, f.dy(), f.node.data().take_front(last), f.x(last));
}

Values splitGradient(Emitter &e, const DifferentiatedNode &f) {
  return {nullptr, e.concat(f.gradients, f.x(0))};
}

Values splitVGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.concat(f.gradients, f.x(2))};
}

Values fillGradient(Emitter &e, const DifferentiatedNode &f) {
  return {nullptr, e.sum(f.dy(), e.range(e.rankOf(f.dy())))};
}

Values transposeGradient(Emitter &e, const DifferentiatedNode &f) {
  Type element = elementOf(f.x(1));
  Value inverse = e.same("InvertPermutation", f.x(1));
  return {e.same("Transpose", {f.dy(), inverse}, e.attr("Tperm", element))};
}

/// The op is its own inverse.
Values reverseGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same(f.node.opType(), {f.dy(), f.x(1)}, e.attrsOf(f.node, {"Tidx"}))};
}

Values broadcastToGradient(Emitter &e, const DifferentiatedNode &f) {
  Value shape = e.shapeOf(f.x(0));
  Value axes = e.broadcastAxes(shape, e.shapeOf(f.dy())).first;
  return {e.reshape(e.sum(f.dy(), axes), shape)};
}

/// Splits each axis of the gradient in two (copies and original axis), and sums over the copies.
Values tileGradient(Emitter &e, const DifferentiatedNode &f) {
  Value shape = e.shapeOf(f.x(0));
  Value pairs =
      e.same("Pack", {e.index(f.x(1)), shape}, {e.integerAttr("N", 2), e.integerAttr("axis", 1)});
  Value interleaved = e.reshape(pairs, e.integers(-1));
  Type i32 = e.builder.getI32Type();
  Value count = e.to(i32, "Size", interleaved, e.attr("out_type", i32));
  Value copies =
      e.emit("Range", {e.integer(0), count, e.integer(2)}, i32, e.attr("Tidx", i32))->getResult(0);
  return {e.reshape(e.sum(e.reshape(f.dy(), interleaved), copies), shape)};
}

} // namespace

void addArrayGradients(GradientTable &table) {
  for (const char *op : {"Identity", "IdentityN", "EnsureShape", "CheckNumerics", "CheckNumericsV2",
                         "Snapshot", "DeepCopy", "RefIdentity", "PlaceholderWithDefault", "Print",
                         "XlaSharding", "XlaSpmdFullToShardShape", "XlaSpmdShardToFullShape"})
    table[op] = passThrough;
  table["ReadVariableOp"] = readGradient;
  for (const char *op : {"Reshape", "ExpandDims", "Squeeze"})
    table[op] = reshapeGradient;
  table["Pack"] = packGradient;
  table["Unpack"] = unpackGradient;
  table["Concat"] = concatGradient;
  table["ConcatV2"] = concatV2Gradient;
  table["Split"] = splitGradient;
  table["SplitV"] = splitVGradient;
  table["Fill"] = fillGradient;
  table["Transpose"] = transposeGradient;
  table["Reverse"] = reverseGradient;
  table["ReverseV2"] = reverseGradient;
  table["BroadcastTo"] = broadcastToGradient;
  table["Tile"] = tileGradient;
}

} // namespace treadle::tfg
