// Lowers While and For to frames.
#include "treadle/rewriting/Frames.h"
#include "treadle/transforms/functional_to_v1/Lowering.h"

using namespace mlir;

namespace treadle::tfg {

Value Lowering::enter(const LoopValue &value, unsigned index, StringAttr frame, ValueRange tokens) {
  NodeBuilder built = make("Enter", "Enter_" + Twine(index), value.initial);
  if (overlaps)
    built.attr(overlapKey, builder.getBoolAttr(true));
  return built.attr("frame_name", frame)
      .attr("is_constant", builder.getBoolAttr(value.isConstant))
      .attr("parallel_iterations", builder.getI64IntegerAttr(parallelIterations(node)))
      .attr(loweredInputKey, builder.getI64IntegerAttr(index))
      .inputs(value.initial)
      .control(tokens)
      .results(value.type)
      .build()
      .results()[0];
}

/// Returns the token that a call of the body waits for. TensorFlow inlines the call in the frame;
/// nodes without inputs are in the frame only if they wait for a node in it. The token of the
/// Switch itself is also available when the loop ends, so it can't be used.
Value Lowering::bodyToken(Value variable) {
  return controlTokenOf(identity(variable, {}, "pivot"));
}

/// Returns the results of the Exit nodes; for constants, their initial values.
SmallVector<Value> Lowering::lowerLoop(ArrayRef<LoopValue> values, ValueRange tokens,
                                       function_ref<Value(Values)> condition,
                                       function_ref<SmallVector<Value>(Values)> body) {
  auto wanted = node.attr<StringAttr>(frameNameKey);
  StringAttr frame = builder.getStringAttr(names.frame(wanted ? wanted.getValue() : name));
  SmallVector<Value> current, inBody, results;
  SmallVector<Node> merges(values.size());
  for (auto [index, value] : llvm::enumerate(values)) {
    current.push_back(enter(value, index, frame, tokens));
    if (value.isConstant)
      continue;
    merges[index] = mergeOf({current[index], current[index]}, "Merge_" + Twine(index));
    current[index] = merges[index].results()[0];
  }
  Type boolean = scalar(builder.getI1Type());
  Value goesOn =
      make("LoopCond", "LoopCond").inputs(condition(current)).results(boolean).build().results()[0];
  for (auto [index, value] : llvm::enumerate(values)) {
    inBody.push_back(current[index]);
    results.push_back(value.initial);
    if (value.isConstant)
      continue;
    Node split = make("Switch", "Switch_" + Twine(index), current[index])
                     .inputs({current[index], goesOn})
                     .results({value.type, value.type})
                     .build();
    inBody[index] = split.results()[1];
    results[index] = compute("Exit", "Exit_" + Twine(index), split.results()[0], value.type);
  }
  SmallVector<Value> next = body(inBody);
  for (auto [index, value] : llvm::enumerate(values)) {
    if (value.isConstant)
      continue;
    Value nextValue =
        compute("NextIteration", "NextIteration_" + Twine(index), next[index], value.type);
    // Results of a call with TensorFlow's weaker dependencies may precede its control results.
    if (dissolves)
      addControl(definingNode(nextValue), controlTokenOf(next[index]));
    merges[index]->setOperand(1, nextValue);
  }
  return results;
}

/// Returns whether the body returns a loop variable unchanged.
bool Lowering::returnsUnchanged(tf_type::FuncAttr callee, unsigned index) {
  auto body = functions.lookup<FuncOp>(callee.getName().getRootReference());
  return body && !body.isExternal() && !body.getGeneric() && index < body.getNumDataArguments() &&
         body.getReturn().getData()[index] == body.getDataArgument(index);
}

// Handles that never change enter once, as in TensorFlow, and have no Exit.
SmallVector<Lowering::LoopValue> Lowering::loopValues(tf_type::FuncAttr body) {
  SmallVector<LoopValue> values;
  for (auto [index, value] : llvm::enumerate(node.data())) {
    bool isHandle = isa<tf_type::ResourceType>(getElementTypeOrSelf(value));
    values.push_back(
        {value, node.results()[index].getType(), isHandle && returnsUnchanged(body, index)});
  }
  return values;
}

Type Lowering::conditionType(tf_type::FuncAttr callee) {
  auto condition = functions.lookup<FuncOp>(callee.getName().getRootReference());
  Type boolean = scalar(builder.getI1Type());
  if (!condition || condition.isExternal() || condition.getGeneric())
    return boolean;
  Type type = condition.getReturn().getData()[0].getType();
  return getElementTypeOrSelf(type).isInteger(1) ? boolean : type;
}

// A frame needs at least one loop variable.
void Lowering::lowerWhile() {
  auto cond = node.attr<tf_type::FuncAttr>("cond"), body = node.attr<tf_type::FuncAttr>("body");
  SmallVector<LoopValue> values = loopValues(body);
  if (values.empty())
    return emitNotLowered("it has no loop variable for a frame");
  Type goesOn = conditionType(cond);
  if (std::string why = conditionObstacle(goesOn); !why.empty())
    return emitNotLowered(why);
  if (llvm::all_of(values, [](const LoopValue &value) { return value.isConstant; }))
    values.front().isConstant = false;
  size_t varying =
      llvm::find_if(values, [](auto &value) { return !value.isConstant; }) - values.begin();
  SmallVector<Value> results = lowerLoop(
      values, node.control(),
      [&](Values current) {
        Value token = controlTokenOf(current[varying]);
        return toBool(call("cond", cond, current, token, goesOn).results()[0]);
      },
      [&](Values current) {
        Value token = bodyToken(current[varying]);
        return SmallVector<Value>(
            call("body", body, current, token, node.results().getTypes()).results());
      });
  replace(results, {});
}

// The counter is wider than the index. The loop continues while counter * delta < limit * delta,
// which is right for both signs and can't overflow. An infinite range is an error, as in For.
void Lowering::lowerFor() {
  Type wide = scalar(builder.getI64Type()), boolean = scalar(builder.getI1Type());
  auto widened = [&](unsigned index, StringRef what) {
    return make("Cast", what)
        .attr("SrcT", dtypeOf(node.data()[index]))
        .attr("DstT", mlir::TypeAttr::get(builder.getI64Type()))
        .attr("Truncate", builder.getBoolAttr(false))
        .attr(loweredFromKey, builder.getStringAttr(name))
        .inputs(node.data()[index])
        .results(wide)
        .build()
        .results()[0];
  };
  Value start = widened(0, "start"), limit = widened(1, "limit"), delta = widened(2, "delta");
  Value bound = compute("Mul", "bound", {limit, delta}, wide);
  Value first = compute("Mul", "first", {start, delta}, wide);
  Value isRange = compute("Less", "ends", {first, bound}, boolean);
  Value isEmpty = make("Equal", "is_empty", start)
                      .attr("incompatible_shape_error", builder.getBoolAttr(true))
                      .inputs({start, limit})
                      .results(boolean)
                      .build()
                      .results()[0];
  Value isValid = make("LogicalOr", "is_valid")
                      .attr(loweredFromKey, builder.getStringAttr(name))
                      .inputs({isRange, isEmpty})
                      .results(boolean)
                      .build()
                      .results()[0];
  Node check = make("Assert", "check")
                   .attr("T", dtypesOf({start.getType(), limit.getType(), delta.getType()}))
                   .attr("summarize", builder.getI64IntegerAttr(3))
                   .attr(loweredFromKey, builder.getStringAttr(name))
                   .inputs({isValid, start, limit, delta})
                   .control(node.control())
                   .build();

  SmallVector<LoopValue> values = {{start, wide}, {bound, wide, true}, {delta, wide, true}};
  for (auto [input, result] : llvm::zip(node.data().drop_front(3), node.results()))
    values.push_back({input, result.getType()});
  SmallVector<Value> results = lowerLoop(
      values, check.controlResult(),
      [&](Values current) {
        Value now = compute("Mul", "now", {current[0], current[2]}, wide);
        return compute("Less", "goes_on", {now, current[1]}, boolean);
      },
      [&](Values current) {
        SmallVector<Value> inputs = {make("Cast", "index")
                                         .attr("SrcT", mlir::TypeAttr::get(builder.getI64Type()))
                                         .attr("DstT", mlir::TypeAttr::get(builder.getI32Type()))
                                         .attr("Truncate", builder.getBoolAttr(false))
                                         .attr(loweredFromKey, builder.getStringAttr(name))
                                         .inputs(current[0])
                                         .results(scalar(builder.getI32Type()))
                                         .build()
                                         .results()[0]};
        llvm::append_range(inputs, current.drop_front(3));
        Node done = call("body", node.attr<tf_type::FuncAttr>("body"), inputs,
                         bodyToken(current[0]), node.results().getTypes());
        // An iteration without results must still complete before the next one starts.
        Node step = make("AddV2", "step", current[0])
                        .inputs({current[0], current[2]})
                        .control(done.controlResult())
                        .results(wide)
                        .build();
        SmallVector<Value> next = {step.results()[0], {}, {}};
        llvm::append_range(next, done.results());
        return next;
      });
  replace(ArrayRef(results).drop_front(3), controlTokenOf(results.front()));
}

} // namespace treadle::tfg
