#include "treadle/transforms/fuse_kernels/Contractions.h"

#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/SoftEdges.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

bool hasRole(Node node, FusionRole role) { return fusionRole(node.opType()) == role; }

Type elementOf(Value value) { return tf_type::dereference(getElementTypeOrSelf(value.getType())); }

/// Returns whether the node has this number of inputs and results, all of the type that its
/// attribute states. Malformed nodes aren't fused, so that the run reports them.
bool hasUniformType(Type element, Node node, unsigned numData, unsigned numResults) {
  auto type = node.attr<mlir::TypeAttr>("T");
  return node.numData() == numData && node.numResults() == numResults &&
         (!type || type.getValue() == element) &&
         llvm::all_of(node.data(), [&](Value v) { return elementOf(v) == element; }) &&
         elementOf(node->getResult(0)) == element;
}

} // namespace

bool isNormalisation(Node node, StringRef format) {
  const OpDef *op = lookupOp(node.opType());
  return hasRole(node, FusionRole::Step) && node.opType().starts_with("FusedBatchNorm") &&
         node.attr<BoolAttr>("is_training") && !flag(node, "is_training") &&
         formatOf(node) == format &&
         hasUniformType(Float32Type::get(node->getContext()), node, 5, op->outputs().size()) &&
         llvm::all_of(llvm::drop_begin(node->getResults()),
                      [&](Value v) { return isControl(v) || v.use_empty(); });
}

// --- chains --------------------------------------------------------------------------------------

NodeSet Chain::nodes() const {
  NodeSet all;
  all.insert(first.getOperation());
  for (const Link &link : links) {
    all.insert(link.node.getOperation());
    all.insert(link.others.begin(), link.others.end());
  }
  return all;
}

Chain followChain(const Fuser &fuser, Node first, StepOf stepOf, const ActivationForms &forms) {
  Chain chain{first, {}};
  Type element = elementOf(first->getResult(0));
  for (;;) {
    Node last = chain.last();
    // Our own ops have a leading '_', which fused_ops omits.
    auto form = forms.find(last->getResult(0));
    if (form != forms.end() && fuser.canFuseInto(form->second.root, last) &&
        llvm::all_of(last->getUsers(),
                     [&](Operation *user) { return form->second.nodes.contains(user); })) {
      const ActivationForm &found = form->second;
      chain.links.push_back({found.root, found.op.ltrim('_'), 0, found.nodes});
      return chain;
    }
    Node next = fuser.follower(first, last);
    if (!next)
      return chain;
    unsigned input = next->getOperand(0) == last->getResult(0) ? 0 : 1;
    bool isActivation =
        hasRole(next, FusionRole::Activation) && hasUniformType(element, next, 1, 1);
    StringRef op = isActivation ? next.opType().ltrim('_') : stepOf(chain, next, input);
    if (!op.empty())
      chain.links.push_back({next, op, input});
    if (op.empty() || isActivation)
      return chain;
  }
}

void Epilogue::add(const Chain::Link &link) {
  ops.push_back(link.op);
  Node node = link.node;
  if (auto given = node.attr<FloatAttr>("alpha"))
    alpha = static_cast<float>(given.getValueAsDouble());
  if (auto given = node.attr<FloatAttr>("epsilon"))
    epsilon = static_cast<float>(given.getValueAsDouble());
  if (link.others.empty())
    for (auto [i, value] : llvm::enumerate(node.data()))
      if (i != link.input)
        arguments.push_back(value);
}

Node buildFused(Fuser &fuser, const Chain &chain, StringRef op, ValueRange inputs,
                const Epilogue &epilogue, Type type) {
  const OpDef *def = lookupOp(op);
  OpBuilder builder(chain.last().getOperation());
  NodeBuilder node(builder, op);
  for (NamedAttribute attr : chain.first.attrs())
    if (fuser.target == Fuser::Kernels || def->findAttr(attr.getName().strref()))
      node.attr(attr.getName(), attr.getValue());
  auto set = [&](StringRef key, Attribute value) {
    if (def->findAttr(key))
      node.attr(key, value);
  };
  Attribute element = dtypeAttr(chain.first->getResult(0).getType());
  size_t numArguments = epilogue.arguments.size();
  set("T", element);
  set("TArgs", builder.getArrayAttr(SmallVector<Attribute>(numArguments, element)));
  set("num_args", builder.getI64IntegerAttr(static_cast<int64_t>(numArguments)));
  set("fused_ops", builder.getStrArrayAttr(epilogue.ops));
  set("epsilon", builder.getF32FloatAttr(epilogue.epsilon));
  set("leakyrelu_alpha", builder.getF32FloatAttr(epilogue.alpha));
  return node.placedAs(fuser.target == Fuser::Kernels ? chain.first : chain.last())
      .inputs(inputs)
      .inputs(epilogue.arguments)
      .control(fuser.controlOf(chain.nodes()))
      .results(type)
      .build();
}

