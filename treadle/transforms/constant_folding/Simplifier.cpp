#include "treadle/transforms/constant_folding/Simplifier.h"

#include "treadle/analysis/shapes/NodeShapes.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/ops/OpTable.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace treadle::tfg {

static bool waitsForNothing(Node node) {
  return node && node.opType() == "Const" && node.numControl() == 0;
}

void Simplifier::appendTokens(Value value, SmallVectorImpl<Value> &tokens) const {
  if (constants.isFed(value))
    return;
  Node node = definingNode(value);
  if (!node || node.opType() != "Const") {
    if (Value token = controlTokenOf(value))
      tokens.push_back(token);
    return;
  }
  // A constant is available once its control inputs are.
  llvm::append_range(tokens, node.control());
}

bool Simplifier::isFree(Node node) {
  return node.numResults() == 1 && !constants.isFed(node->getResult(0)) && effects.isPure(node);
}

/// Returns whether a node with all of `inputs` needs no additional edge to wait for `value`:
/// `value` is computed only from them, by an op that can't fail unless the node does.
static bool isImplied(Value value, ValueRange inputs) {
  Node node = definingNode(value);
  if (!node || node.numControl() != 0)
    return false;
  // The rules check the permutation of a Transpose before they remove it.
  const OpDef *def = lookupOp(node.opType());
  Totality totality = def ? def->facts().totality : Totality::MayFail;
  bool isTotal = totality != Totality::MayFail && totality != Totality::Product;
  return (isTotal || node.opType() == "Transpose") && llvm::all_of(node.data(), [&](Value input) {
           return llvm::is_contained(inputs, input) || waitsForNothing(definingNode(input));
         });
}

bool isConditionalResult(Value value) {
  Node node = definingNode(value);
  if (!node)
    return false;
  StringRef op = node.opType();
  if (node->getNumRegions())
    op.consume_back("Region");
  return isConditional(opKind(op));
}

std::optional<SmallVector<Value>> Simplifier::tokensWithout(Node node, ValueRange inputs) {
  SmallVector<Value> tokens(node.control());
  for (Value input : node.data()) {
    if (llvm::is_contained(inputs, input) || (!inputs.empty() && isImplied(input, inputs)))
      continue;
    if (isConditionalResult(input) && !constants.isFed(input))
      return std::nullopt;
    appendTokens(input, tokens);
  }
  llvm::SmallSetVector<Value, 8> unique(tokens.begin(), tokens.end());
  return unique.takeVector();
}

/// Copies the attributes that describe the node rather than its op.
static void copyNodeAttributes(Node from, Node to) {
  for (NamedAttribute attr : from.attrs())
    if (attr.getName().strref().starts_with("_") && !from.isKeyword(attr.getName()))
      to->setDiscardableAttr(attr.getName(), attr.getValue());
}

Node Simplifier::replace(Node node, Node replacement) {
  copyNodeAttributes(node, replacement);
  constants.forget(node);
  node->replaceAllUsesWith(replacement.getOperation());
  node->erase();
  return replacement;
}

Node Simplifier::makeOp(Node node, StringRef opType, ValueRange inputs,
                        ArrayRef<NamedAttribute> attrs) {
  auto tokens = tokensWithout(node, inputs);
  if (!tokens)
    return {};
  OpBuilder builder(node.getOperation());
  return replace(node, NodeBuilder(builder, opType)
                           .name(node.name())
                           .placedAs(node)
                           .attrs(attrs)
                           .inputs(inputs)
                           .control(*tokens)
                           .results(node->getResult(0).getType())
                           .build());
}

Node Simplifier::makeIdentity(Node node, Value input) {
  auto type = dyn_cast<TensorType>(input.getType());
  if (!type || tf_type::isReference(type.getElementType()) ||
      !tf_type::areCompatible(type, node->getResult(0).getType()))
    return {};
  if (node.opType() == "Identity")
    return {};
  OpBuilder builder(node.getOperation());
  return makeOp(node, "Identity", input,
                builder.getNamedAttr("T", mlir::TypeAttr::get(type.getElementType())));
}

