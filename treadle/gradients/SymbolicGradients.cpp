#include "treadle/gradients/SymbolicGradients.h"

#include "treadle/gradients/Backpropagation.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// Adds arguments for the gradients of the results to a copy of a function, and makes it return the
/// gradients of its arguments instead of its results.
Expected<void> differentiate(FuncOp function, SymbolicGradients &library) {
  Block &body = function.getEntry();
  ReturnOp returned = function.getReturn();
  Location location = function.getLoc();
  auto control = tf_type::ControlType::get(function.getContext());
  Backpropagation backpropagation(body, library, Backpropagation::Dtypes::AllButBool);
  Emitter &e = backpropagation.emitter;
  Values xs, ys, dys;
  for (unsigned i = 0; i < function.getNumDataArguments(); ++i)
    xs.push_back(function.getDataArgument(i));
  for (Value result : returned.getData()) {
    ys.push_back(result);
    dys.push_back(body.addArgument(UnrankedTensorType::get(e.gradientElement(result)), location));
    body.addArgument(control, location);
  }
  Values gradients = TREADLE_TRY(backpropagation.run({ys, dys, xs, {}}));
  for (auto [i, gradient] : llvm::enumerate(gradients))
    if (!gradient) {
      e.setOrigin(function.getDataArgumentName(i));
      gradient = e.zerosLike(xs[i]);
    }
  ReturnOp::create(e.builder, location, ValueRange(gradients), ValueRange());
  returned->erase();
  e.eraseUnused();
  return {};
}

/// Sets the names of the new arguments and results, and the type.
void setSignature(FuncOp gradient, FuncOp forward, unsigned numArguments) {
  OpBuilder builder(gradient.getContext());
  Block &body = gradient.getEntry();
  StringAttr key = gradient.getContext()->getLoadedDialect<TfgDialect>()->argNameKey;
  auto named = [&](const std::string &name) -> Attribute {
    return builder.getDictionaryAttr(builder.getNamedAttr(key, builder.getStringAttr(name)));
  };
  gradient.setFunctionType(
      builder.getFunctionType(body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  // The scope knows the names of the body's nodes.
  SmallVector<Attribute> arguments, results;
  if (ArrayAttr given = forward.getArgAttrsAttr())
    arguments = llvm::to_vector(given);
  else
    for (unsigned i = 0; i < numArguments; ++i)
      arguments.append({builder.getDictionaryAttr({}), builder.getDictionaryAttr({})});
  gradient.setArgAttrsAttr(nullptr);
  NameScope names(body);
  for (unsigned i = 0; i < numArguments; ++i)
    names.unique(forward.getDataArgumentName(i));
  for (unsigned i = numArguments; 2 * i < body.getNumArguments(); ++i)
    arguments.append({named(names.unique("dy_" + std::to_string(i - numArguments))),
                      builder.getDictionaryAttr({})});
  for (unsigned i = 0; i < numArguments; ++i)
    results.push_back(named("dx_" + std::to_string(i)));
  gradient.setArgAttrsAttr(builder.getArrayAttr(arguments));
  gradient.setResAttrsAttr(builder.getArrayAttr(results));
}

} // namespace

std::string SymbolicGradients::unique(StringRef base) {
  std::string name = base.str();
  for (unsigned &suffix = suffixes[base]; lookup(name) || !given.insert(name).second;)
    name = (base + "_" + Twine(++suffix)).str();
  return name;
}

FuncOp SymbolicGradients::copyOf(FuncOp function, StringRef base) {
  OpBuilder builder = OpBuilder::atBlockEnd(target.getBody());
  auto copy = FuncOp::create(builder, function.getLoc(), unique(base), function.getFunctionType(),
                             /*generic=*/false);
  copy.getBody().getBlocks().clear();
  IRMapping mapping;
  function.getBody().cloneInto(&copy.getBody(), mapping);
  if (ArrayAttr attrs = function.getArgAttrsAttr())
    copy.setArgAttrsAttr(attrs);
  if (ArrayAttr attrs = function.getResAttrsAttr())
    copy.setResAttrsAttr(attrs);
  copy.setIsStateful(function.getIsStateful());
  return copy;
}

void SymbolicGradients::complete(FuncOp function) {
  effects.add(function);
  function.setIsStateful(!isPure(function));
  add(function);
}

Expected<FuncOp> SymbolicGradients::declaredFor(FuncOp function) {
  StringRef gradient = function.getGradientAttr().getValue();
  if (FuncOp found = lookup(gradient))
    return found;
  return Unexpected(notFound(
      "function '", std::string_view(gradient), "', which is declared as the gradient of '",
      std::string_view(function.getName()), "', is not in the graph's library"));
}

Expected<FuncOp> SymbolicGradients::of(StringRef name) {
  FuncOp function = lookup(name);
  if (!function)
    return Unexpected(
        notFound("function '", std::string_view(name), "' is not in the graph's library"));
  if (function.getGradientAttr())
    return declaredFor(function);
  auto [it, isNew] = made.try_emplace(name);
  if (!isNew && it->second)
    return it->second;
  if (!isNew)
    return Unexpected(unimplemented("function '", std::string_view(name),
                                    "' needs the gradient of its own gradient"));
  Expected<FuncOp> gradient = make(function);
  if (gradient)
    made[name] = *gradient;
  else
    made.erase(name);
  return gradient;
}

Expected<FuncOp> SymbolicGradients::make(FuncOp function) {
  std::string_view name = function.getName();
  if (function.getGeneric() || function.isExternal())
    return Unexpected(unimplemented("function '", name,
                                    "' is generic (its types are attributes); only functions with "
                                    "known types have gradients yet"));
  unsigned numArguments = function.getNumDataArguments();
  FuncOp gradient = copyOf(function, (function.getName() + "_gradient").str());
  gradient.setResAttrsAttr(nullptr);
  // A recursive call refers to the gradient function under construction.
  bool isEntered = enter(name);
  Expected<void> ok = differentiate(gradient, *this);
  if (isEntered)
    leave(name);
  if (!ok) {
    gradient->erase();
    return Unexpected(Error{ok.error().code,
                            str("in the gradient of function '", name, "': ", ok.error().message)});
  }
  setSignature(gradient, function, numArguments);
  add(gradient);
  return gradient;
}

} // namespace treadle::tfg
