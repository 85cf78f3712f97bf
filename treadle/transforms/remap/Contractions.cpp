// Fuses a convolution or matrix product with its epilogue into ops that TensorFlow can run: one
// value for each channel, an addition, an activation.
#include "treadle/ops/OpTable.h"
#include "treadle/transforms/remap/Remap.h"

#include <cmath>

using namespace mlir;

namespace treadle::tfg {

Value makeVector(Fuser &fuser, Node root, StringRef suffix, ArrayRef<double> values,
                 ValueRange madeOf, Value beside) {
  Expected<Tensor> vector = Tensor::make(DType::Float32, {std::ssize(values)});
  if (!vector)
    return {};
  llvm::transform(values, vector->data<float>(), [](double v) { return static_cast<float>(v); });
  return fuser.makeConstant(root, suffix, *vector, madeOf, beside);
}

namespace {

// --- the patterns that TensorFlow 2.21 supports
// ---------------------------------------------------

int64_t filterDim(Node node, int64_t rank, int64_t i) {
  RankedTensorType type = rankedTypeOf(node->getOperand(1));
  return type && type.getRank() == rank ? type.getDimSize(i) : ShapedType::kDynamic;
}

int64_t productChannels(Node node) { return filterDim(node, 2, flag(node, "transpose_b") ? 0 : 1); }
int64_t imageChannels(Node node) { return filterDim(node, 4, 3); }
int64_t depthwiseChannels(Node node) {
  int64_t in = filterDim(node, 4, 2), multiplier = filterDim(node, 4, 3);
  return ShapedType::isDynamic(in) || ShapedType::isDynamic(multiplier) ? -1 : in * multiplier;
}
int64_t einsumChannels(Node node) { return filterDim(node, 2, 1); }

struct ContractionOp {
  StringLiteral op, fusedOp;
  int64_t (*channels)(Node node); // of the result; negative if unknown
};
constexpr ContractionOp contractions[] = {
    {"MatMul", "_FusedMatMul", productChannels},
    {"Einsum", "_FusedMatMul", einsumChannels},
    {"Conv2D", "_FusedConv2D", imageChannels},
    {"DepthwiseConv2dNative", "_FusedDepthwiseConv2dNative", depthwiseChannels},
};

/// The activations that are supported after a bias (or a batch norm), with or without an addition.
struct FusedForm {
  StringLiteral fusedOp;
  bool hasSummand, needsOneDnn;
  StringLiteral activations; // separated by spaces
};
constexpr FusedForm forms[] = {
    {"_FusedConv2D", false, false, " - Relu Relu6 Elu LeakyRelu "},
    {"_FusedConv2D", true, true, " - Relu Relu6 Elu LeakyRelu "},
    {"_FusedDepthwiseConv2dNative", false, true, " - Relu Relu6 Elu "},
    {"_FusedMatMul", false, false, " - Relu Relu6 Elu LeakyRelu Tanh Sigmoid "},
    {"_FusedMatMul", false, true, " GeluExact GeluApproximate "},
    {"_FusedMatMul", true, true, " - "},
};

/// Returns whether the equation is "abc,cd->abd", up to the letters: rows times a matrix of known
/// size. The operands are reshaped to a matrix and back.
bool isProductOfRows(Node node) {
  auto equation = node.attr<StringAttr>("equation");
  if (!equation || node.numData() != 2)
    return false;
  auto [inputs, output] = equation.getValue().split("->");
  auto [a, b] = inputs.split(',');
  StringRef batch = a.drop_back();
  RankedTensorType filter = rankedTypeOf(node->getOperand(1));
  return a.size() >= 2 && b.size() == 2 && b[0] == a.back() && b[0] != b[1] &&
         !batch.contains(b[0]) && !batch.contains(b[1]) && output.size() == a.size() &&
         output.drop_back() == batch && output.back() == b[1] && !a.contains('.') &&
         llvm::all_of(batch, [&](char c) { return batch.count(c) == 1; }) &&
         rankedTypeOf(node->getOperand(0)) && filter && filter.hasStaticShape() &&
         filter.getNumElements() > 0 && filter.getNumElements() < (int64_t(1) << 31);
}

const ContractionOp *findContraction(Node node) {
  auto row = llvm::find_if(contractions, [&](auto &row) { return row.op == node.opType(); });
  auto padding = node.attr<StringAttr>("padding");
  if (row == std::end(contractions) || node.numData() < 2 || !isFloat32(node->getResult(0)) ||
      (row->op == "Einsum" && !isProductOfRows(node)) ||
      (row->op == "DepthwiseConv2dNative" && padding && padding.getValue() == "EXPLICIT"))
    return nullptr;
  return row;
}

// --- chains --------------------------------------------------------------------------------------

constexpr StringLiteral summandKey = "Summand";

bool isAffine(const Chain::Link &link) {
  return llvm::is_contained({"BiasAdd", "FusedBatchNorm", "Add", "Sub", "Mul"}, link.op);
}

/// Finds chains, and fuses each into one node.
class ContractionRemapper {
public:
  ContractionRemapper(Fuser &fuser, bool withOneDnn)
      : fuser(fuser), withOneDnn(withOneDnn), batches(fuser) {
    // Other forms would hide fusions that TensorFlow can run: relu6(x + 3) / 6 is a bias and Relu6.
    FormFinder finder(fuser);
    for (Node node : endsOfForms(fuser.scope.body))
      if (auto form = finder.activation(node); form && form->op.starts_with("_Gelu"))
        activations[form->x] = *form;
  }

