// The builder's public classes, and shared parts of the implementation: names, values, errors.
#include "treadle/builder/BuilderImpl.h"
#include "treadle/ops/OpTable.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace treadle::builder {

// --- values -------------------------------------------------------------------------------------

PartialShape partial(const Shape &shape) {
  PartialShape out{shape.hasRank(), {}};
  for (int64_t dim : shape.all())
    out.dims.push_back(dims::isKnown(dim) ? dim : -1);
  return out;
}

static const std::string noName;

const std::string &Output::name() const { return impl ? BuilderImpl::slot(*this).name : noName; }
DType Output::dtype() const { return impl ? BuilderImpl::slot(*this).dtype : DType::Invalid; }
PartialShape Output::shape() const {
  return impl ? partial(BuilderImpl::slot(*this).known.shape) : PartialShape();
}

const std::string &Operation::name() const { return impl ? BuilderImpl::slot(*this).name : noName; }
const std::vector<Output> &Operation::outputs() const {
  static const std::vector<Output> none;
  return impl ? BuilderImpl::slot(*this).outputs : none;
}
Output Operation::output(size_t index) const {
  return index < outputs().size() ? outputs()[index] : Output();
}

const std::string &Variable::name() const { return impl ? BuilderImpl::slot(*this).name : noName; }
DType Variable::dtype() const { return impl ? BuilderImpl::slot(*this).dtype : DType::Invalid; }
PartialShape Variable::shape() const {
  return impl ? BuilderImpl::slot(*this).shape : PartialShape();
}
Output Variable::handle() const { return impl ? BuilderImpl::slot(*this).handle : Output(); }
Output Variable::read() const { return impl ? impl->unwrapOrRecord(impl->read(*this)) : Output(); }
Operation Variable::assign(const Input &value) const {
  return impl ? impl->unwrapOrRecord(impl->assign(*this, operatorOp("=", 2), value)) : Operation();
}
Operation Variable::assignAdd(const Input &value) const {
  return impl ? impl->unwrapOrRecord(impl->assign(*this, operatorOp("+=", 2), value)) : Operation();
}
Operation Variable::assignSub(const Input &value) const {
  return impl ? impl->unwrapOrRecord(impl->assign(*this, operatorOp("-=", 2), value)) : Operation();
}

// --- shared parts -------------------------------------------------------------------------------

BuilderImpl::BuilderImpl()
    : graph(*Graph::fromBytes("tfg.graph #tf_type.version<producer = 2474, min_consumer = 12> {\n"
                              "}\n")),
      index(std::make_unique<EditIndex>(*graph.impl)), module(*graph.impl->module),
      functionNames(std::make_unique<tfg::FunctionNames>(module)) {
  bodies.push_back(std::make_unique<BodyState>(BodyState::Kind::Graph, nullptr, "the graph"));
  root = current = bodies.back().get();
  root->block = &index->graph.getNodes().front();
  root->names.insert(Builder::initName);
}

BuilderImpl *BuilderImpl::of(const Input &input) {
  return input.value ? input.value.impl : input.variable.impl;
}

bool BuilderImpl::isEmpty(const Input &input) {
  return !input.value && !input.variable && !input.literal;
}

Output BuilderImpl::newOutput(ValueSlot slot) {
  slots.push_back(std::move(slot));
  return Output(this, static_cast<uint32_t>(slots.size() - 1));
}

std::string BuilderImpl::typeText(DType dtype, const Shape &shape) const {
  return str(dtypeName(dtype), shape.hasRank() ? shape.text() : " of unknown shape");
}

std::string BuilderImpl::typeText(const Output &value) const {
  return typeText(slot(value).dtype, slot(value).known.shape);
}

static bool isName(StringRef name) {
  auto isPart = [](char c) { return llvm::isAlnum(c) || StringRef("._-/").contains(c); };
  return !name.empty() && (llvm::isAlnum(name[0]) || name[0] == '.') && llvm::all_of(name, isPart);
}

std::string BuilderImpl::uniqueName(BodyState &body, const std::string &base) {
  std::string name = base;
  while (!body.names.insert(name).second)
    name = str(base, "_", ++body.nextSuffix[base]);
  return name;
}

Expected<std::string> BuilderImpl::nodeName(std::string_view name, std::string_view base) {
  std::string scope;
  for (const std::string &part : current->scopes)
    scope += part + "/";
  if (name.empty())
    return uniqueName(*current, str(scope, base));
  std::string whole = str(scope, name);
  if (!isName(whole))
    return Unexpected(
        invalidArgument("'", name,
                        "' is not a valid node name; expected letters, digits and any of "
                        "._-/, a letter or digit first"));
  if (!current->names.insert(whole).second)
    return Unexpected(
        Error{Code::AlreadyExists, str("there is a node '", whole, "' in ", current->title,
                                       " already; expected another name, or a scope of its own")});
  return whole;
}

// --- builder ------------------------------------------------------------------------------------

Builder::Builder() : impl(std::make_unique<BuilderImpl>()) {}
Builder::Builder(Builder &&) noexcept = default;
Builder &Builder::operator=(Builder &&) noexcept = default;
Builder::~Builder() = default;

