#include "treadle/transforms/Passes.h"
#include "treadle/transforms/functional_to_v1/Lowered.h"
#include "treadle/transforms/rewriting/Rewriting.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_FUNCTIONALTOV1
#include "treadle/transforms/Passes.h.inc"

namespace {

/// Lowers one node. What it makes is named for it: `while/Enter_0`, `while/Merge_0`, ...
class Lowering {
public:
  Lowering(tfg::Node node, tfg::NameScope &names, tfg::Effects &effects, SymbolTable &functions)
      : node(node), names(names), effects(effects), functions(functions),
        builder(node.getOperation()), context(builder.getContext()), name(node.name().str()) {}

  void lowerWhile();
  void lowerBranches(Value selector, ArrayRef<tf_type::FuncAttr> callees);
  void lowerIf();
  void lowerCase();

private:
  tfg::NodeBuilder make(StringRef opType, const Twine &suffix);
  tfg::NodeBuilder make(StringRef opType, const Twine &suffix, Value like);
  TypeAttr dtypeOf(Value value) { return TypeAttr::get(getElementTypeOrSelf(value.getType())); }
  ArrayAttr dtypesOf(TypeRange types);
  tfg::Node call(const Twine &suffix, tf_type::FuncAttr callee, ValueRange inputs, Value token,
                 TypeRange results);
  Value enter(unsigned index, bool isConstant);
  bool passesOn(tf_type::FuncAttr callee, unsigned index);
  void replace(ArrayRef<Value> results, Value token);