  /// Fuses the longest chain that TensorFlow can run.
  void remap(Node first);

private:
  StringRef stepOf(const Chain &chain, Node node, unsigned input);
  bool haveSameShape(Value a, Value b);
  bool isKnown(StringRef fusedOp, bool hasSummand, StringRef activation) const;

  Fuser &fuser;
  const bool withOneDnn;
  BatchNumbers batches;
  ActivationForms activations;
};

/// Returns whether both values have the same shape. The unknown batch sizes of images are equal if
/// their first dimensions come from the same value.
bool ContractionRemapper::haveSameShape(Value a, Value b) {
  RankedTensorType x = rankedTypeOf(a), y = rankedTypeOf(b);
  if (!x || !y || x.getShape() != y.getShape() || x.getRank() == 0)
    return false;
  if (llvm::any_of(x.getShape().drop_front(), ShapedType::isDynamic))
    return false;
  return !x.isDynamicDim(0) || batches.areSame(a, b);
}

StringRef ContractionRemapper::stepOf(const Chain &chain, Node node, unsigned input) {
  StringRef op = node.opType();
  if (!isFloat32(node->getResult(0)) || node.numData() < 2 ||
      (!chain.links.empty() && chain.links.back().op == summandKey))
    return {};
  if (isNormalisation(node, formatOf(chain.first)))
    return input == 0 ? "FusedBatchNorm" : "";
  if (op == "BiasAdd")
    return input == 0 && formatOf(node) == formatOf(chain.first) ? op : "";
  if (op == "Sub")
    return input == 0 ? op : "";
  bool isSum = op == "AddV2" || op == "Add";
  if (!isSum && op != "Mul")
    return {};
  Value side = node->getOperand(1 - input);
  RankedTensorType type = rankedTypeOf(side);
  if ((type && type.getRank() <= 1) || fuser.constant(side))
    return isSum ? "Add" : "Mul";
  return isSum && haveSameShape(node->getOperand(input), side) ? StringRef(summandKey) : "";
}

bool ContractionRemapper::isKnown(StringRef fusedOp, bool hasSummand, StringRef activation) const {
  std::string word = (" " + (activation.empty() ? "-" : activation) + " ").str();
  return llvm::any_of(forms, [&](const FusedForm &form) {
    return form.fusedOp == fusedOp && form.hasSummand == hasSummand &&
           (withOneDnn || !form.needsOneDnn) && form.activations.contains(word);
  });
}

// --- arguments -----------------------------------------------------------------------------------

/// A factor and an offset for each channel, as constants.
struct Affine {
  std::vector<double> factor, offset;
  SmallVector<Value> madeOf;

