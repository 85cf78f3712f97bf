// Bodies under construction: nested functions, and captures of outer values.
#include "treadle/builder/BuilderImpl.h"

#include "treadle/analysis/shapes/TypeShapes.h"

using namespace mlir;

namespace treadle::builder {

BodyState &BuilderImpl::open(BodyState::Kind kind, std::string_view functionName, std::string title,
                             std::string resultHint) {
  bodies.push_back(std::make_unique<BodyState>(kind, current, std::move(title)));
  BodyState &body = *bodies.back();
  body.resultHint = std::move(resultHint);
  body.outline = std::make_unique<tfg::Outline>(module, functionNames->unique(functionName),
                                                UnknownLoc::get(module.getContext()));
  body.block = &body.outline->body();
  current = &body;
  return body;
}

void BuilderImpl::close() {
  current->isEnded = true;
  current = current->parent;
}

bool BuilderImpl::isOpen(const BodyState *body) const {
  for (const BodyState *open = current; open; open = open->parent)
    if (open == body)
      return true;
  return false;
}

Error BuilderImpl::notInnermostError(const std::string &subject) const {
  return Error{Code::FailedPrecondition,
               str(subject, " while ", current->title, " is open; end that first")};
}

void BuilderImpl::discard(BodyState &body) {
  while (isOpen(&body)) {
    BodyState &open = *current;
    close();
    if (&open != &body)
      discard(open);
  }
  if (!body.outline)
    return;
  for (const std::string &name : body.functions) {
    index->functions.lookup(name).erase();
    index->functions.erase(name);
  }
  body.functions.clear();
  body.outline->discard();
  body.outline.reset();
}

Output BuilderImpl::addArgument(BodyState &body, std::string_view name, DType dtype,
                                KnownValue known) {
  Type unknown = index->tensor({dtype});
  Type type = tfg::tensorOf(known.shape, cast<TensorType>(unknown).getElementType());
  mlir::Value value = body.outline->addArgument(type, name);
  return newOutput({value, &body, std::string(name), dtype, std::move(known)});
}

Output BuilderImpl::captured(BodyState &body, uint32_t id) {
  auto [entry, isNew] = body.captures.insert({id, 0});
  if (isNew) {
    const ValueSlot &outer = slots[id];
    StringRef name = StringRef(outer.name).split(':').first;
    Output inner = addArgument(body, std::string_view(name), outer.dtype, outer.known);
    slots[inner.id].name = outer.name;
    body.captures[id] = inner.id;
  }
  return Output(this, body.captures[id]);
}

void BuilderImpl::capture(BodyState &body, ArrayRef<uint32_t> ids) {
  for (uint32_t id : ids)
    captured(body, id);
}

Expected<Output> BuilderImpl::resolve(const Output &value, const std::string &subject) {
  if (value.impl != this)
    return Unexpected(
        invalidArgument(subject, " is '", value.name(), "', a value of another builder"));
  ValueSlot &found = slot(value);
  if (!isOpen(found.body))
    return Unexpected(invalidArgument(subject, " is '", found.name, "' of ", found.body->title,
                                      ", and is used in ", current->title, "; ",
                                      found.body->resultHint));
  // A function captures the value at its definition; callers pass the value that it has at the
  // call.
  SmallVector<BodyState *> path; // innermost first
  for (BodyState *body = current; body != found.body; body = body->parent) {
    path.push_back(body);
    if (body->kind == BodyState::Kind::Function)
      break;
  }
  Output here = value;
  for (BodyState *body : llvm::reverse(path))
    here = captured(*body, here.id);
  return here;
}

Expected<mlir::Value> BuilderImpl::resolveToken(const Operation &node, const std::string &subject) {
  if (node.impl != this)
    return Unexpected(
        invalidArgument(subject, " is '", node.name(), "', a node of another builder"));
  OperationSlot &found = slot(node);
  if (!isOpen(found.body))
    return Unexpected(invalidArgument(subject, " is '", found.name, "' of ", found.body->title,
                                      ", and is used in ", current->title,
                                      "; expected a node from before or around it"));
  // The node that calls the outermost body without `node` gets the control edge, so that the whole
  // body waits.
  BodyState *inside = nullptr;
  for (BodyState *body = current; body != found.body; body = body->parent) {
    inside = body;
    if (body->kind == BodyState::Kind::Function)
      return Unexpected(invalidArgument(subject, " is '", found.name, "' of ", found.body->title,
                                        ", and is used in ", body->title,
                                        ", which may be called anywhere; wait for it there"));
  }
  if (!inside)
    return found.token;
  inside->outerTokens.push_back(found.token);
  return mlir::Value();
}

tfg::FuncOp BuilderImpl::finish(BodyState &body, ArrayRef<Output> results,
                                ArrayRef<std::string> resultNames) {
  SmallVector<mlir::Value> values;
  for (const Output &result : results)
    values.push_back(slots[result.id].value);
  tfg::FuncOp function = body.outline->finish(values, resultNames, {});
  if (body.isStateful)
    function.setIsStateful(true);
  index->functions[function.getName()] = function;
  if (body.parent->outline) {
    std::vector<std::string> &made = body.parent->functions;
    made.insert(made.end(), body.functions.begin(), body.functions.end());
    made.push_back(function.getName().str());
  }
  return function;
}

} // namespace treadle::builder