  tfg::Node node;
  tfg::NameScope &names;
  tfg::Effects &effects;
  SymbolTable &functions;
  OpBuilder builder;
  MLIRContext *context;
  std::string name;
};

tfg::NodeBuilder Lowering::make(StringRef opType, const Twine &suffix) {
  tfg::NodeBuilder built(builder, opType);
  built.placedAs(node).name(names.unique((name + "/" + suffix).str()));
  return built;
}

tfg::NodeBuilder Lowering::make(StringRef opType, const Twine &suffix, Value like) {
  tfg::NodeBuilder built = make(opType, suffix);
  built.attr("T", dtypeOf(like)).attr(tfg::loweredKey, builder.getStringAttr(node.opType()));
  return built;
}

ArrayAttr Lowering::dtypesOf(TypeRange types) {
  SmallVector<Attribute> attrs;
  for (Type type : types)
    attrs.push_back(TypeAttr::get(getElementTypeOrSelf(type)));
  return builder.getArrayAttr(attrs);
}

tfg::Node Lowering::call(const Twine &suffix, tf_type::FuncAttr callee, ValueRange inputs,
                         Value token, TypeRange results) {
  bool isPure = effects.isPureFunction(callee.getName().getRootReference().getValue());
  return make(isPure ? "PartitionedCall" : "StatefulPartitionedCall", suffix)
      .attr("Tin", dtypesOf(inputs.getTypes()))
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

//===----------------------------------------------------------------------===//
// While
//===----------------------------------------------------------------------===//

Value Lowering::enter(unsigned index, bool isConstant) {
  Value value = node.data()[index];
  auto parallel = node.attr<IntegerAttr>("parallel_iterations");
  auto frame = node.attr<StringAttr>("_frame_name");
  return make("Enter", "Enter_" + Twine(index), value)
      .attr("frame_name", frame ? frame : builder.getStringAttr(name))
      .attr("is_constant", builder.getBoolAttr(isConstant))
      .attr("parallel_iterations", parallel ? parallel : builder.getI64IntegerAttr(10))
      .inputs(value)
      .control(node.control())
      .results(node.results()[index].getType())
      .build()
      .results()[0];
}

/// Whether the body gives a loop variable back as it was.
bool Lowering::passesOn(tf_type::FuncAttr callee, unsigned index) {
  auto body = functions.lookup<tfg::FuncOp>(callee.getName().getRootReference());
  return body && !body.isExternal() && !body.getGeneric() && index < body.getNumDataArguments() &&
         body.getReturn().getData()[index] == body.getDataArgument(index);
}

// Handles that never change come in once, as TensorFlow has it; so they don't come out either.
void Lowering::lowerWhile() {
  auto cond = node.attr<tf_type::FuncAttr>("cond"), body = node.attr<tf_type::FuncAttr>("body");
  unsigned count = node.numData();
  SmallVector<bool> isConstant;
  for (unsigned i = 0; i < count; ++i)
    isConstant.push_back(isa<tf_type::ResourceType>(getElementTypeOrSelf(node.data()[i])) &&
                         passesOn(body, i));
  if (llvm::all_of(isConstant, [](bool constant) { return constant; })) {
    node->emitRemark() << "node '" << name << "' (" << node.opType()
                       << ") stays: it has no loop variable that a frame could be built on";
    return;
  }
  SmallVector<Value> current, inBody, results;
  SmallVector<tfg::Node> merges(count);
  for (unsigned i = 0; i < count; ++i) {
    Value value = enter(i, isConstant[i]);
    if (!isConstant[i]) {
      merges[i] = make("Merge", "Merge_" + Twine(i), value)
                      .attr("N", builder.getI64IntegerAttr(2))
                      .inputs({value, value})
                      .results({value.getType(), RankedTensorType::get({}, builder.getI32Type())})
                      .build();
      value = merges[i].results()[0];
    }
    current.push_back(value);
  }
  Type boolean = RankedTensorType::get({}, builder.getI1Type());
  Value goesOn = call("cond", cond, current, {}, boolean).results()[0];
  Value loopCond =
      make("LoopCond", "LoopCond").inputs(goesOn).results(boolean).build().results()[0];
  for (unsigned i = 0; i < count; ++i) {
    results.push_back(node.data()[i]);
    inBody.push_back(current[i]);
    if (isConstant[i])
      continue;
    Type type = current[i].getType();
    tfg::Node split = make("Switch", "Switch_" + Twine(i), current[i])
                          .inputs({current[i], loopCond})
                          .results({type, type})
                          .build();
    inBody[i] = split.results()[1];
    results[i] = make("Exit", "Exit_" + Twine(i), current[i])
                     .inputs(split.results()[0])
                     .results(type)
                     .build()
                     .results()[0];
  }
  tfg::Node next = call("body", body, inBody, {}, node.results().getTypes());
  Value token;
  for (unsigned i = 0; i < count; ++i) {
    if (isConstant[i])
      continue;
    tfg::Node back = make("NextIteration", "NextIteration_" + Twine(i), current[i])
                         .inputs(next.results()[i])
                         .results(current[i].getType())
                         .build();
    merges[i]->setOperand(1, back.results()[0]);
    token = token ? token : tfg::controlTokenOf(results[i]);
  }
  replace(results, token);
}

//===----------------------------------------------------------------------===//
// If and Case
//===----------------------------------------------------------------------===//

void Lowering::lowerBranches(Value selector, ArrayRef<tf_type::FuncAttr> callees) {
  StringRef opType = callees.size() == 2 && node.opType().ends_with("If") ? "Switch" : "_SwitchN";
  auto split = [&](Value value, const Twine &suffix) {
    SmallVector<Type> types(callees.size(), value.getType());
    tfg::NodeBuilder built = make(opType, suffix, value);
    if (opType == "_SwitchN")
      built.attr("num_outs", builder.getI64IntegerAttr(callees.size()));
    return built.inputs({value, selector}).control(node.control()).results(types).build();
  };
  auto identity = [&](Value value, Value token, const Twine &suffix) {
    return make("Identity", suffix, value)
        .inputs(value)
        .control(token)
        .results(value.getType())
        .build();
  };
  tfg::Node pivot = split(selector, "pivot");
  SmallVector<tfg::Node> inputs;
  for (auto [index, value] : llvm::enumerate(node.data().drop_front()))
    inputs.push_back(split(value, "Switch_" + Twine(index)));
  SmallVector<tfg::Node> calls;
  SmallVector<Value> ends;
  for (auto [side, callee] : llvm::enumerate(callees)) {
    SmallVector<Value> values;
    for (tfg::Node input : inputs)
      values.push_back(input.results()[side]);
    tfg::Node start = identity(pivot.results()[side], {}, "pivot_" + Twine(side));
    calls.push_back(call("branch_" + Twine(side), callee, values, start.controlResult(),
                         node.results().getTypes()));
    if (node.numResults() == 0)
      ends.push_back(
          identity(start.results()[0], calls.back().controlResult(), "end_" + Twine(side))
              .results()[0]);
  }
  auto merge = [&](ValueRange values, const Twine &suffix) {
    return make("Merge", suffix, values.front())
        .attr("N", builder.getI64IntegerAttr(values.size()))
        .inputs(values)
        .results({values.front().getType(), RankedTensorType::get({}, builder.getI32Type())})
        .build();
  };
  SmallVector<Value> results;
  for (unsigned i = 0, e = node.numResults(); i < e; ++i) {
    SmallVector<Value> values;
    for (tfg::Node from : calls)
      values.push_back(from.results()[i]);
    results.push_back(merge(values, "Merge_" + Twine(i)).results()[0]);
  }
  replace(results, results.empty() ? merge(ends, "end").controlResult()
                                   : tfg::controlTokenOf(results.front()));
}

void Lowering::lowerIf() {
  Value selector = node.data()[0];
  Type boolean = RankedTensorType::get({}, builder.getI1Type());
  if (!getElementTypeOrSelf(selector).isInteger(1))
    selector =
        make("ToBool", "ToBool", selector).inputs(selector).results(boolean).build().results()[0];
  lowerBranches(selector, {node.attr<tf_type::FuncAttr>("else_branch"),
                           node.attr<tf_type::FuncAttr>("then_branch")});
}

void Lowering::lowerCase() {
  SmallVector<tf_type::FuncAttr> callees;
  for (Attribute callee : node.attr<ArrayAttr>("branches"))
    callees.push_back(cast<tf_type::FuncAttr>(callee));
  lowerBranches(node.data()[0], callees);
}

// The node's name and attributes go to an IdentityN of the results, so that they can be fetched and
// the node be made again.
void Lowering::replace(ArrayRef<Value> results, Value token) {
  SmallVector<NamedAttribute> attrs = tfg::savedAttrs(node);
  tfg::NodeBuilder built(builder, results.empty() ? "NoOp" : "IdentityN");
  built.placedAs(node).name(name).attrs(attrs).control(results.empty() ? token : Value());
  if (!results.empty())
    built.attr("T", dtypesOf(node.results().getTypes()))
        .inputs(results)
        .results(node.results().getTypes());
  tfg::Node named = built.build();
  for (auto [from, to] : llvm::zip(node.results(), named.results()))
    from.replaceAllUsesWith(to);
  tfg::replaceControl(node.controlResult(), named.controlResult());
  node->erase();
}

struct FunctionalToV1 : impl::FunctionalToV1Base<FunctionalToV1> {
  void runOnOperation() override {
    tfg::Effects effects(getOperation());
    SymbolTable functions(getOperation());
    tfg::forEachBody(getOperation(), [&](Block &body) {
      tfg::NameScope names(body);
      for (Operation &op : llvm::make_early_inc_range(body))
        if (tfg::Node::isNode(&op))
          lower(tfg::Node(&op), names, effects, functions);
    });
  }

  static void lower(tfg::Node node, tfg::NameScope &names, tfg::Effects &effects,
                    SymbolTable &functions) {
    StringRef kind = tfg::functionalKind(node);
    Lowering lowering(node, names, effects, functions);
    if (kind == "While")
      lowering.lowerWhile();
    else if (kind == "If")
      lowering.lowerIf();
    else if (kind == "Case" && node.attr<ArrayAttr>("branches").size() > 1)
      lowering.lowerCase();
    else if (kind == "For" || kind == "Case")
      node->emitRemark() << "node '" << node.name() << "' (" << node.opType()
                         << ") stays: v1 control flow for it isn't made here";
  }
};

} // namespace
} // namespace treadle