// --- fusion for kernels --------------------------------------------------------------------------

namespace {

StringRef stepOf(const Chain &chain, Node node, unsigned input) {
  Type element = elementOf(chain.first->getResult(0));
  StringRef op = node.opType();
  if (op == "Mul" || op == "AddV2" || op == "Add")
    return !hasUniformType(element, node, 2, 1) ? "" : op == "Mul" ? "Mul" : "Add";
  if (input != 0 || !chain.links.empty())
    return {};
  if (op == "BiasAdd" && formatOf(node) == "NHWC")
    return hasUniformType(element, node, 2, 1) ? "BiasAdd" : "";
  return isNormalisation(node) && element.isF32() ? "FusedBatchNorm" : "";
}

/// Returns whether anything was fused. The fused node has the first node's name and reports its
/// errors.
bool fuseChain(Fuser &fuser, Node first) {
  Chain chain = followChain(fuser, first, stepOf, ActivationForms());
  Epilogue epilogue;
  for (const Chain::Link &link : chain.links)
    epilogue.add(link);
  if (epilogue.ops.empty())
    return false;
  Node fused = buildFused(fuser, chain, ("_Fused" + first.opType()).str(), first.data(), epilogue,
                          chain.last()->getResult(0).getType());
  fuser.replace(chain.last(), fused, chain.nodes(), first);
  return true;
}

/// Makes `node` perform the operation on this input itself.
void absorbInput(Node node, unsigned input) {
  Node before = definingNode(node->getOperand(input));
  for (Value token : before.control())
    addControl(node, token);
  node->setOperand(input, before->getOperand(0));
  SoftEdges::merge(before, node);
  before->erase();
}

/// Returns the zeros that a Pad adds around the image, in the form of explicit_paddings; empty if
/// it adds or may add other values.
SmallVector<int64_t> paddingOf(const FusionScope &scope, Node pad) {
  Tensor value = scope.constants.valueOf(pad->getOperand(1));
  constexpr int64_t rank = 4; // images only; the attribute can't express margins of volumes
  if (!value || value.rank() != 2 || value.dim(0) != rank || value.dim(1) != 2)
    return {};
  auto margin = scope.constants.integersOf(pad->getOperand(1));
  bool isAround = margin && llvm::all_of(*margin, [](int64_t n) { return n >= 0; }) &&
                  (*margin)[0] + (*margin)[1] + (*margin)[6] + (*margin)[7] == 0;
  return isAround ? *margin : SmallVector<int64_t>();
}

/// Removes a Pad before a convolution, which can pad with zeros itself.
void absorbPad(const Fuser &fuser, Node first) {
  auto padding = first.attr<StringAttr>("padding");
  Node pad = fuser.scope.producer(first->getOperand(0), "Pad");
  if (!padding || padding.getValue() != "VALID" || !pad || pad.numData() != 2 ||
      elementOf(pad->getOperand(0)) != elementOf(first->getResult(0)) ||
      fuser.follower(first, pad) != first)
    return;
  SmallVector<int64_t> margin = paddingOf(fuser.scope, pad);
  if (margin.empty())
    return;
  Builder builder(first->getContext());
  first->setDiscardableAttr("padding", builder.getStringAttr("EXPLICIT"));
  first->setDiscardableAttr("explicit_paddings", builder.getI64ArrayAttr(margin));
  absorbInput(first, 0);
}

// --- transposed filters ------------------------------------------------------------------------

bool isTransposeOfFilter(const FusionScope &scope, Node node, ArrayRef<int64_t> order) {
  if (!node || node.opType() != "Transpose" || node.numData() != 2 || scope.isKept(node) ||
      scope.isFunction("Transpose") || !isFloat32(node->getOperand(0)))
    return false;
  auto found = scope.constants.integersOf(node->getOperand(1));
  return found && llvm::equal(*found, order);
}

bool isConvolutionOf(Node node, ArrayRef<StringRef> ops) {
  return llvm::is_contained(ops, node.opType()) && node.numResults() == 1 &&
         node.numData() == (node.opType() == "Conv2D" ? 2U : 3U) && isFloat32(node->getResult(0)) &&
         !node.attr<StringAttr>("filter_format");
}

void setOutermostFirst(Node node) {
  node->setDiscardableAttr("filter_format", StringAttr::get(node->getContext(), "OIHW"));
}

/// Removes a Transpose of a filter from [out, in, rows, columns], since the convolution kernel can
/// read that layout too.
void absorbFilterTranspose(const FusionScope &scope, Node node) {
  constexpr int64_t windowFirst[] = {2, 3, 1, 0};
  Node turn = definingNode(node->getOperand(1));
  if (!isTransposeOfFilter(scope, turn, windowFirst) || !turn->hasOneUse())
    return;
  absorbInput(node, 1);
  setOutermostFirst(node);
}

/// Removes such a Transpose of a filter's gradient, since the kernel can write that layout too.
void absorbGradientTranspose(Fuser &fuser, Node node) {
  constexpr int64_t outermostFirst[] = {3, 2, 0, 1};
  Node turn = node->hasOneUse() && !node->getResult(0).use_empty() && !fuser.scope.isKept(node)
                  ? Node(*node->user_begin())
                  : Node();
  auto sizes = fuser.scope.constants.integersOf(node->getOperand(1));
  if (!turn || !Node::isNode(turn.getOperation()) ||
      !isTransposeOfFilter(fuser.scope, turn, outermostFirst) ||
      turn->getOperand(0) != node->getResult(0) || !sizes ||
      sizes->size() != std::size(outermostFirst) ||
      !llvm::all_of(*sizes, [](int64_t size) { return llvm::isInt<32>(size); }))
    return;
  SmallVector<int32_t> turned;
  for (int64_t from : outermostFirst)
    turned.push_back(static_cast<int32_t>((*sizes)[static_cast<size_t>(from)]));
  node->setOperand(1, fuser.makeConstant(node, "outermost_first", vectorOf(turned), {}));
  for (Value token : turn.control())
    addControl(node, token);
  node->getResult(0).setType(turn->getResult(0).getType());
  setOutermostFirst(node);
  NodeSet turns;
  turns.insert(turn.getOperation());
  fuser.replace(turn, node, turns, node);
}

bool isContraction(Node node) {
  if (!hasRole(node, FusionRole::Contraction) || node.numData() != 2 || node.numResults() != 1 ||
      !formatOf(node).ends_with("C"))
    return false;
  Type element = elementOf(node->getResult(0));
  return (element.isF32() || element.isF64()) && hasUniformType(element, node, 2, 1);
}

} // namespace

