// Chains of a convolution or a matrix product made one node.
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/transforms/remap/Contraction.h"

#include "treadle/ops/OpTable.h"

#include <cmath>

using namespace mlir;

namespace treadle::tfg {
namespace {

/// A factor and an offset a channel, as constants.
struct Affine {
  std::vector<double> factor, offset;
  SmallVector<Value> madeOf;

  bool scales() const {
    return llvm::any_of(factor, [](double f) { return f != 1; });
  }
};

/// What the fused node takes besides the contraction's own inputs.
struct Arguments {
  SmallVector<Value> values;
  SmallVector<std::string> ops; // fused_ops
  float epsilon = 0.0001F;
  Value filter; // another one than the contraction's, where it isn't null
};

class ContractionFuser {
public:
  ContractionFuser(Remapper &remapper, Node root, Chain &chain)
      : remapper(remapper), root(root), chain(chain), node(chain.contraction) {}

  Node fuse() {
    std::optional<Arguments> arguments = findArguments();
    if (!arguments)
      return {};
    if (chain.summand) {
      arguments->values.push_back(chain.summand);
      arguments->ops.push_back("Add");
    }
    if (!chain.activation.empty())
      arguments->ops.push_back(chain.activation);
    Node fused = node.opType() == "Einsum" ? buildOfRows(*arguments)
                                           : build(node->getOperand(0), *arguments, root.name(),
                                                   root->getResult(0).getType());
    remapper.replace(root, fused, chain.nodes);
    return fused;
  }

private:
  // --- the arguments -----------------------------------------------------------------------------

  std::optional<Arguments> findArguments() {
    if (chain.affine.empty())
      return zeroBias();
    if (chain.affine.size() == 1)
      if (auto given = givenArguments(chain.affine.front()))
        return given;
    std::optional<Affine> affine = foldAffine();
    return affine ? constantArguments(*affine) : std::nullopt;
  }

  /// Gelu is fused only after a bias.
  std::optional<Arguments> zeroBias() {
    if (chain.channels <= 0)
      return std::nullopt;
    return vectors({std::vector<double>(chain.channels, 0)}, {"bias"}, {}, "BiasAdd");
  }

  /// One op whose side is a vector already.
  std::optional<Arguments> givenArguments(Node affine) {
    StringRef op = affine.opType();
    if (op.starts_with("FusedBatchNorm")) {
      if (!chain.op->takesBatchNorm || chain.summand || remapper.constant(node->getOperand(1)))
        return std::nullopt; // a constant filter takes the factor in
      auto epsilon = affine.attr<FloatAttr>("epsilon");
      return Arguments{{affine.data().begin() + 1, affine.data().begin() + 5},
                       {"FusedBatchNorm"},
                       epsilon ? static_cast<float>(epsilon.getValueAsDouble()) : 0.0001F,
                       {}};
    }
    Value side = sideOf(affine, node->getResult(0));
    RankedTensorType type = rankedTypeOf(side);
    bool isVector = type && type.getRank() == 1 && type.getDimSize(0) == chain.channels;
    auto format = node.attr<StringAttr>("data_format");
    bool isAdded =
        (op == "AddV2" || op == "Add") && isVector && !(format && format.getValue() == "NCHW");
    return op == "BiasAdd" || isAdded ? std::optional(Arguments{{side}, {"BiasAdd"}, 0.0001F, {}})
                                      : std::nullopt;
  }

  Tensor sideValues(Value side, bool isVector) {
    if (!isVector)
      return channelValues(remapper, chain, side);
    Tensor value = remapper.constant(side);
    return value && value.rank() == 1 && value.dim(0) == chain.channels ? value : Tensor();
  }

  /// All ops of the chain as one, if all are constant.
  std::optional<Affine> foldAffine() {
    if (chain.channels <= 0)
      return std::nullopt;
    auto channels = static_cast<size_t>(chain.channels);
    Affine out{std::vector<double>(channels, 1), std::vector<double>(channels, 0), {}};
    Value main = node->getResult(0);
    for (Node step : llvm::reverse(chain.affine)) {
      bool ok = step.opType().starts_with("FusedBatchNorm") ? foldBatchNorm(step, out)
                                                            : foldStep(step, main, out);
      if (!ok)
        return std::nullopt;
      main = step->getResult(0);
    }
    return out;
  }

