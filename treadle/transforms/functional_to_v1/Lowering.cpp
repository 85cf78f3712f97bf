// Parts that lowering of loops and of conditionals share: creating and naming nodes, and replacing
// the functional node.
#include "treadle/transforms/functional_to_v1/Lowering.h"

#include "treadle/lowering/Attributes.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/runtime/Conditions.h"

using namespace mlir;

namespace treadle::tfg {

BodyNames::BodyNames(Block &body) : nodes(body) {
  for (Operation &op : body)
    if (Node::isNode(&op))
      if (StringAttr frame = frameName(Node(&op)))
        frames.insert(frame.getValue());
}

std::string BodyNames::frame(StringRef base) {
  std::string name = base.str();
  for (unsigned next = 1; !frames.insert(name).second; ++next)
    name = (base + "_" + Twine(next)).str();
  return name;
}

std::string conditionObstacle(Type condition) {
  DType dtype = valueTypeOf(getElementTypeOrSelf(condition)).dtype;
  return isTruthConvertible(dtype) ? ""
                                   : str("its condition is ", dtypeName(dtype),
                                         ", which can't be converted to a boolean");
}

NodeBuilder Lowering::make(StringRef opType, const Twine &suffix) {
  NodeBuilder built(builder, opType);
  built.placedAs(node).name(names.node((name + "/" + suffix).str()));
  return built;
}

NodeBuilder Lowering::make(StringRef opType, const Twine &suffix, Value like) {
  NodeBuilder built = make(opType, suffix);
  built.attr("T", dtypeOf(like)).attr(loweredFromKey, builder.getStringAttr(name));
  return built;
}

Value Lowering::compute(StringRef opType, const Twine &suffix, ValueRange inputs, Type type) {
  return make(opType, suffix, inputs.front()).inputs(inputs).results(type).build().results()[0];
}

ArrayAttr Lowering::dtypesOf(TypeRange types) {
  SmallVector<Attribute> attrs;
  for (Type type : types)
    attrs.push_back(mlir::TypeAttr::get(getElementTypeOrSelf(type)));
  return builder.getArrayAttr(attrs);
}

Node Lowering::call(const Twine &suffix, tf_type::FuncAttr callee, ValueRange inputs, Value token,
                    TypeRange results) {
  bool isPure = effects.isPureFunction(callee.getName().getRootReference().getValue());
  NodeBuilder built = make(isPure ? "PartitionedCall" : "StatefulPartitionedCall", suffix);
  if (dissolves)
    built.attr(dissolvedCallKey, builder.getBoolAttr(true));
  return built.attr("Tin", dtypesOf(inputs.getTypes()))
      .attr("Tout", dtypesOf(results))
      .attr("f", callee)
      .attr("config", builder.getStringAttr(""))
      .attr("config_proto", builder.getStringAttr(""))
      .attr("executor_type", builder.getStringAttr(""))
      .inputs(inputs)
      .control(token)
      .results(results)
      .build();
}

/// Returns the predicate as a boolean, which frames need.
Value Lowering::toBool(Value condition) {
  Type boolean = builder.getI1Type();
  return getElementTypeOrSelf(condition) == boolean
             ? condition
             : compute("ToBool", "ToBool", condition, scalar(boolean));
}

void Lowering::emitNotLowered(const std::string &why) {
  node->emitRemark() << "node '" << name << "' (" << node.opType() << ") isn't lowered: " << why;
}

Node Lowering::mergeOf(ValueRange values, const Twine &suffix) {
  return make("Merge", suffix, values.front())
      .attr("N", builder.getI64IntegerAttr(values.size()))
      .inputs(values)
      .results({values.front().getType(), scalar(builder.getI32Type())})
      .build();
}

Value Lowering::identity(Value value, Value token, const Twine &suffix) {
  return make("Identity", suffix, value)
      .inputs(value)
      .control(token)
      .results(value.getType())
      .build()
      .results()[0];
}

// An IdentityN of the results takes over the node's name and attributes, so that the results can be
// fetched and the node can be restored. With TensorFlow's weaker dependencies, other nodes use each
// result directly; but users of a handle that a loop passes through must wait for the loop.
void Lowering::replace(ArrayRef<Value> results, Value token) {
  NodeBuilder built(builder, results.empty() ? "NoOp" : "IdentityN");
  built.placedAs(node).name(name).attrs(savedAttrs(node));
  if (results.empty())
    built.control(token);
  else
    built.attr("T", dtypesOf(node.results().getTypes()))
        .inputs(results)
        .control(dissolves ? token : Value())
        .results(node.results().getTypes());
  Node named = built.build();
  for (auto [from, direct, to] : llvm::zip(node.results(), results, named.results()))
    from.replaceAllUsesWith(dissolves && !llvm::is_contained(node.data(), direct) ? direct
                                                                                  : Value(to));
  replaceControl(node.controlResult(), dissolves && token ? token : named.controlResult());
  node->erase();
}

} // namespace treadle::tfg