bool mayBeFused(Node node) {
  if (mayBeForm(node))
    return true;
  constexpr unsigned numGates = 4;
  if (node.opType() == "Split")
    return node.numResults() == numGates;
  auto isUsedBy = [&](auto test) {
    return llvm::any_of(node->getUsers(),
                        [&](Operation *user) { return Node::isNode(user) && test(Node(user)); });
  };
  if (node.opType() == "Softmax")
    return isUsedBy([](Node user) {
      return user.opType().starts_with("BatchMatMul") || user.opType() == "Einsum";
    });
  auto isGivenBy = [&](unsigned input, StringRef op) {
    Node before = node.numData() > input ? definingNode(node->getOperand(input)) : Node();
    return before && before.opType() == op;
  };
  if ((node.opType().starts_with("Conv2D") && isGivenBy(1, "Transpose")) ||
      node.opType() == "Conv2DBackpropFilter" || node.opType() == "Rsqrt" || isNormalisation(node))
    return true;
  return isContraction(node) && (isGivenBy(0, "Pad") || isUsedBy([](Node user) {
                                   return fusionRole(user.opType()) > FusionRole::Contraction;
                                 }));
}

void fuseContractions(const FusionScope &scope) {
  auto isReader = [](Node node) {
    return isConvolutionOf(node, {"Conv2D", "Conv2DBackpropInput"});
  };
  for (Node node : nodesOf(scope.body, isReader))
    absorbFilterTranspose(scope, node);
  Fuser fuser(scope);
  auto isWriter = [](Node node) { return isConvolutionOf(node, {"Conv2DBackpropFilter"}); };
  for (Node node : nodesOf(scope.body, isWriter))
    absorbGradientTranspose(fuser, node);
  for (Node node : nodesOf(scope.body, isContraction))
    if (!scope.isFunction(node.opType())) {
      absorbPad(fuser, node);
      fuseChain(fuser, node);
    }
}

void fuseScales(const FusionScope &scope) {
  SmallVector<Node> scales = insertScaleMarkers(scope);
  Fuser fuser(scope);
  for (Node node : scales)
    if (!fuseChain(fuser, node)) {
      node->getResult(0).replaceAllUsesWith(node->getOperand(0));
      node->erase();
    }
}

} // namespace treadle::tfg