  bool foldStep(Node step, Value main, Affine &out) {
    Value side = sideOf(step, main);
    Tensor values = sideValues(side, step.opType() == "BiasAdd");
    if (!values)
      return false;
    out.madeOf.push_back(side);
    for (size_t c = 0; c < out.factor.size(); ++c) {
      double v = values.data<float>()[c];
      if (step.opType() == "Mul") {
        out.factor[c] *= v;
        out.offset[c] *= v;
      } else {
        out.offset[c] += step.opType() == "Sub" ? -v : v;
      }
    }
    return true;
  }

  bool foldBatchNorm(Node step, Affine &out) {
    Tensor in[4]; // scale, offset, mean, variance
    for (unsigned i = 0; i < 4; ++i) {
      in[i] = sideValues(step->getOperand(i + 1), true);
      if (!in[i])
        return false;
      out.madeOf.push_back(step->getOperand(i + 1));
    }
    auto epsilon = step.attr<FloatAttr>("epsilon");
    for (size_t c = 0; c < out.factor.size(); ++c) {
      auto at = [&](int i) { return static_cast<double>(in[i].data<float>()[c]); };
      double f = at(0) / std::sqrt(at(3) + (epsilon ? epsilon.getValueAsDouble() : 0.0001));
      out.factor[c] *= f;
      out.offset[c] = (out.offset[c] - at(2)) * f + at(1);
    }
    return true;
  }

  /// The factor goes into a constant filter; else both are arguments of a batch norm of mean 0 and
  /// variance 1.
  std::optional<Arguments> constantArguments(const Affine &affine) {
    if (!affine.scales())
      return vectors({affine.offset}, {"bias"}, affine.madeOf, "BiasAdd");
    if (Tensor filter = remapper.constant(node->getOperand(1))) {
      Value scaled = scaledFilter(filter, affine);
      auto out =
          scaled ? vectors({affine.offset}, {"bias"}, affine.madeOf, "BiasAdd") : std::nullopt;
      if (out)
        out->filter = scaled;
      return out;
    }
    if (!chain.op->takesBatchNorm || chain.summand)
      return std::nullopt;
    std::vector<double> none(affine.factor.size(), 0), one(affine.factor.size(), 1);
    auto out = vectors({affine.factor, affine.offset, none, one},
                       {"scale", "offset", "mean", "variance"}, affine.madeOf, "FusedBatchNorm");
    if (out)
      out->epsilon = 0;
    return out;
  }

  Value scaledFilter(const Tensor &filter, const Affine &affine) {
    Expected<Tensor> scaled = Tensor::make(DType::Float32, filter.dims());
    if (!scaled)
      return {};
    int64_t inner = chain.op->inner(node, filter);
    for (int64_t i = 0; i < filter.count(); ++i)
      scaled->data<float>()[i] = static_cast<float>(
          filter.data<float>()[i] * affine.factor[static_cast<size_t>(i / inner % chain.channels)]);
    SmallVector<Value> madeOf(affine.madeOf);
    madeOf.push_back(node->getOperand(1));
    return remapper.makeConstant(root, "filter", *scaled, madeOf);
  }

  std::optional<Arguments> vectors(ArrayRef<std::vector<double>> columns, ArrayRef<StringRef> names,
                                   ValueRange madeOf, StringRef op) {
    Arguments out;
    out.ops.push_back(op.str());
    for (auto [column, name] : llvm::zip(columns, names)) {
      Expected<Tensor> vector = Tensor::make(DType::Float32, Dims(&chain.channels, 1));
      if (!vector)
        return std::nullopt;
      std::transform(column.begin(), column.end(), vector->data<float>(),
                     [](double v) { return static_cast<float>(v); });
      Value value = remapper.makeConstant(root, name, *vector, madeOf, node->getOperand(0));
      if (!value)
        return std::nullopt;
      out.values.push_back(value);
    }
    return out;
  }