  bool scales() const {
    return llvm::any_of(factor, [](double f) { return f != 1; });
  }
};

/// Builds the fused node for a chain.
class ContractionBuilder {
public:
  ContractionBuilder(Fuser &fuser, const Chain &chain, const ContractionOp &row)
      : fuser(fuser), chain(chain), row(row), node(chain.first), root(chain.last()),
        channels(row.channels(node)), affine(ArrayRef(chain.links).take_while(isAffine)) {
    filter = node->getOperand(1);
  }

  bool hasSummand() const {
    return affine.size() < chain.links.size() && chain.links[affine.size()].op == summandKey;
  }
  StringRef activation() const {
    size_t at = affine.size() + hasSummand();
    return at < chain.links.size() ? chain.links[at].op : "";
  }

  /// Gelu is only fused after a bias, other activations only after at least one other op.
  bool isProfitable() const {
    return !affine.empty() || (!hasSummand() && activation().starts_with("Gelu"));
  }

  bool build() {
    if (!addArguments())
      return false;
    if (hasSummand()) {
      const Chain::Link &sum = chain.links[affine.size()];
      add("Add", sum.node->getOperand(1 - sum.input));
    }
    if (!activation().empty())
      epilogue.add(chain.links.back());
    Type type = root->getResult(0).getType();
    bool isOfRows = node.opType() == "Einsum" && rank() != 2;
    Node fused = isOfRows ? buildOfRows() : buildOf(node->getOperand(0), type);
    fuser.replace(root, fused, chain.nodes());
    return true;
  }

private:
  unsigned rank() const {
    return node.opType() == "MatMul"   ? 2
           : node.opType() == "Einsum" ? rankedTypeOf(node->getOperand(0)).getRank()
                                       : 4;
  }
  bool hasChannelsFirst() const { return formatOf(node) == "NCHW"; }
  bool takesBatchNorm() const { return node.opType() == "Conv2D" && !hasSummand(); }

  void add(StringRef op, ValueRange arguments) {
    epilogue.ops.push_back(op);
    llvm::append_range(epilogue.arguments, arguments);
  }

  bool addArguments() {
    if (affine.empty())
      return channels > 0 &&
             addVectors({std::vector<double>(channels, 0)}, {"bias"}, {}, "BiasAdd");
    if (affine.size() == 1 && addGiven(affine.front()))
      return true;
    std::optional<Affine> folded = foldAffine();
    return folded && addConstants(*folded);
  }

  /// Adds one op whose other operand is a vector. A constant filter absorbs a factor.
  bool addGiven(const Chain::Link &link) {
    if (link.op == "FusedBatchNorm") {
      if (!takesBatchNorm() || fuser.constant(filter))
        return false;
      epilogue.add(link);
      return true;
    }
    Value side = sideOf(link);
    RankedTensorType type = rankedTypeOf(side);
    bool isVector = type && type.getRank() == 1 && type.getDimSize(0) == channels;
    if (link.op != "BiasAdd" && (link.op != "Add" || !isVector || hasChannelsFirst()))
      return false;
    add("BiasAdd", side);
    return true;
  }

  static Value sideOf(const Chain::Link &link) { return link.node->getOperand(1 - link.input); }

  /// Returns the elements of a constant that is broadcast along the result, one for each channel;
  /// empty if it isn't constant or varies along other dimensions.
  std::vector<double> channelValues(Value value, bool isVector) const {
    Tensor given = fuser.constant(value);
    int rank = isVector ? 1 : static_cast<int>(this->rank());
    int at = isVector ? 0 : rank - 1 - (hasChannelsFirst() ? 2 : 0);
    if (!given || given.rank() > rank || (isVector && given.rank() != 1) ||
        ((isVector || given.count() != 1) && given.count() != channels))
      return {};
    for (int i = 0; i < given.rank() && given.count() != 1; ++i)
      if (i + rank - given.rank() != at && given.dim(i) != 1)
        return {};
    std::vector<double> values(channels);
    for (int64_t c = 0; c < channels; ++c)
      values[c] = given.data<float>()[given.count() == 1 ? 0 : c];
    return values;
  }

