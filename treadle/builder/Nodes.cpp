// Insertion of nodes: resolves inputs, infers attributes from them, and infers result types.
#include "treadle/builder/BuilderImpl.h"

#include "treadle/analysis/conformance/Conformance.h"
#include "treadle/analysis/shapes/NodeShapes.h"
#include "treadle/analysis/shapes/TypeShapes.h"
#include "treadle/graph/NodeInputs.h"
#include "treadle/ops/OpTable.h"

using namespace mlir;

namespace treadle::builder {
namespace {

/// Rolls back additions to a body on destruction, unless they are kept.
class NodeTransaction {
public:
  explicit NodeTransaction(BodyState &body)
      : body(body), last(body.block->empty() ? nullptr : &body.block->back()) {}
  ~NodeTransaction() {
    if (isKept)
      return;
    while (!body.block->empty() && &body.block->back() != last) {
      body.names.erase(tfg::Node(&body.block->back()).name());
      body.block->back().erase();
    }
    body.names.erase(name);
  }
  void keep() { isKept = true; }

  std::string name;

private:
  BodyState &body;
  mlir::Operation *last;
  bool isKept = false;
};

/// Returns the op definition's input that each data input belongs to.
std::vector<const ArgDef *> argumentsOf(const OpDef &def, size_t total, const AttrMap &attrs) {
  std::vector<const ArgDef *> out;
  std::vector<size_t> counts = inputCounts(def, total, attrs);
  for (auto [count, argument] : llvm::zip(counts, def.inputs()))
    out.insert(out.end(), count, &argument);
  return out;
}

bool allows(const AttrDef &attr, DType dtype) {
  return attr.allowedValues().empty() ||
         llvm::any_of(attr.allowedValues(), [&](AttrConstant c) { return c.asType() == dtype; });
}

/// Returns the dtype for a literal at this input; Invalid if nothing determines it.
DType wantedDType(const OpDef &def, const ArgDef &argument, const AttrMap &attrs) {
  if (argument.type() != DType::Invalid)
    return argument.type();
  const AttrDef *attr = argument.typeAttr().empty() ? nullptr : def.findAttr(argument.typeAttr());
  if (!attr)
    return DType::Invalid;
  if (auto stated = attrs.get<DType>(attr->name()))
    return *stated;
  if (attr->hasDefault())
    return attr->defaultValues()[0].asType();
  if (allows(*attr, DType::Int32) && allows(*attr, DType::Float32))
    return DType::Invalid;
  for (DType dtype : {DType::Int32, DType::Float32})
    if (allows(*attr, dtype))
      return dtype;
  return attr->allowedValues()[0].asType();
}

std::string attributeNames(const OpDef &def) {
  std::string out;
  for (const AttrDef &attr : def.attrs())
    out += str(out.empty() ? "" : ", ", attr.name());
  return out.empty() ? "none" : out;
}

Error wrongCount(const std::string &subject, size_t found, size_t expected) {
  return invalidArgument(subject, ": there are ", found, " inputs, expected ", expected);
}

} // namespace

// --- one input ----------------------------------------------------------------------------------

Expected<Output> BuilderImpl::constant(const Tensor &value, const std::string &name) {
  NodeRequest request{"Const", uniqueName(*current, name)};
  request.attrs.set("dtype", TypeAttr{value.dtype()});
  request.attrs.set("value", value);
  return emit(std::move(request)).map([](const Operation &node) { return node.output(0); });
}

Expected<Output> BuilderImpl::value(const Input &input, DType want, const std::string &name,
                                    const std::string &subject) {
  if (input.value)
    return resolve(input.value, subject);
  if (input.variable)
    return read(input.variable);
  Expected<Tensor> tensor = input.literal(want);
  if (!tensor)
    return Unexpected(
        Error{tensor.error().code, str(subject, ": ", std::move(tensor.error().message))});
  return constant(*tensor, name);
}

// --- nodes --------------------------------------------------------------------------------------

Expected<Operation> BuilderImpl::emit(NodeRequest request) {
  const OpDef *def = lookupOp(std::string_view(request.op));
  std::string subject = str("node '", request.name, "' (", request.op.str(), ")");
  NamedAttrList attrs;
  for (const auto &[key, value] : request.attrs) {
    Attribute attr = index->attribute(value);
    if (!attr)
      return Unexpected(invalidArgument(subject, ": attribute '", key,
                                        "' has a value that a graph can't represent"));
    attrs.set(key, attr);
  }
  SmallVector<Type> types;
  auto addType = [&](ValueType type) { types.push_back(index->tensor(type)); };
  if (def)
    for (const ArgDef &output : def->outputs())
      llvm::for_each(
          tfg::argumentTypes(*def, output, [&](StringRef key) { return attrs.get(key); }), addType);
  else
    for (DType dtype : request.outputs)
      addType({dtype});
  if (llvm::is_contained(types, Type()))
    return Unexpected(
        invalidArgument(subject, ": its attributes don't determine the dtype of an output"));

  SmallVector<mlir::Value> inputs, waits(request.waits);
  SmallVector<const KnownValue *> known;
  for (const Output &input : request.inputs) {
    inputs.push_back(slot(input).value);
    known.push_back(&slot(input).known);
  }
  for (const auto &tokens : current->waits)
    llvm::append_range(waits, tokens);
  OpBuilder builder = OpBuilder::atBlockEnd(current->block);
  tfg::Node node = tfg::NodeBuilder(builder, request.op)
                       .name(request.name)
                       .attrs(attrs.getAttrs())
                       .inputs(inputs)
                       .control(ValueRange(waits))
                       .results(types)
                       .build();
  if (!request.known) {
    ShapeResults found = tfg::shapesOf(node, known);
    if (!found.conflict.empty()) {
      node->erase();
      return Unexpected(invalidArgument(subject, ": ", found.conflict));
    }
    request.known = std::move(found.values);
  }
  request.known->resize(node.numResults());
  current->isStateful |= !def || def->isStateful();
  if (isInitializing && current == root)
    initNodes.insert(request.name);
  if (current->outline)
    current->outline->uniqueName(request.name);

  operations.push_back({request.name, current, node.controlResult(), {}});
  Operation made(this, static_cast<uint32_t>(operations.size() - 1));
  for (auto [i, result] : llvm::enumerate(node.results())) {
    KnownValue &value = (*request.known)[i];
    DType dtype = valueTypeOf(result.getType()).dtype;
    result.setType(tfg::tensorOf(value.shape, cast<TensorType>(result.getType()).getElementType()));
    operations.back().outputs.push_back(
        newOutput({result, current, str(request.name, ":", i), dtype, std::move(value), made}));
  }
  return made;
}

Expected<Operation> BuilderImpl::add(Builder::Node node) {
  if (llvm::any_of(node.inputs, isEmpty))
    return Operation();
  const OpDef *def = lookupOp(node.op);
  if (def && isV1ControlFlow(def->kind()))
    return Unexpected(invalidArgument("'", node.op,
                                      "' is an op of version 1's control flow, whose effects the "
                                      "builder can't order; use a loop or a conditional"));
  NodeTransaction attempt(*current);
  std::string name = TREADLE_TRY(nodeName(node.name, node.op));
  attempt.name = name;
  std::string subject = str("node '", name, "' (", node.op, ")");
  if (!def && node.outputs.empty() && node.op != "NoOp")
    return Unexpected(invalidArgument("there is no op '", node.op,
                                      "'; for a custom op, give the dtypes of its outputs"));
  std::vector<const ArgDef *> arguments(node.inputs.size(), nullptr);
  if (def) {
    arguments = argumentsOf(*def, node.inputs.size(), node.attrs);
    if (arguments.size() != node.inputs.size())
      return Unexpected(wrongCount(subject, node.inputs.size(), arguments.size()));
  }

  // Inputs with known dtypes determine those of literals.
  std::vector<DType> dtypes;
  for (auto [input, argument] : llvm::zip(node.inputs, arguments)) {
    bool wantsHandle = argument && argument->type() == DType::Resource;
    if (input.variable && wantsHandle) {
      slot(input.variable).isAssigned |= !opFacts(node.op).readsVariables;
      input = Input(input.variable.handle());
    }
    dtypes.push_back(input.value      ? slot(input.value).dtype
                     : input.variable ? slot(input.variable).dtype
                                      : DType::Invalid);
  }
  if (def)
    inferAttrs(*def, dtypes, node.attrs);
  NodeRequest request{node.op, name};
  for (auto [i, input] : llvm::enumerate(node.inputs)) {
    DType want = def ? wantedDType(*def, *arguments[i], node.attrs) : DType::Invalid;
    std::string part = arguments[i] ? std::string(arguments[i]->name()) : str("input_", i);
    Output found =
        TREADLE_TRY(value(input, want, str(name, "/", part), str(subject, ": input ", i)));
    request.inputs.push_back(found);
    dtypes[i] = slot(found).dtype;
    if (def)
      inferAttrs(*def, dtypes, node.attrs);
  }
  if (def)
    TREADLE_TRY(checkInputs(*def, subject, request.inputs, node.attrs));
  request.attrs = std::move(node.attrs);
  request.outputs = std::move(node.outputs);
  Expected<Operation> made = emit(std::move(request));
  if (made)
    attempt.keep();
  return made;
}

Expected<void> BuilderImpl::checkInputs(const OpDef &def, const std::string &subject,
                                        ArrayRef<Output> inputs, const AttrMap &attrs) {
  for (const AttrDef &attr : def.attrs())
    if (!attr.hasDefault() && !attrs.has(attr.name()))
      return Unexpected(invalidArgument(subject, ": attribute '", attr.name(), "' (",
                                        attr.kindName(),
                                        ") is missing and can't be inferred from the inputs"));
  for (const AttrDef &attr : def.attrs())
    if (auto dtype = attrs.get<DType>(attr.name());
        dtype && attr.kind() == AttrKind::Type && !allows(attr, *dtype)) {
      std::string names;
      for (AttrConstant allowed : attr.allowedValues())
        names += str(names.empty() ? "" : ", ", dtypeName(allowed.asType()));
      return Unexpected(invalidArgument(subject, ": attribute '", attr.name(), "' is ",
                                        dtypeName(*dtype), "; expected one of ", names));
    }
  for (const auto &[key, value] : attrs)
    if (!def.findAttr(key) && !StringRef(key).starts_with("_"))
      return Unexpected(invalidArgument(subject, ": there is no attribute '", key,
                                        "'; expected one of ", attributeNames(def)));
  auto lookup = [&](StringRef key) {
    const AttrValue *value = attrs.find(std::string_view(key));
    return value ? index->attribute(*value) : Attribute();
  };
  size_t next = 0;
  for (const ArgDef &argument : def.inputs())
    for (ValueType type : tfg::argumentTypes(def, argument, lookup)) {
      if (next < inputs.size()) {
        DType found = slot(inputs[next]).dtype;
        if (type.isRef || (type.dtype != DType::Invalid && found != type.dtype))
          return Unexpected(
              invalidArgument(subject, ": input ", next, " ('", argument.name(), "') is '",
                              slot(inputs[next]).name, "' of ", dtypeName(found), ", expected ",
                              type.isRef ? "a reference to " : "", dtypeName(type.dtype)));
      }
      ++next;
    }
  return next == inputs.size() ? Expected<void>()
                               : Unexpected(wrongCount(subject, inputs.size(), next));
}

// --- variables ----------------------------------------------------------------------------------

Expected<Output> BuilderImpl::read(const Variable &variable) {
  VariableSlot &v = slot(variable);
  bool isInFunction = false;
  for (BodyState *body = current; body; body = body->parent)
    isInFunction |= body->kind == BodyState::Kind::Function;
  if (!v.isAssigned && !isInFunction)
    return Unexpected(Error{Code::FailedPrecondition,
                            str("variable '", v.name,
                                "' is read, but it has no initial value, and nothing before "
                                "assigns one; expected an initial value")});
  Output handle = TREADLE_TRY(resolve(v.handle, str("variable '", v.name, "'")));
  NodeRequest request{"ReadVariableOp", uniqueName(*current, v.name + "/read")};
  request.attrs.set("dtype", TypeAttr{v.dtype});
  request.inputs = {handle};
  request.known = {KnownValue(Shape::of(v.shape))};
  return emit(std::move(request)).map([](const Operation &node) { return node.output(0); });
}

Expected<Operation> BuilderImpl::assign(const Variable &variable, StringRef op,
                                        const Input &input) {
  if (isEmpty(input))
    return Operation();
  VariableSlot &v = slot(variable);
  std::string subject = str("variable '", v.name, "'");
  NodeTransaction attempt(*current);
  StringRef verb = op.take_until([](char c) { return c == 'V'; }); // Assign, AssignAdd
  attempt.name = uniqueName(*current, str(v.name, "/", verb.str()));
  Output handle = TREADLE_TRY(resolve(v.handle, subject));
  Output given = TREADLE_TRY(value(input, v.dtype, attempt.name + "/value", subject));
  Shape shape = Shape::of(v.shape);
  if (slot(given).dtype != v.dtype || !merge(shape, slot(given).known.shape))
    return Unexpected(invalidArgument(subject, " is ", typeText(v.dtype, shape),
                                      ", but the value assigned to it, '", slot(given).name,
                                      "', is ", typeText(given)));
  NodeRequest request{op, attempt.name};
  request.attrs.set("dtype", TypeAttr{v.dtype});
  request.inputs = {handle, given};
  Expected<Operation> made = emit(std::move(request));
  if (made) {
    attempt.keep();
    v.isAssigned = true;
  }
  return made;
}

Variable BuilderImpl::addVariable(const std::string &name, DType dtype, PartialShape shape) {
  NodeRequest request{"VarHandleOp", name};
  request.attrs.set("dtype", TypeAttr{dtype});
  request.attrs.set("shape", shape);
  request.attrs.set("shared_name", name);
  request.known = {KnownValue(Shape::scalar(), {Shape::of(shape)})};
  Operation handle = unwrapOrRecord(emit(std::move(request)));
  variables.push_back({name, dtype, std::move(shape), handle.output(0), false});
  return Variable(this, static_cast<uint32_t>(variables.size() - 1));
}

/// Switches to the root body without control inputs, for nodes that initialize variables.
class BuilderImpl::Initialization {
public:
  explicit Initialization(BuilderImpl &impl) : impl(impl), body(impl.current) {
    impl.current = impl.root;
    std::swap(waits, impl.root->waits);
    impl.isInitializing = true;
  }
  ~Initialization() {
    impl.isInitializing = false;
    std::swap(waits, impl.root->waits);
    impl.current = body;
  }

private:
  BuilderImpl &impl;
  BodyState *body;
  std::vector<SmallVector<mlir::Value>> waits;
};

Expected<Variable> BuilderImpl::variable(std::string_view name,
                                         const std::function<Input()> &init) {
  Initialization initialization(*this);
  if (name.empty())
    return Unexpected(invalidArgument("a variable has no name"));
  NodeTransaction attempt(*root);
  std::string whole = TREADLE_TRY(nodeName(name, name));
  attempt.name = whole;
  std::string subject = str("variable '", whole, "'");
  Input input = init();
  if (firstError)
    return Variable();
  if (isEmpty(input))
    return Unexpected(invalidArgument(subject, ": its initial value is empty"));
  Output initial = TREADLE_TRY(
      value(input, DType::Invalid, whole + "/initial_value", str(subject, ": its initial value")));
  Variable made = addVariable(whole, slot(initial).dtype, initial.shape());
  Operation assigned = TREADLE_TRY(assign(made, operatorOp("=", 2), initial));
  initializers.push_back(assigned.name());
  attempt.keep();
  return made;
}

Variable Builder::variable(std::string_view name, const std::function<Input()> &init) {
  return impl->unwrapOrRecord(impl->variable(name, init));
}

Variable Builder::variable(std::string_view name, const Input &init) {
  if (BuilderImpl::of(init)) {
    impl->fail(invalidArgument("variable '", name,
                               "': its initial value is a value of the graph; expected numbers, or "
                               "a function that builds it from nodes that run with 'init'"));
    return {};
  }
  return variable(name, [&] { return init; });
}

Variable Builder::variable(std::string_view name, DType dtype, PartialShape shape) {
  BuilderImpl::Initialization initialization(*impl);
  std::string whole = impl->unwrapOrRecord(impl->nodeName(name, name));
  return whole.empty() ? Variable() : impl->addVariable(whole, dtype, std::move(shape));
}

Expected<Output> BuilderImpl::divide(const Input &x, const Input &y) {
  auto dtypeOf = [](const Input &input) {
    return input.value ? input.value.dtype() : input.variable.dtype();
  };
  DType dtype = dtypeOf(x) != DType::Invalid ? dtypeOf(x) : dtypeOf(y);
  auto result = [](const Operation &node) { return node.output(0); };
  if (!isInteger(dtype))
    return add({"RealDiv", {x, y}}).map(result);
  AttrMap attrs;
  attrs.set("DstT", TypeAttr{dtypeSize(dtype) < 4 ? DType::Float32 : DType::Float64});
  std::vector<Input> floats;
  for (const Input &input : {x, y}) {
    if (!of(input)) {
      floats.push_back(input);
      continue;
    }
    Operation converted = TREADLE_TRY(add({"Cast", {input}, attrs}));
    floats.emplace_back(converted);
  }
  return add({"RealDiv", floats}).map(result);
}

} // namespace treadle::builder
