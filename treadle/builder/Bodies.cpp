// Bodies under construction: nested functions, and captures of outer values.
#include "treadle/builder/BuilderImpl.h"

#include "treadle/analysis/shapes/TypeShapes.h"

using namespace mlir;

namespace treadle::builder {

Body &BuilderImpl::open(Body::Kind kind, std::string_view functionName, std::string title,
                        std::string way) {
  bodies.push_back(std::make_unique<Body>(kind, current, std::move(title)));
  Body &body = *bodies.back();
  body.way = std::move(way);
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

bool BuilderImpl::isOpen(const Body *body) const {
  for (const Body *open = current; open; open = open->parent)
    if (open == body)
      return true;
  return false;
}

Error BuilderImpl::notInnermost(const std::string &subject) const {
  return Error{Code::FailedPrecondition,
               str(subject, " while ", current->title, " is open; end that first")};
}

void BuilderImpl::discard(Body &body) {
  while (isOpen(&body)) {
    Body &open = *current;
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

Output BuilderImpl::addArgument(Body &body, std::string_view name, DType dtype, KnownValue known) {
  Type unknown = index->tensor({dtype});
  Type type = tfg::tensorOf(known.shape, cast<TensorType>(unknown).getElementType());
  mlir::Value value = body.outline->addArgument(type, name);
  return newOutput({value, &body, std::string(name), dtype, std::move(known)});
}

Output BuilderImpl::captured(Body &body, uint32_t id) {
  auto [entry, isNew] = body.captures.insert({id, 0});
  if (isNew) {
    const Slot &outer = slots[id];
    StringRef name = StringRef(outer.name).split(':').first;
    Output inner = addArgument(body, std::string_view(name), outer.dtype, outer.known);
    slots[inner.id].name = outer.name;
    body.captures[id] = inner.id;
  }
  return Output(this, body.captures[id]);
}

void BuilderImpl::capture(Body &body, ArrayRef<uint32_t> ids) {
  for (uint32_t id : ids)
    captured(body, id);
}

Expected<Output> BuilderImpl::resolve(const Output &value, const std::string &subject) {
  if (value.impl != this)
    return Unexpected(
        invalidArgument(subject, " is '", value.name(), "', a value of another builder"));
  Slot &found = slot(value);
  if (!isOpen(found.body))
    return Unexpected(invalidArgument(subject, " is '", found.name, "' of ", found.body->title,
                                      ", and is used in ", current->title, "; ", found.body->way));
  // A function captures the value at its definition; callers pass the value that it has at the
  // call.
  SmallVector<Body *> path; // innermost first
  for (Body *body = current; body != found.body; body = body->parent) {
    path.push_back(body);
    if (body->kind == Body::Kind::Function)
      break;
  }
  Output here = value;
  for (Body *body : llvm::reverse(path))
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
  Body *inside = nullptr;
  for (Body *body = current; body != found.body; body = body->parent) {
    inside = body;
    if (body->kind == Body::Kind::Function)
      return Unexpected(invalidArgument(subject, " is '", found.name, "' of ", found.body->title,
                                        ", and is used in ", body->title,
                                        ", which may be called anywhere; wait for it there"));
  }
  if (!inside)
    return found.token;
  inside->waitsOutside.push_back(found.token);
  return mlir::Value();
}

tfg::FuncOp BuilderImpl::finish(Body &body, ArrayRef<Output> results,
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