  /// Combines all ops of the chain into one, if all of their operands are constant.
  std::optional<Affine> foldAffine() {
    if (channels <= 0)
      return std::nullopt;
    Affine out{std::vector<double>(channels, 1), std::vector<double>(channels, 0), {}};
    for (const Chain::Link &link : affine)
      if (!(link.op == "FusedBatchNorm" ? foldBatchNorm(link.node, out) : foldStep(link, out)))
        return std::nullopt;
    return out;
  }

  bool foldStep(const Chain::Link &link, Affine &out) {
    std::vector<double> values = channelValues(sideOf(link), link.op == "BiasAdd");
    if (values.empty())
      return false;
    out.madeOf.push_back(sideOf(link));
    for (size_t c = 0; c < values.size(); ++c) {
      if (link.op == "Mul")
        out.factor[c] *= values[c];
      out.offset[c] = link.op == "Mul"   ? out.offset[c] * values[c]
                      : link.op == "Sub" ? out.offset[c] - values[c]
                                         : out.offset[c] + values[c];
    }
    return true;
  }

  bool foldBatchNorm(Node norm, Affine &out) {
    std::vector<double> in[4]; // scale, offset, mean, variance
    for (unsigned i = 0; i < 4; ++i) {
      in[i] = channelValues(norm->getOperand(i + 1), true);
      if (in[i].empty())
        return false;
      out.madeOf.push_back(norm->getOperand(i + 1));
    }
    auto epsilon = norm.attr<FloatAttr>("epsilon");
    for (size_t c = 0; c < out.factor.size(); ++c) {
      double f = in[0][c] / std::sqrt(in[3][c] + (epsilon ? epsilon.getValueAsDouble() : 0.0001));
      out.factor[c] *= f;
      out.offset[c] = (out.offset[c] - in[2][c]) * f + in[1][c];
    }
    return true;
  }

  /// Multiplies a constant filter by the factor; otherwise both are arguments of a batch norm with
  /// mean 0 and variance 1.
  bool addConstants(const Affine &affine) {
    Tensor constant = affine.scales() ? fuser.constant(filter) : Tensor();
    if (constant && !(filter = scaledFilter(constant, affine)))
      return false;
    if (constant || !affine.scales())
      return addVectors({affine.offset}, {"bias"}, affine.madeOf, "BiasAdd");
    epilogue.epsilon = 0;
    std::vector<double> none(affine.factor.size(), 0), one(affine.factor.size(), 1);
    return takesBatchNorm() &&
           addVectors({affine.factor, affine.offset, none, one},
                      {"scale", "offset", "mean", "variance"}, affine.madeOf, "FusedBatchNorm");
  }

  Value scaledFilter(const Tensor &constant, const Affine &affine) {
    Expected<Tensor> scaled = Tensor::make(DType::Float32, constant.dims());
    if (!scaled)
      return {};
    // The channel of element i is i / inner % channels.
    int64_t inner = flag(node, "transpose_b") ? constant.dim(1) : 1;
    for (int64_t i = 0; i < constant.count(); ++i)
      scaled->data<float>()[i] = static_cast<float>(
          constant.data<float>()[i] * affine.factor[static_cast<size_t>(i / inner % channels)]);
    SmallVector<Value> madeOf(affine.madeOf);
    madeOf.push_back(filter);
    return fuser.makeConstant(root, "filter", *scaled, madeOf);
  }

  bool addVectors(ArrayRef<std::vector<double>> columns, ArrayRef<StringRef> names,
                  ValueRange madeOf, StringRef op) {
    SmallVector<Value> values;
    for (auto [column, name] : llvm::zip(columns, names))
      values.push_back(makeVector(fuser, root, name, column, madeOf, node->getOperand(0)));
    add(op, values);
    return !llvm::is_contained(values, Value());
  }

  // --- the node ----------------------------------------------------------------------------------

  Node buildOf(Value input, Type type) {
    return buildFused(fuser, chain, row.fusedOp, {input, filter}, epilogue, type);
  }