const std::optional<Error> &Builder::error() const { return impl->firstError; }
std::optional<Error> Builder::takeError() { return std::exchange(impl->firstError, std::nullopt); }

Operation Builder::op(Node node) { return impl->unwrapOrRecord(impl->add(std::move(node))); }

Output Builder::placeholder(std::string_view name, DType dtype, PartialShape shape) {
  if (impl->current != impl->root) {
    impl->fail(invalidArgument("placeholder '", name, "' is created in ", impl->current->title,
                               "; expected in the graph itself"));
    return {};
  }
  if (name.empty()) {
    impl->fail(invalidArgument("a placeholder has no name; expected the name to feed it by"));
    return {};
  }
  AttrMap attrs;
  attrs.set("dtype", TypeAttr{dtype});
  attrs.set("shape", std::move(shape));
  return op({"Placeholder", {}, std::move(attrs), std::string(name)}).output(0);
}

Output Builder::constant(Tensor value, std::string_view name) {
  AttrMap attrs;
  attrs.set("dtype", TypeAttr{value.dtype()});
  attrs.set("value", std::move(value));
  return op({"Const", {}, std::move(attrs), std::string(name)}).output(0);
}

Output Builder::cast(const Input &value, DType dtype) {
  AttrMap attrs;
  attrs.set("DstT", TypeAttr{dtype});
  return op({"Cast", {value}, std::move(attrs)}).output(0);
}

Output Builder::pack(const std::vector<Input> &values, std::string_view name) {
  return op({"Pack", values, {}, std::string(name)}).output(0);
}

Output Builder::divide(const Input &x, const Input &y) { return x / y; }

Operation Builder::group(const std::vector<Operation> &operations, std::string_view name) {
  pushControl(operations);
  if (error())
    return {};
  Operation node = op({"NoOp", {}, {}, std::string(name)});
  popControl();
  return node;
}

Operation Builder::effects(std::string_view name) {
  if (impl->current != impl->root) {
    impl->fail(invalidArgument("effects() is called in ", impl->current->title,
                               ", where every node with effects runs; expected in the graph"));
    return {};
  }
  Operation node = op({"NoOp", {}, {}, std::string(name)});
  if (node)
    impl->effectsNodes.push_back(node.name());
  return node;
}

void Builder::pushScope(std::string_view name) {
  if (!isName(name))
    impl->fail(invalidArgument("'", name,
                               "' is not a valid scope name; expected letters, digits and any of "
                               "._-/, a letter or digit first"));
  impl->current->scopes.emplace_back(name);
}

void Builder::popScope() {
  if (!impl->current->scopes.empty())
    impl->current->scopes.pop_back();
}

void Builder::pushControl(const std::vector<Operation> &operations) {
  SmallVector<mlir::Value> tokens;
  for (const Operation &operation : operations)
    if (operation)
      if (mlir::Value token =
              impl->unwrapOrRecord(impl->resolveToken(operation, "a control dependency")))
        tokens.push_back(token);
  impl->current->waits.push_back(std::move(tokens));
}

void Builder::popControl() {
  if (!impl->current->waits.empty())
    impl->current->waits.pop_back();
}

Operation Builder::operationOf(const Output &value) {
  if (!value)
    return {};
  ValueSlot &slot = BuilderImpl::slot(value);
  if (!slot.node)
    impl->fail(invalidArgument("'", slot.name, "' is an argument of ", slot.body->title,
                               ", not the output of a node; there is nothing to wait for"));
  return slot.node;
}

Expected<Graph> Builder::build() {
  if (std::optional<Error> error = takeError())
    return Unexpected(std::move(*error));
  return impl->build();
}

// --- operators ----------------------------------------------------------------------------------

/// An operand is a value or variable, or there was an error.
static Output binary(const char *symbol, const Input &x, const Input &y) {
  BuilderImpl *impl = BuilderImpl::of(x) ? BuilderImpl::of(x) : BuilderImpl::of(y);
  if (!impl)
    return {};
  return impl->unwrapOrRecord(impl->add({std::string(operatorOp(symbol, 2)), {x, y}})).output(0);
}

Output operator+(const Input &x, const Input &y) { return binary("+", x, y); }
Output operator-(const Input &x, const Input &y) { return binary("-", x, y); }
Output operator*(const Input &x, const Input &y) { return binary("*", x, y); }
Output operator<(const Input &x, const Input &y) { return binary("<", x, y); }
Output operator<=(const Input &x, const Input &y) { return binary("<=", x, y); }
Output operator>(const Input &x, const Input &y) { return binary(">", x, y); }
Output operator>=(const Input &x, const Input &y) { return binary(">=", x, y); }
Output operator/(const Input &x, const Input &y) {
  BuilderImpl *impl = BuilderImpl::of(x) ? BuilderImpl::of(x) : BuilderImpl::of(y);
  return impl ? impl->unwrapOrRecord(impl->divide(x, y)) : Output();
}

} // namespace treadle::builder