Node Simplifier::makeConst(Node node, const Tensor &value) {
  auto type = cast<TensorType>(node->getResult(0).getType());
  if (valueTypeOf(type).dtype != value.dtype() ||
      (type.hasRank() && !tf_type::areCompatible(type, typeOf(value, node->getContext()))))
    return {};
  auto tokens = tokensWithout(node, {});
  if (!tokens)
    return {};
  OpBuilder builder(node.getOperation());
  Node built = buildConst(builder, node.name(), value, node, *tokens);
  return built ? replace(node, built) : Node();
}

Node Simplifier::makeSplat(Node node, uint64_t bits) {
  auto type = dyn_cast<RankedTensorType>(node->getResult(0).getType());
  if (!type || !type.hasStaticShape())
    return {};
  DType dtype = valueTypeOf(type).dtype;
  std::optional<int64_t> count = countElements(Dims(type.getShape().data(), type.getRank()));
  if (!count || !isPlain(dtype) || dtypeSize(dtype) > sizeof(bits) ||
      *count > maxBytes / static_cast<int64_t>(dtypeSize(dtype)))
    return {};
  Expected<Tensor> value = Tensor::make(dtype, Dims(type.getShape().data(), type.getRank()));
  if (!value)
    return {};
  for (int64_t i = 0; i < *count; ++i)
    std::memcpy(value->data<char>() + i * dtypeSize(dtype), &bits, dtypeSize(dtype));
  return makeConst(node, *value);
}

Value Simplifier::constantBeside(Node node, const Tensor &value) {
  if (!names)
    names.emplace(body);
  OpBuilder builder(node.getOperation());
  SmallVector<Value> tokens(node.control());
  Node built =
      buildConst(builder, names->unique((node.name() + "/folded").str()), value, node, tokens);
  return built ? Value(built->getResult(0)) : Value();
}

// --- rules for every op -------------------------------------------------------------------------

static bool isFoldable(Simplifier &simplifier, Node node) {
  StringRef op = node.opType();
  if (node.numData() == 0 || node.numResults() == 0 || op == "Identity" || isPlaceholder(node) ||
      !simplifier.effects.isPure(node))
    return false;
  return llvm::none_of(node.results(), [&](Value result) {
    auto type = dyn_cast<TensorType>(result.getType());
    return !type || simplifier.constants.isFed(result) ||
           isa<tf_type::ResourceType, tf_type::VariantType>(type.getElementType());
  });
}

// The node stays for its name; its users use constants.
static void replaceResults(Simplifier &simplifier, Node node, ArrayRef<Tensor> values) {
  SmallVector<Value> tokens(node.control());
  for (Value input : node.data())
    simplifier.appendTokens(input, tokens);
  for (auto [result, value] : llvm::zip(node.results(), values)) {
    if (result.use_empty())
      continue;
    if (Value constant = simplifier.constantBeside(node, value)) {
      setControl(Node(constant.getDefiningOp()), {});
      for (Value token : tokens)
        addControl(Node(constant.getDefiningOp()), token);
      result.replaceAllUsesWith(constant);
    }
  }
}

int64_t expectedBytes(Node node, ArrayRef<Tensor> inputs) {
  SmallVector<KnownValue> known(llvm::map_range(inputs, knownOf));
  SmallVector<const KnownValue *> pointers;
  for (const KnownValue &value : known)
    pointers.push_back(&value);
  double bytes = 0;
  const ShapeResults results = shapesOf(node, pointers);
  for (auto [result, value] : llvm::zip(node.results(), results.values))
    if (int64_t count = value.shape.count(); dims::isKnown(count))
      bytes += static_cast<double>(count) *
               static_cast<double>(dtypeSize(valueTypeOf(result.getType()).dtype));
  constexpr double most = 1e18;
  return static_cast<int64_t>(std::min(bytes, most));
}

