// Fuses activations and layer normalizations that graphs spell out into one node each. The
// contraction before an activation may absorb it later.
#include "treadle/transforms/fuse_kernels/Forms.h"

using namespace mlir;

namespace treadle::tfg {

FormFinder::FormFinder(const Fuser &fuser) : fuser(fuser) {
  // gelu(x) = x / 2 * (1 + erf(x / sqrt(2))), and its approximation with tanh.
  static const std::pair<StringRef, Formula> all[] = {
      {"_GeluExact", "x * 0.5 * (1 + Erf(x * 0.70710678)) | x * 0.5 * Erfc(x * -0.70710678)"},
      {"_GeluApproximate", "x * 0.5 * (1 + Tanh(inner))"
                           "; inner = x * 0.79788456 * (1 + x * x * 0.044715)"
                           " | 0.79788456 * (x + x * x * x * 0.044715)"},
      {"_Swish", "x * Sigmoid(x * 1)"},
      {"_HardSwish", "x * Relu6(x + 3) * 0.16666667"},
      {"_HardSigmoid", "Relu6(x + 3) * 0.16666667"},
  };
  static const Formula norm(
      "(offset - mean * f) + x * f | (offset + mean * f * -1) + x * f | scaled + offset | scaled"
      "; scaled = deviation * Rsqrt(e) | deviation * Rsqrt(e) * scale"
      " | deviation / Sqrt(e) | (deviation / Sqrt(e)) * scale"
      "; f = Rsqrt(e) | Rsqrt(e) * scale"
      "; deviation = x - mean"
      "; e = variance + $epsilon"
      "; mean = Mean(x, axes){keep_dims}"
      "; variance = Mean(squares, axes){keep_dims}"
      "; squares = SquaredDifference(x, m) | SquaredDifference(m, x) | distance * distance"
      "; distance = x - m"
      "; m = mean | StopGradient(mean)");
  for (const auto &[op, formula] : all)
    if (formula.isPossible(fuser))
      activations.emplace_back(op, &formula);
  if (norm.isPossible(fuser))
    ofLayerNorm = &norm;
}

std::optional<ActivationForm> FormFinder::activation(Node root) const {
  ActivationForm found;
  for (auto [op, formula] : activations)
    if (formula->match(fuser, root, [&, op = op](const Formula::Match &match) {
          found = {op, match["x"], root, match.nodes};
          return fuser.canFuse(root, match.nodes);
        }))
      return found;
  return std::nullopt;
}

std::optional<LayerNorm> FormFinder::layerNorm(Node root) const {
  LayerNorm found;
  bool matches = ofLayerNorm && ofLayerNorm->match(fuser, root, [&](const Formula::Match &match) {
    auto axes = fuser.scope.constants.integersOf(fuser.source(match["axes"]));
    if (!axes || axes->size() != 1 || !fuser.canFuse(root, match.nodes))
      return false;
    found = {match["x"],      match["scale"],
             match["offset"], static_cast<float>(match.number("epsilon")),
             axes->front(),   match.nodes};
    return true;
  });
  return matches ? std::optional(found) : std::nullopt;
}

SmallVector<Node> endsOfForms(Block &body) {
  static const llvm::StringSet<> ops = {"Add", "AddV2", "Mul", "RealDiv"};
  auto ends = nodesOf(
      body, [](Node node) { return node.numResults() == 1 && ops.contains(node.opType()); });
  return llvm::to_vector(llvm::reverse(ends));
}

namespace {

/// Replaces `root` with a node of this op that has no attributes except its own.
void replaceForm(Fuser &fuser, Node root, StringRef op, ValueRange inputs, const NodeSet &nodes,
                 ArrayRef<NamedAttribute> attrs) {
  OpBuilder builder(root.getOperation());
  Node fused = NodeBuilder(builder, op)
                   .placedAs(root)
                   .attrs(attrs)
                   .inputs(inputs)
                   .control(fuser.controlOf(nodes))
                   .results(root->getResult(0).getType())
                   .build();
  fuser.replace(root, fused, nodes);
}

/// Functions with custom gradients end in an IdentityN that also takes their inputs; bypasses it.
void pass(const FusionScope &scope, Node node) {
  if (scope.isKept(node) || node.numControl() || !node.controlResult().use_empty() ||
      node.numData() != node.numResults() || scope.isFunction(node.opType()) ||
      !llvm::equal(node.data().getTypes(), node.results().getTypes()) ||
      llvm::any_of(node.results(), [&](Value v) { return scope.constants.isFed(v); }))
    return;
  for (auto [result, value] : llvm::zip(node.results(), node.data()))
    result.replaceAllUsesWith(value);
  node->erase();
}

bool fuseLayerNorm(Fuser &fuser, const FormFinder &finder, Node root) {
  std::optional<LayerNorm> norm = finder.layerNorm(root);
  if (!norm)
    return false;
  SmallVector<Value> inputs = {norm->x};
  for (Value value : {norm->scale, norm->offset})
    if (value)
      inputs.push_back(value);
  Builder builder(root->getContext());
  auto count = [&](Value value) { return builder.getI64IntegerAttr(value ? 1 : 0); };
  replaceForm(fuser, root, "_LayerNorm", inputs, norm->nodes,
              {builder.getNamedAttr("num_scales", count(norm->scale)),
               builder.getNamedAttr("num_offsets", count(norm->offset)),
               builder.getNamedAttr("axis", builder.getI64IntegerAttr(norm->axis)),
               builder.getNamedAttr("epsilon", builder.getF32FloatAttr(norm->epsilon))});
  return true;
}

void fuseActivation(Fuser &fuser, const FormFinder &finder, Node root) {
  if (std::optional<ActivationForm> form = finder.activation(root))
    replaceForm(
        fuser, root, form->op, form->x, form->nodes,
        Builder(root->getContext()).getNamedAttr("T", dtypeAttr(root->getResult(0).getType())));
}

} // namespace

bool mayBeForm(Node node) {
  static const llvm::StringSet<> signs = {"Sigmoid", "Relu6", "Erf", "Erfc", "Tanh"};
  if (node.opType() == "IdentityN" || node.opType() == "SquaredDifference")
    return true;
  auto isUsedBy = [&](ArrayRef<StringRef> ops) {
    return llvm::any_of(node->getUsers(), [&](Operation *user) {
      return Node::isNode(user) && llvm::is_contained(ops, Node(user).opType());
    });
  };
  return node.opType() == "MatMul"
             ? isUsedBy({"Reshape"})
             : signs.contains(node.opType()) && isUsedBy({"Mul", "RealDiv", "AddV2", "Add"});
}

void fuseForms(const FusionScope &scope) {
  for (Node node : nodesOf(scope.body, [](Node node) { return node.opType() == "IdentityN"; }))
    pass(scope, node);
  {
    Fuser fuser(scope);
    FormFinder finder(fuser);
    // The last node of a form finds the longest one, so these are visited first.
    for (Node node : endsOfForms(scope.body))
      if (!fuser.isTaken(node) && !scope.isKept(node) && !fuseLayerNorm(fuser, finder, node))
        fuseActivation(fuser, finder, node);
  }
  moveReshapes(scope);
  fuseScales(scope);
}

} // namespace treadle::tfg