  // --- the node ----------------------------------------------------------------------------------

  Node build(Value input, const Arguments &arguments, StringRef name, Type type) {
    OpBuilder builder(root.getOperation());
    SmallVector<Value> inputs{input, arguments.filter ? arguments.filter : node->getOperand(1)};
    llvm::append_range(inputs, arguments.values);
    return NodeBuilder(builder, chain.op->fusedOp)
        .attrs(attributes(arguments))
        .name(name)
        .placedAs(root)
        .inputs(inputs)
        .control(remapper.controlOf(chain.nodes))
        .results(type)
        .build();
  }

  SmallVector<NamedAttribute> attributes(const Arguments &arguments) {
    Builder builder(root->getContext());
    const OpDef *def = lookupOp(chain.op->fusedOp);
    SmallVector<NamedAttribute> out;
    for (NamedAttribute attr : node.attrs())
      if (def && def->findAttr(attr.getName().strref()))
        out.push_back(attr);
    auto set = [&](StringRef key, Attribute value) {
      if (def && def->findAttr(key))
        out.push_back(builder.getNamedAttr(key, value));
    };
    SmallVector<Attribute> ops,
        types(arguments.values.size(), dtypeAttr(root->getResult(0).getType()));
    for (const std::string &op : arguments.ops)
      ops.push_back(builder.getStringAttr(op));
    set("fused_ops", builder.getArrayAttr(ops));
    set("num_args", builder.getI64IntegerAttr(static_cast<int64_t>(arguments.values.size())));
    set("TArgs", builder.getArrayAttr(types));
    set("epsilon", builder.getF32FloatAttr(arguments.epsilon));
    set("leakyrelu_alpha", builder.getF32FloatAttr(chain.alpha));
    if (node.opType() == "DepthwiseConv2dNative" || node.opType() == "Conv2D")
      return out;
    set("T", dtypeAttr(root->getResult(0).getType()));
    if (node.opType() == "Einsum") {
      set("transpose_a", builder.getBoolAttr(false));
      set("transpose_b", builder.getBoolAttr(false));
    }
    return out;
  }

  // --- rows of more than two dimensions
  // ------------------------------------------------------------

  Node made(StringRef op, StringRef suffix, ValueRange inputs, ArrayRef<NamedAttribute> attrs,
            Type type) {
    OpBuilder builder(root.getOperation());
    return NodeBuilder(builder, op)
        .attrs(attrs)
        .name(remapper.uniqueName(root, suffix))
        .placedAs(root)
        .inputs(inputs)
        .results(type)
        .build();
  }

  Value integers(StringRef suffix, ArrayRef<int32_t> values) {
    auto n = static_cast<int64_t>(values.size());
    Tensor tensor = *Tensor::make(DType::Int32, Dims(&n, 1));
    llvm::copy(values, tensor.data<int32_t>());
    return remapper.makeConstant(root, suffix, tensor, {}, node->getOperand(0));
  }

  Node buildOfRows(const Arguments &arguments) {
    Builder builder(root->getContext());
    Value x = node->getOperand(0);
    auto type = cast<RankedTensorType>(x.getType());
    Type element = type.getElementType();
    if (type.getRank() == 2)
      return build(x, arguments, root.name(), root->getResult(0).getType());
    auto dtype = [&](StringRef key, Type of) {
      return builder.getNamedAttr(key, mlir::TypeAttr::get(of));
    };
    NamedAttribute reshape[] = {dtype("T", element), dtype("Tshape", builder.getI32Type())};
    int64_t inner = filterRows(), rows = ShapedType::kDynamic;
    Node flat =
        made("Reshape", "rows", {x, integers("rows/shape", {-1, static_cast<int32_t>(inner)})},
             reshape, RankedTensorType::get({rows, inner}, element));
    Node product = build(flat->getResult(0), arguments, remapper.uniqueName(root, "product"),
                         RankedTensorType::get({rows, chain.channels}, element));
    return made("Reshape", "result", {product->getResult(0), shapeLike(x, type)}, reshape,
                root->getResult(0).getType());
  }