Node foldConstantInputs(Simplifier &simplifier, Node node) {
  if (!isFoldable(simplifier, node))
    return {};
  std::vector<Tensor> inputs;
  int64_t inputBytes = 0;
  for (Value input : node.data()) {
    Tensor value = simplifier.constants.valueOf(input);
    if (!value)
      return {};
    inputBytes += static_cast<int64_t>(value.bytes());
    inputs.push_back(std::move(value));
  }
  if (node.numResults() > 1 &&
      llvm::all_of(node.results(), [](Value result) { return result.use_empty(); }))
    return {};
  if (!simplifier.mayStore(expectedBytes(node, inputs), inputBytes))
    return {};
  // A node whose evaluation fails stays, so that the run reports the error.
  Expected<std::vector<Tensor>> outputs = evaluate(node, std::move(inputs));
  if (!outputs)
    return {};
  int64_t bytes = 0;
  for (const Tensor &output : *outputs) {
    if (!output)
      return {};
    bytes += static_cast<int64_t>(output.bytes());
  }
  if (!simplifier.mayStore(bytes, inputBytes))
    return {};
  if (outputs->size() == 1)
    return simplifier.makeConst(node, outputs->front());
  replaceResults(simplifier, node, *outputs);
  return {};
}

// --- forwarding nodes --------------------------------------------------------------------------

static bool isV1Value(Value value) {
  Node node = definingNode(value);
  return node && isV1ControlFlow(node);
}

bool bypassIdentity(Simplifier &simplifier, Node node) {
  if (node.numControl() != 0 || (node.opType() != "Identity" && node.opType() != "IdentityN"))
    return false;
  bool changed = false;
  for (auto [input, result] : llvm::zip(node.data(), node.results())) {
    auto type = dyn_cast<TensorType>(input.getType());
    // Loops and conditionals are recognized by the Identity nodes at their Switches.
    if (!type || tf_type::isReference(type.getElementType()) || isV1Value(input) ||
        simplifier.constants.isFed(result) || result.use_empty())
      continue;
    result.replaceAllUsesWith(input);
    changed = true;
  }
  Value token = node.controlResult();
  if (node.opType() != "Identity" || token.use_empty() || isV1Value(node->getOperand(0)) ||
      isConditionalResult(node->getOperand(0)) ||
      isa<tf_type::OpaqueTensorType>(node->getOperand(0).getType()) ||
      tf_type::isReference(cast<TensorType>(node->getOperand(0).getType()).getElementType()) ||
      simplifier.constants.isFed(node->getOperand(0)))
    return changed;
  replaceControl(token, controlTokenOf(node->getOperand(0)));
  return true;
}

bool bypassNoOp(Node node) {
  Value token = node.controlResult();
  if (node.opType() != "NoOp" || token.use_empty())
    return false;
  size_t inputs = node.numControl();
  size_t users = std::distance(token.use_begin(), token.use_end());
  bool isReturned = llvm::any_of(token.getUsers(), llvm::IsaPred<ReturnOp>);
  if (isReturned ? inputs != 1 : inputs * users > inputs + users)
    return false;
  replaceControl(token, SmallVector<Value>(node.control()));
  return true;
}

bool dropRedundantControl(Simplifier &simplifier, Node node) {
  if (node.numControl() == 0 || isV1ControlFlow(node))
    return false;
  llvm::DenseSet<Operation *> implied;
  for (Value input : node.data())
    if (Operation *op = input.getDefiningOp(); op && !simplifier.constants.isFed(input))
      implied.insert(op);
  SmallVector<Value> kept;
  for (Value token : node.control()) {
    Operation *op = token.getDefiningOp();
    if (!op || (!implied.contains(op) && !waitsForNothing(Node(op))))
      kept.push_back(token);
  }
  if (kept.size() == node.numControl())
    return false;
  setControl(node, kept);
  return true;
}

} // namespace treadle::tfg
