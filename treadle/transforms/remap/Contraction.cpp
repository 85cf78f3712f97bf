#include "treadle/transforms/remap/Contraction.h"
#include "treadle/ops/OpTable.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

bool flag(Node node, StringRef key) {
  auto attr = node.attr<BoolAttr>(key);
  return attr && attr.getValue();
}

int64_t filterDim(Node node, int64_t rank, int64_t i) {
  RankedTensorType type = rankedTypeOf(node->getOperand(1));
  return type && type.getRank() == rank ? type.getDimSize(i) : ShapedType::kDynamic;
}

int64_t productChannels(Node node) { return filterDim(node, 2, flag(node, "transpose_b") ? 0 : 1); }
int64_t productInner(Node node, const Tensor &filter) {
  return flag(node, "transpose_b") ? filter.dim(1) : 1;
}
int64_t imageChannels(Node node) { return filterDim(node, 4, 3); }
int64_t depthwiseChannels(Node node) {
  int64_t in = filterDim(node, 4, 2), multiplier = filterDim(node, 4, 3);
  return ShapedType::isDynamic(in) || ShapedType::isDynamic(multiplier) ? -1 : in * multiplier;
}
int64_t einsumChannels(Node node) { return filterDim(node, 2, 1); }
int64_t noInner(Node, const Tensor &) { return 1; }

constexpr ContractionOp contractions[] = {
    {"MatMul", "_FusedMatMul", productChannels, false, productInner},
    {"Einsum", "_FusedMatMul", einsumChannels, false, noInner},
    {"Conv2D", "_FusedConv2D", imageChannels, true, noInner},
    {"DepthwiseConv2dNative", "_FusedDepthwiseConv2dNative", depthwiseChannels, false, noInner},
};

/// What TensorFlow 2.21 can run: activations after a bias (or a batch norm) and, or not, a summand.
struct FusedForm {
  StringLiteral fusedOp;
  bool hasSummand, needsOneDnn;
  StringLiteral activations; // between spaces
};
constexpr FusedForm forms[] = {
    {"_FusedConv2D", false, false, " - Relu Relu6 Elu LeakyRelu "},
    {"_FusedConv2D", true, true, " - Relu Relu6 Elu LeakyRelu "},
    {"_FusedDepthwiseConv2dNative", false, true, " - Relu Relu6 Elu "},
    {"_FusedMatMul", false, false, " - Relu Relu6 Elu LeakyRelu Tanh Sigmoid "},
    {"_FusedMatMul", false, true, " GeluExact GeluApproximate "},
    {"_FusedMatMul", true, true, " - "},
};

bool isKnownForm(const Chain &chain, bool withOneDnn) {
  std::string activation = " " + (chain.activation.empty() ? "-" : chain.activation) + " ";
  return llvm::any_of(forms, [&](const FusedForm &form) {
    return form.fusedOp == chain.op->fusedOp && form.hasSummand == (chain.summand != nullptr) &&
           (withOneDnn || !form.needsOneDnn) && form.activations.contains(activation);
  });
}

/// "abc,cd->abd", whatever the letters: rows times a matrix.
bool isProductOfRows(Node node) {
  auto equation = node.attr<StringAttr>("equation");
  if (!equation || node.numData() != 2)
    return false;
  auto [inputs, output] = equation.getValue().split("->");
  auto [a, b] = inputs.split(',');
  StringRef batch = a.drop_back();
  return a.size() >= 2 && b.size() == 2 && b[0] == a.back() && b[0] != b[1] &&
         !batch.contains(b[0]) && !batch.contains(b[1]) && output.size() == a.size() &&
         output.drop_back() == batch && output.back() == b[1] && !a.contains('.') &&
         llvm::all_of(batch, [&](char c) { return batch.count(c) == 1; }) &&
         rankedTypeOf(node->getOperand(0));
}

bool hasExplicitPadding(Node node) {
  auto padding = node.attr<StringAttr>("padding");
  return padding && padding.getValue() == "EXPLICIT";
}

/// Where the channels are, counted from the last dimension.
unsigned channelsFromEnd(Node node) {
  auto format = node.attr<StringAttr>("data_format");
  return format && format.getValue() == "NCHW" ? 2 : 0;
}

unsigned rankOf(const Chain &chain) {
  if (chain.op->op == "MatMul")
    return 2;
  if (chain.op->op == "Einsum")
    return static_cast<unsigned>(rankedTypeOf(chain.contraction->getOperand(0)).getRank());
  return 4;
}

bool isBatchNorm(Node node) {
  return (node.opType() == "FusedBatchNorm" || node.opType() == "FusedBatchNormV2" ||
          node.opType() == "FusedBatchNormV3") &&
         node.attr<BoolAttr>("is_training") && !flag(node, "is_training");
}

/// Whether an elementwise op of both is one of equal shapes. Images of an unknown number have one
/// where their first dimension comes from the same place.
bool haveOneShape(Remapper &remapper, Value a, Value b) {
  RankedTensorType x = rankedTypeOf(a), y = rankedTypeOf(b);
  if (!x || !y || x.getShape() != y.getShape() || x.getRank() == 0)
    return false;
  if (llvm::any_of(x.getShape().drop_front(), ShapedType::isDynamic))
    return false;
  return !x.isDynamicDim(0) || remapper.haveOneBatch(a, b);
}