  int64_t filterRows() const {
    return cast<RankedTensorType>(node->getOperand(1).getType()).getDimSize(0);
  }

  /// The shape of x with as many columns as there are channels.
  Value shapeLike(Value x, RankedTensorType type) {
    SmallVector<int32_t> dims;
    for (int64_t dim : type.getShape().drop_back())
      dims.push_back(ShapedType::isDynamic(dim) ? -1 : static_cast<int32_t>(dim));
    dims.push_back(static_cast<int32_t>(chain.channels));
    if (llvm::count(dims, -1) <= 1)
      return integers("shape", dims);
    Builder builder(root->getContext());
    Type i32 = builder.getI32Type();
    auto typeOf = [&](StringRef key, Type of) {
      return builder.getNamedAttr(key, mlir::TypeAttr::get(of));
    };
    auto vector = [&](int64_t n) { return RankedTensorType::get(n, i32); };
    auto rank = static_cast<int32_t>(type.getRank());
    Node shape = made("Shape", "shape", x,
                      {typeOf("T", type.getElementType()), typeOf("out_type", i32)}, vector(rank));
    Node batch = made(
        "Slice", "batch",
        {shape->getResult(0), integers("batch/begin", {0}), integers("batch/size", {rank - 1})},
        {typeOf("T", i32), typeOf("Index", i32)}, vector(rank - 1));
    Node all = made("ConcatV2", "shape/all",
                    {batch->getResult(0), integers("columns", {dims.back()}), scalarZero()},
                    {typeOf("T", i32), typeOf("Tidx", i32),
                     builder.getNamedAttr("N", builder.getI64IntegerAttr(2))},
                    vector(rank));
    return all->getResult(0);
  }

  Value scalarZero() {
    return remapper.makeConstant(root, "axis", Tensor::scalar<int32_t>(DType::Int32, 0), {},
                                 node->getOperand(0));
  }

  Remapper &remapper;
  Node root;
  Chain &chain;
  Node node;
};

/// Rows of an Einsum are brought into a matrix and back: that must be possible, and worth it.
bool canFlatten(const Chain &chain) {
  if (chain.op->op != "Einsum")
    return true;
  auto filter = rankedTypeOf(chain.contraction->getOperand(1));
  return filter && filter.hasStaticShape() && filter.getDimSize(0) > 0 && chain.channels > 0 &&
         filter.getNumElements() < (int64_t(1) << 31);
}

} // namespace

Node fuseContraction(Remapper &remapper, Node root) {
  std::optional<Chain> chain = findChain(remapper, root);
  return chain && canFlatten(*chain) ? ContractionFuser(remapper, root, *chain).fuse() : Node();
}

Node fuseBatchNorm(Remapper &remapper, Node root) {
  if (root.opType() != "Relu" || !isFloat32(root->getResult(0)))
    return {};
  Node norm = remapper.producer(root->getOperand(0));
  auto isTraining = norm ? norm.attr<BoolAttr>("is_training") : BoolAttr();
  if (!norm || norm.opType() != "FusedBatchNormV3" || !isTraining || isTraining.getValue())
    return {};
  NodeSet nodes;
  nodes.insert(root.getOperation());
  nodes.insert(norm.getOperation());
  if (!remapper.canFuse(root, nodes))
    return {};
  OpBuilder builder(root.getOperation());
  SmallVector<NamedAttribute> attrs;
  for (NamedAttribute attr : norm.attrs())
    if (!isAboutNode(attr.getName()))
      attrs.push_back(attr);
  SmallVector<Type> types(norm.results().getTypes());
  types[0] = root->getResult(0).getType();
  Node fused = NodeBuilder(builder, "_FusedBatchNormEx")
                   .attrs(attrs)
                   .attr("activation_mode", builder.getStringAttr("Relu"))
                   .attr("num_side_inputs", builder.getI64IntegerAttr(0))
                   .placedAs(root)
                   .inputs(norm.data())
                   .control(remapper.controlOf(nodes))
                   .results(types)
                   .build();
  remapper.replace(root, fused, nodes);
  return fused;
}

} // namespace treadle::tfg
