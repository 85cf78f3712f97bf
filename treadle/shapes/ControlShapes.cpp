// Shape functions of v1 control flow, calls whose results only attributes describe, sends and
// receives, and ops without results.
#include "treadle/ops/OpTable.h"
#include "treadle/shapes/ShapeFunctions.h"

#include <algorithm>

namespace treadle {
namespace {

ShapeResults merged(const ShapeQuery &query) {
  if (query.numInputs() == 0)
    return {};
  KnownValue out = query.input(0);
  for (size_t i = 1; i < query.numInputs(); ++i)
    out = join(out, query.input(i));
  return {out, Shape::scalar()};
}

ShapeResults chosen(const ShapeQuery &query) {
  if (query.numInputs() < 2)
    return {};
  Shape out = query.shape(1);
  for (size_t i = 2; i < query.numInputs(); ++i)
    out = join(out, query.shape(i));
  return {out};
}

ShapeResults branches(const ShapeQuery &query) {
  return ShapeResults::all(query.numResults(), query.input(0));
}

// A value from an optional, or an optional from a value.
ShapeResults optionalOf(const ShapeQuery &query) {
  KnownValue out(Shape::scalar());
  for (size_t i = 0; i < query.numInputs(); ++i)
    out.held.push_back(query.shape(i));
  return {out};
}

ShapeResults valueOfOptional(const ShapeQuery &query) {
  ShapeResults out;
  std::vector<Shape> stated = query.shapesAttr("output_shapes");
  stated.resize(std::min(std::max(stated.size(), query.input(0).held.size()), query.numResults()));
  for (size_t i = 0; i < stated.size(); ++i)
    out.values.emplace_back(meet(stated[i], query.held(0, i)));
  return out;
}

// Each gradient has the shape of its operand. Inputs are the operands, then the results' gradients.
ShapeResults gradients(const ShapeQuery &query) {
  ShapeResults out;
  for (size_t i = 0; i < query.numResults() && i < query.numInputs(); ++i)
    out.values.emplace_back(query.shape(i));
  return out;
}

template <typename IsIn> std::vector<std::string_view> opsWhere(IsIn isIn) {
  std::vector<std::string_view> out;
  for (const OpDef &op : allOps())
    if (isIn(op.kind()))
      out.push_back(op.name());
  return out;
}

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"*+ -> {output_shapes}+",
       opsWhere([](OpKind kind) { return isConditional(kind) || kind == OpKind::While; })},
      {"*+ -> *+",
       opsWhere([](OpKind kind) { return kind == OpKind::Call || kind == OpKind::Argument; })},
      {"-> ", {"NoOp", "ControlTrigger", "Abort"}},
      {"*+ -> ", {"Assert", "PrintV2", "Send", "_Send", "_HostSend"}},
      {"-> *+", {"Recv", "_Recv", "_HostRecv"}},
      {"-> {shape}", {"FakeParam"}},
      {"-> []", {"DeviceIndex", "OptionalNone", "MutexV2"}},
      {"* -> []", {"OptionalHasValue", "MutexLock"}},
      {"*+ -> []", {"_ChannelSend"}},
      {"* -> ", {"ConsumeMutexLock"}},
      {"*+ -> {output_shapes}+",
       {"IteratorGetNext", "IteratorGetNextSync", "EagerPyFunc", "_ChannelReceive"}},
      {"*+ -> *+", {"RemoteCall", "PyFunc", "PyFuncStateless", "For"}},
      {"* -> *+", {"_Retval"}},
  };
  return table;
}

constexpr ShapeEntry functions[] = {
    {"Merge", merged},
    {"RefMerge", merged},
    {"RefSelect", chosen},
    {"Switch", branches},
    {"RefSwitch", branches},
    {"_SwitchN", branches},
    {"OptionalFromValue", optionalOf},
    {"OptionalGetValue", valueOfOptional},
    {"SymbolicGradient", gradients},
};

} // namespace

ShapeFamily controlShapes() { return {signatures(), functions}; }

} // namespace treadle