class ChainFinder {
public:
  ChainFinder(Remapper &remapper, Node root) : remapper(remapper), root(root) {}

  std::optional<Chain> find() {
    chain.nodes.insert(root.getOperation());
    Value value = activation();
    if (std::optional<Chain> found = findBefore(value))
      return found;
    // A sum of two: one of them may be a chain.
    Node sum = take(value, {"AddV2", "Add"});
    if (!sum)
      return std::nullopt;
    for (unsigned i : {1U, 0U}) {
      Value main = sum->getOperand(i), other = sum->getOperand(1 - i);
      if (main == other || !haveOneShape(remapper, main, other))
        continue;
      chain.summand = other;
      std::optional<Chain> found = findBefore(main);
      if (found && found->op->op != "Einsum" && !found->affine.empty())
        return found;
    }
    return std::nullopt;
  }

private:
  Node take(Value value, ArrayRef<StringRef> ops) {
    Node node = remapper.producer(value);
    if (!node || !llvm::is_contained(ops, node.opType()))
      return {};
    chain.nodes.insert(node.getOperation());
    return node;
  }

  Value activation() {
    if (fusionRole(root.opType()) == FusionRole::Activation) {
      chain.activation = root.opType().str();
      if (auto alpha = root.attr<FloatAttr>("alpha"))
        chain.alpha = static_cast<float>(alpha.getValueAsDouble());
      return root->getOperand(0);
    }
    if (std::optional<Gelu> gelu = matchGelu(remapper, root, chain.nodes)) {
      chain.activation = gelu->isExact ? "GeluExact" : "GeluApproximate";
      return gelu->x;
    }
    return root->getResult(0);
  }

  /// The affine ops before `value`, and the contraction before them.
  std::optional<Chain> findBefore(Value value) {
    Chain out = chain;
    while (Node node = remapper.producer(value)) {
      out.nodes.insert(node.getOperation());
      if (const ContractionOp *op = findContraction(node)) {
        out.contraction = node;
        out.op = op;
        out.channels = op->channels(node);
        return isSound(out) ? std::optional(out) : std::nullopt;
      }
      Value next = mainOperand(node);
      if (!next)
        return std::nullopt;
      out.affine.push_back(node);
      value = next;
    }
    return std::nullopt;
  }

  /// The operand of an affine op that may lead on to a contraction; null for other ops.
  Value mainOperand(Node node) {
    if (node.opType() == "BiasAdd" || isBatchNorm(node) || node.opType() == "Sub")
      return node->getOperand(0);
    if (node.opType() != "AddV2" && node.opType() != "Add" && node.opType() != "Mul")
      return {};
    // The side is the one of fewer dimensions, or constant.
    for (unsigned i : {0U, 1U}) {
      Value side = node->getOperand(1 - i);
      RankedTensorType type = rankedTypeOf(side);
      if ((type && type.getRank() <= 1) || remapper.constant(side))
        return node->getOperand(i);
    }
    return {};
  }

  bool isSound(const Chain &found) const {
    bool isWorthIt = !found.affine.empty() || StringRef(found.activation).starts_with("Gelu");
    if (!isWorthIt || !isKnownForm(found, remapper.withOneDnn) || !isFloat32(root->getResult(0)) ||
        !isFloat32(found.contraction->getResult(0)) || !remapper.canFuse(root, found.nodes))
      return false;
    unsigned fromEnd = channelsFromEnd(found.contraction);
    return llvm::all_of(found.affine, [&](Node node) {
      return (node.opType() != "BiasAdd" && !isBatchNorm(node)) || channelsFromEnd(node) == fromEnd;
    });
  }

  Remapper &remapper;
  Node root;
  Chain chain;
};

} // namespace

const ContractionOp *findContraction(Node node) {
  for (const ContractionOp &row : contractions)
    if (row.op == node.opType()) {
      bool fits = row.op == "Einsum"                  ? isProductOfRows(node)
                  : row.op == "DepthwiseConv2dNative" ? !hasExplicitPadding(node)
                                                      : true;
      return fits ? &row : nullptr;
    }
  return nullptr;
}

std::optional<Chain> findChain(Remapper &remapper, Node root) {
  return ChainFinder(remapper, root).find();
}

Value sideOf(Node affine, Value main) {
  return affine->getOperand(affine->getOperand(0) == main ? 1 : 0);
}

Tensor channelValues(const Remapper &remapper, const Chain &chain, Value value) {
  Tensor given = remapper.constant(value);
  unsigned rank = rankOf(chain), at = rank - 1 - channelsFromEnd(chain.contraction);
  if (!given || chain.channels <= 0 || given.rank() > static_cast<int>(rank) ||
      (given.count() != 1 && given.count() != chain.channels))
    return {};
  for (int i = 0; i < given.rank() && given.count() != 1; ++i)
    if (i + rank - given.rank() != at && given.dim(i) != 1)
      return {};
  Expected<Tensor> out = Tensor::make(DType::Float32, Dims(&chain.channels, 1));
  if (!out)
    return {};
  for (int64_t c = 0; c < chain.channels; ++c)
    out->data<float>()[c] = given.data<float>()[given.count() == 1 ? 0 : c];
  return *out;
}

} // namespace treadle::tfg