  /// Creates a node on lists of integers or on rows, with its dtypes.
  Node made(StringRef op, StringRef suffix, ValueRange inputs, ArrayRef<StringRef> typeKeys,
            Type type) {
    OpBuilder builder(root.getOperation());
    NodeBuilder out(builder, op);
    Type types[] = {getElementTypeOrSelf(inputs[0].getType()), builder.getI32Type()};
    for (auto [key, element] : llvm::zip(typeKeys, types))
      out.attr(key, mlir::TypeAttr::get(element));
    if (op == "ConcatV2")
      out.attr("N", builder.getI64IntegerAttr(2));
    return out.name(fuser.uniqueName(root, suffix))
        .placedAs(root)
        .inputs(inputs)
        .results(type)
        .build();
  }

  Value integers(StringRef suffix, ArrayRef<int32_t> values) {
    return fuser.makeConstant(root, suffix, vectorOf(values), {}, node->getOperand(0));
  }

  Node buildOfRows() {
    Value x = node->getOperand(0);
    auto type = cast<RankedTensorType>(x.getType());
    Type element = type.getElementType();
    int64_t inner = rankedTypeOf(filter).getDimSize(0), rows = ShapedType::kDynamic;
    Node flat =
        made("Reshape", "rows", {x, integers("rows/shape", {-1, static_cast<int32_t>(inner)})},
             {"T", "Tshape"}, RankedTensorType::get({rows, inner}, element));
    Node product = buildOf(flat->getResult(0), RankedTensorType::get({rows, channels}, element));
    product.setName(fuser.uniqueName(root, "product"));
    return made("Reshape", "result", {product->getResult(0), shapeLike(x, type)}, {"T", "Tshape"},
                root->getResult(0).getType());
  }

  /// Returns the shape of x with the number of channels as the last dimension.
  Value shapeLike(Value x, RankedTensorType type) {
    SmallVector<int32_t> dims;
    for (int64_t dim : type.getShape().drop_back())
      dims.push_back(ShapedType::isDynamic(dim) ? -1 : static_cast<int32_t>(dim));
    dims.push_back(static_cast<int32_t>(channels));
    if (llvm::count(dims, -1) <= 1)
      return integers("shape", dims);
    auto rank = static_cast<int32_t>(type.getRank());
    auto vector = [&](int64_t n) {
      return RankedTensorType::get(n, IntegerType::get(x.getContext(), 32));
    };
    Value zero = fuser.makeConstant(root, "axis", Tensor::scalar<int32_t>(DType::Int32, 0), {},
                                    node->getOperand(0));
    Node shape = made("Shape", "shape", x, {"T", "out_type"}, vector(rank));
    Node batch = made(
        "Slice", "batch",
        {shape->getResult(0), integers("batch/begin", {0}), integers("batch/size", {rank - 1})},
        {"T", "Index"}, vector(rank - 1));
    return made("ConcatV2", "shape/all",
                {batch->getResult(0), integers("columns", {dims.back()}), zero}, {"T", "Tidx"},
                vector(rank))
        ->getResult(0);
  }

  Fuser &fuser;
  const Chain &chain;
  const ContractionOp &row;
  Node node, root;
  int64_t channels;
  ArrayRef<Chain::Link> affine; // ops with one value for each channel
  Value filter;
  Epilogue epilogue;
};

void ContractionRemapper::remap(Node first) {
  const ContractionOp *row = findContraction(first);
  if (!row)
    return;
  auto step = [&](const Chain &chain, Node node, unsigned input) {
    return stepOf(chain, node, input);
  };
  for (Chain chain = followChain(fuser, first, step, activations); !chain.links.empty();
       chain.links.pop_back()) {
    ContractionBuilder builder(fuser, chain, *row);
    bool isOfRows = first.opType() == "Einsum";
    if (builder.isProfitable() && !(isOfRows && builder.hasSummand()) &&
        isKnown(row->fusedOp, builder.hasSummand(), builder.activation()) && builder.build())
      return;
  }
}

} // namespace

void remapContractions(const FusionScope &scope, bool withOneDnn) {
  auto found = nodesOf(scope.body, findContraction);
  if (found.empty())
    return;
  Fuser fuser(scope, Fuser::TensorFlow);
  ContractionRemapper remapper(fuser, withOneDnn);
  for (Node node : llvm::reverse(found))
    remapper.remap(node);
}

} // namespace treadle::tfg
