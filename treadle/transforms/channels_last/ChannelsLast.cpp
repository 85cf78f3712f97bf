#include "treadle/transforms/channels_last/ChannelsLast.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_CHANNELSLAST
#include "treadle/transforms/Passes.h.inc"

namespace tfg {
namespace {

using Order = SmallVector<int64_t, 5>;

/// Returns the permutation of a Transpose from channels first to channels last: [0, 2, 3, 1].
Order orderToLast(int64_t rank) {
  Order order{0};
  for (int64_t d = 2; d < rank; ++d)
    order.push_back(d);
  order.push_back(1);
  return order;
}

/// Returns the inverse permutation: [0, 3, 1, 2].
Order orderToFirst(int64_t rank) {
  Order order{0, rank - 1};
  for (int64_t d = 1; d < rank - 1; ++d)
    order.push_back(d);
  return order;
}

bool isImageRank(int64_t rank) { return rank == 4 || rank == 5; }

template <typename T> SmallVector<T> permuted(ArrayRef<T> values, ArrayRef<int64_t> order) {
  SmallVector<T> out;
  for (int64_t from : order)
    out.push_back(values[static_cast<size_t>(from)]);
  return out;
}

Type permutedType(Type type, ArrayRef<int64_t> order) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked || ranked.getRank() != static_cast<int64_t>(order.size()))
    return type;
  return RankedTensorType::get(permuted(ranked.getShape(), order), ranked.getElementType());
}

/// Returns the rank of a node's images if its data format has the channels first, otherwise 0.
int64_t rankOfChannelsFirst(Node node) {
  auto format = node.attr<StringAttr>("data_format");
  return !format || !opFacts(node.opType()).images ? 0
         : format.getValue() == "NCHW"             ? 4
         : format.getValue() == "NCDHW"            ? 5
                                                   : 0;
}

class ChannelsLast {
public:
  explicit ChannelsLast(const FusionScope &scope)
      : scope(scope), builder(scope.body.getParentOp() ? scope.body.getParentOp()->getContext()
                                                       : scope.body.front().getContext()) {}

  void run() {
    for (Operation *op : topologicalOrder(scope.body)) {
      Node node(op);
      if (!gone.contains(op) && Node::isNode(op) && node.numResults() > 0 &&
          !scope.isFunction(node.opType()))
        rewrite(node);
    }
    for (Node node : llvm::reverse(made))
      if (node->use_empty() && !scope.isKept(node)) {
        scope.constants.forget(node);
        node->erase();
      }
  }

private:
  void rewrite(Node node) {
    if (rankOfChannelsFirst(node))
      return rewriteImageOp(node);
    StringRef op = node.opType();
    if (op == "Transpose")
      return rewriteTranspose(node);
    if (llvm::none_of(node.data(), [&](Value v) { return last.contains(v); }))
      return op == "Reshape" ? unflatten(node) : void();
    if (op == "Reshape")
      return rewriteReshape(node);
    const OpDef *def = lookupOp(op);
    if (def && !def->elementwise().empty() && !def->facts().allowsRowCondition)
      return rewriteElementwise(node);
    if (def && !def->reduction().empty())
      return rewriteReduction(node);
    static const llvm::StringMap<void (ChannelsLast::*)(Node)> others = {
        {"ConcatV2", &ChannelsLast::rewriteConcat},
        {"LeakyRelu", &ChannelsLast::rewriteElementwise},
        {"Pad", &ChannelsLast::rewritePad},
        {"PadV2", &ChannelsLast::rewritePad},
        {"Slice", &ChannelsLast::rewriteSlice},
        {"Split", &ChannelsLast::rewriteSplit},
        {"Squeeze", &ChannelsLast::rewriteSqueeze},
        {"_GeluApproximateGrad", &ChannelsLast::rewriteElementwise},
        {"_GeluExactGrad", &ChannelsLast::rewriteElementwise},
        {"_SwishGrad", &ChannelsLast::rewriteElementwise},
    };
    if (auto found = others.find(op); found != others.end())
      (this->*found->second)(node);
  }

  // --- values ------------------------------------------------------------------------------------

  struct Shape {
    int64_t rank = -1; // unknown
    SmallVector<int64_t> dims;

    bool isKnown() const { return rank >= 0; }
    bool isStatic() const { return isKnown() && !llvm::is_contained(dims, ShapedType::kDynamic); }
    int64_t count() const {
      int64_t product = 1;
      for (int64_t dim : dims)
        if (!ShapedType::isDynamic(dim) && __builtin_mul_overflow(product, dim, &product))
          return std::numeric_limits<int64_t>::max();
      return product;
    }
    /// Returns whether all spatial dimensions are known to be 1.
    bool isPoint() const {
      return isKnown() && llvm::all_of(ArrayRef(dims).drop_front(std::min<size_t>(2, dims.size())),
                                       [](int64_t dim) { return dim == 1; });
    }
  };

  Shape shapeOf(Value value) {
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      return {type.getRank(), SmallVector<int64_t>(type.getShape())};
    if (Tensor constant = scope.constants.valueOf(value))
      return {constant.rank(),
              SmallVector<int64_t>(constant.dims().begin(), constant.dims().end())};
    return {};
  }

  int64_t rankOf(Value value) {
    auto found = ranks.find(value);
    return found != ranks.end() ? found->second : shapeOf(value).rank;
  }

  std::string fresh(Node node, StringRef suffix) {
    if (!names)
      names.emplace(scope.body);
    return names->unique((node.name() + "/" + suffix).str());
  }

  Value integers(ArrayRef<int64_t> values, Node beside, StringRef suffix) {
    Tensor tensor = *Tensor::make(DType::Int32, {std::ssize(values)});
    llvm::transform(values, tensor.data<int32_t>(),
                    [](int64_t value) { return static_cast<int32_t>(value); });
    return constant(tensor, beside, suffix);
  }

  Value constant(const Tensor &value, Node beside, StringRef suffix) {
    builder.setInsertionPoint(beside.getOperation());
    made.push_back(buildConst(builder, fresh(beside, suffix), value, beside, {}));
    return made.back()->getResult(0);
  }

  Node transpose(Value value, ArrayRef<int64_t> order, Node beside, StringRef name) {
    Value list = integers(order, beside, "order");
    Node turn = NodeBuilder(builder, "Transpose")
                    .name(name)
                    .placedAs(beside)
                    .attr("T", dtypeAttr(value.getType()))
                    .attr("Tperm", mlir::TypeAttr::get(builder.getI32Type()))
                    .inputs({value, list})
                    .results(permutedType(value.getType(), order))
                    .build();
    made.push_back(turn);
    return turn;
  }

  /// Sets the dtype of a list operand that now is a constant of this pass.
  void setInt32Dtype(Node node, StringRef typeKey) {
    if (node.attr(typeKey))
      node->setDiscardableAttr(typeKey, mlir::TypeAttr::get(builder.getI32Type()));
  }

  /// Returns the channels-last form of an image; creates a Transpose for `user` if there is none.
  Value channelsLastOf(Value first, int64_t rank, Node user) {
    Value &known = last[first];
    if (!known) {
      Node producer = definingNode(first);
      builder.setInsertionPoint(user.getOperation());
      Node turn = transpose(first, orderToLast(rank), user, fresh(user, "channels_last"));
      // The first user that is visited may precede other users.
      if (producer && producer->getBlock() == turn->getBlock())
        moveAfter(turn, producer);
      known = turn->getResult(0);
      ranks[first] = rank;
    }
    return known;
  }

  /// Moves the Transpose and its constant.
  static void moveAfter(Node turn, Node producer) {
    turn->moveAfter(producer.getOperation());
    turn->getOperand(1).getDefiningOp()->moveBefore(turn.getOperation());
  }

  /// Result `i` of `node` is an image with channels last now. Its users get a Transpose of it until
  /// they are visited.
  void transposeUsers(Node node, unsigned i, int64_t rank) {
    Value result = node->getResult(i);
    bool isKept = scope.isKept(node); // the Transpose takes its name
    std::string name = isKept ? node.name().str() : fresh(node, "channels_first");
    if (isKept)
      node.setName(fresh(node, "channels_last"));
    builder.setInsertionPointAfter(node.getOperation());
    Node turn = transpose(result, orderToFirst(rank), node, name);
    moveAfter(turn, node);
    Value first = turn->getResult(0);
    result.replaceAllUsesExcept(first, turn.getOperation());
    if (isKept)
      node.controlResult().replaceAllUsesWith(turn.controlResult());
    last[first] = result;
    ranks[first] = rank;
  }

  /// Returns whether a node can be removed once its results are unused: it has no control edges and
  /// isn't kept.
  bool isRemovable(Node node) const {
    return node.numControl() == 0 && node.controlResult().use_empty() && !scope.isKept(node);
  }

  void erase(Node node) {
    scope.constants.forget(node);
    SoftEdges::follow(node, {});
    node->erase();
  }

  /// Returns whether the layout of a node's results may change.
  bool mayChangeLayout(Node node) const { return !scope.isKept(node) || node.numResults() == 1; }

  void setResultType(Node node, unsigned i, int64_t rank) {
    Value result = node->getResult(i);
    result.setType(permutedType(result.getType(), orderToLast(rank)));
    node->removeDiscardableAttr(outputShapesKey);
  }

  // --- ops with a data format --------------------------------------------------------------------

  void rewriteImageOp(Node node) {
    const ImageFacts &images = opFacts(node.opType()).images;
    int64_t rank = rankOfChannelsFirst(node);
    if (!mayChangeLayout(node) || !isWellFormed(node, images))
      return;
    if (images.isOfAnyRank && rankOf(node->getOperand(images.firstInput())) != rank)
      return;
    std::optional<SmallVector<int64_t>> sizes;
    if (images.sizes >= 0) {
      sizes = scope.constants.integersOf(node->getOperand(images.sizes));
      if (!sizes || std::ssize(*sizes) != rank ||
          !llvm::all_of(*sizes, [](int64_t size) { return llvm::isInt<32>(size); }))
        return;
    }
    Order order = orderToLast(rank);
    for (unsigned i = 0; i < images.endOfInputs(); ++i)
      if (images.takesImage(i))
        node->setOperand(i, channelsLastOf(node->getOperand(i), rank, node));
    if (sizes) {
      node->setOperand(images.sizes, integers(permuted(ArrayRef(*sizes), order), node, "sizes"));
      setInt32Dtype(node, "Tshape");
    }
    permuteAttributes(node, order);
    node->setDiscardableAttr("data_format", builder.getStringAttr(rank == 4 ? "NHWC" : "NDHWC"));
    if (!images.returnsImage)
      return;
    setResultType(node, 0, rank);
    transposeUsers(node, 0, rank);
  }

  static bool isWellFormed(Node node, const ImageFacts &images) {
    return node.numData() >= std::max<unsigned>(images.sizes + 1, images.endOfInputs());
  }

  void permuteAttributes(Node node, ArrayRef<int64_t> order) {
    for (StringRef key : {"strides", "dilations", "ksize"})
      if (auto list = node.attr<ArrayAttr>(key); list && list.size() == order.size())
        node->setDiscardableAttr(key, builder.getArrayAttr(permuted(list.getValue(), order)));
    auto paddings = node.attr<ArrayAttr>("explicit_paddings");
    if (!paddings || paddings.size() != 2 * order.size())
      return;
    SmallVector<Attribute> turned;
    for (int64_t from : order)
      llvm::append_range(turned, paddings.getValue().slice(2 * from, 2));
    node->setDiscardableAttr("explicit_paddings", builder.getArrayAttr(turned));
  }

  // --- ops that are independent of the layout ----------------------------------------------------

  /// Returns the rank that all image inputs have in common; 0 if the ranks differ.
  int64_t commonRank(ValueRange inputs) {
    int64_t rank = 0;
    for (Value input : inputs) {
      if (!last.contains(input))
        continue;
      if (rank && rank != ranks[input])
        return 0;
      rank = ranks[input];
    }
    return rank;
  }

  /// The conversion of an operand of an elementwise op.
  enum class OperandConversion { Refuse, AsIs, Channels, Turn };

  OperandConversion conversionOf(Value input, int64_t rank) {
    if (last.contains(input))
      return OperandConversion::Turn;
    Shape shape = shapeOf(input);
    if (rankOf(input) == 0 || (shape.isStatic() && shape.rank <= rank && shape.count() == 1))
      return OperandConversion::AsIs;
    if (!shape.isKnown() || shape.rank > rank)
      return OperandConversion::Refuse;
    // [channels, 1, 1] or [1, channels, 1, 1].
    ArrayRef<int64_t> dims = shape.dims;
    bool hasBatch = shape.rank == rank;
    if (hasBatch || shape.rank == rank - 1) {
      ArrayRef<int64_t> image = dims.drop_front(hasBatch ? 2 : 1);
      bool isPoint = llvm::all_of(image, [](int64_t dim) { return dim == 1; });
      if (isPoint && (!hasBatch || dims[0] == 1))
        return OperandConversion::Channels;
    }
    return hasBatch ? OperandConversion::Turn : OperandConversion::Refuse;
  }

  /// Returns the number of elements, with 1 for unknown dimensions: unknown dimensions of operands
  /// of one op are mostly equal.
  static int64_t sizeOf(const Shape &shape) {
    constexpr int64_t unknown = int64_t(1) << 40;
    return shape.isKnown() ? shape.count() : unknown;
  }

  bool isWorthIt(Node node, ArrayRef<OperandConversion> conversions) {
    int64_t moved = 0, largest = 0;
    for (auto [input, way] : llvm::zip(node.data(), conversions)) {
      if (way == OperandConversion::Turn && !last.contains(input))
        moved += sizeOf(shapeOf(input));
      else if (way == OperandConversion::Turn)
        largest = std::max(largest, sizeOf(shapeOf(input)));
    }
    return moved <= largest;
  }

  void rewriteElementwise(Node node) {
    int64_t rank = commonRank(node.data());
    if (!rank || node.numResults() != 1 || !mayChangeLayout(node))
      return;
    SmallVector<OperandConversion> conversions;
    for (Value input : node.data())
      conversions.push_back(conversionOf(input, rank));
    if (llvm::is_contained(conversions, OperandConversion::Refuse) || !isWorthIt(node, conversions))
      return;
    for (auto [i, way] : llvm::enumerate(conversions)) {
      Value input = node->getOperand(i);
      if (way == OperandConversion::Turn)
        node->setOperand(i, channelsLastOf(input, rank, node));
      else if (way == OperandConversion::Channels)
        node->setOperand(i, channelsOf(input, node));
    }
    setResultType(node, 0, rank);
    transposeUsers(node, 0, rank);
  }

  /// Returns a vector with one number for each channel.
  Value channelsOf(Value value, Node user) {
    Value &known = channels[value];
    if (known)
      return known;
    Node producer = definingNode(value);
    // Reuses the operand of a Reshape of a vector.
    if (producer && producer.opType() == "Reshape" && !scope.isFunction("Reshape") &&
        rankOf(producer->getOperand(0)) == 1)
      return known = producer->getOperand(0);
    auto type = cast<TensorType>(value.getType());
    int64_t count = ShapedType::kDynamic;
    if (Shape shape = shapeOf(value); shape.isStatic())
      count = shape.count();
    Value list = integers({-1}, user, "vector_shape");
    Node vector = NodeBuilder(builder, "Reshape")
                      .name(fresh(user, "vector"))
                      .placedAs(user)
                      .attr("T", dtypeAttr(type))
                      .attr("Tshape", mlir::TypeAttr::get(builder.getI32Type()))
                      .inputs({value, list})
                      .results(RankedTensorType::get({count}, type.getElementType()))
                      .build();
    if (producer && producer->getBlock() == vector->getBlock())
      moveAfter(vector, producer);
    return known = vector->getResult(0);
  }

  std::optional<SmallVector<int64_t>> axesOf(Value value, int64_t rank) {
    auto axes = scope.constants.integersOf(value);
    if (!axes)
      return std::nullopt;
    for (int64_t &axis : *axes) {
      axis = axis < 0 ? axis + rank : axis;
      if (axis < 0 || axis >= rank)
        return std::nullopt;
    }
    return axes;
  }

  /// Maps axes of images with channels first to axes of images with channels last.
  static SmallVector<int64_t> movedAxes(ArrayRef<int64_t> axes, int64_t rank) {
    SmallVector<int64_t> moved;
    for (int64_t axis : axes)
      moved.push_back(axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1);
    return moved;
  }

  Value axesLike(Value old, ArrayRef<int64_t> axes, Node node) {
    auto type = dyn_cast<RankedTensorType>(old.getType());
    Tensor value = scope.constants.valueOf(old);
    if ((type && type.getRank() == 0) || (value && value.rank() == 0)) {
      auto axis = static_cast<int32_t>(axes.front());
      return constant(Tensor::scalar<int32_t>(DType::Int32, axis), node, "axis");
    }
    return integers(axes, node, "axes");
  }

  void rewriteReduction(Node node) {
    int64_t rank = commonRank(node.data().take_front());
    if (!rank || node.numData() != 2 || !mayChangeLayout(node))
      return;
    auto axes = axesOf(node->getOperand(1), rank);
    auto keepsDims = node.attr<BoolAttr>("keep_dims");
    bool keeps = keepsDims && keepsDims.getValue();
    if (!axes)
      return;
    // The remaining dimensions must have the same order in both layouts.
    auto isReduced = [&](int64_t d) { return llvm::is_contained(*axes, d); };
    bool hasImage = false;
    for (int64_t d = 2; d < rank; ++d)
      hasImage |= !isReduced(d);
    if (!keeps && hasImage && !isReduced(1))
      return;
    node->setOperand(1, axesLike(node->getOperand(1), movedAxes(*axes, rank), node));
    setInt32Dtype(node, "Tidx");
    node->setOperand(0, last[node->getOperand(0)]);
    if (!keeps)
      return;
    setResultType(node, 0, rank);
    transposeUsers(node, 0, rank);
  }

  void rewriteConcat(Node node) {
    ValueRange parts = node.data().drop_back();
    int64_t rank = commonRank(parts);
    if (!rank || !mayChangeLayout(node) || parts.empty())
      return;
    auto axes = axesOf(node.data().back(), rank);
    SmallVector<OperandConversion> conversions(parts.size(), OperandConversion::Turn);
    if (!axes || axes->size() != 1 || !isWorthIt(node, conversions))
      return;
    for (unsigned i = 0; i < parts.size(); ++i)
      if (rankOf(node->getOperand(i)) != rank)
        return;
    for (unsigned i = 0, n = parts.size(); i < n; ++i)
      node->setOperand(i, channelsLastOf(node->getOperand(i), rank, node));
    unsigned at = node.numData() - 1;
    node->setOperand(at, axesLike(node->getOperand(at), movedAxes(*axes, rank), node));
    setInt32Dtype(node, "Tidx");
    setResultType(node, 0, rank);
    transposeUsers(node, 0, rank);
  }

  /// Converts a constant list with a number (or a pair) for each dimension.
  std::optional<Value> permutedList(Node node, unsigned operand, int64_t rank, bool isPairs) {
    Value value = node->getOperand(operand);
    auto list = scope.constants.integersOf(value);
    int64_t each = isPairs ? 2 : 1;
    if (!list || std::ssize(*list) != each * rank ||
        !llvm::all_of(*list, [](int64_t n) { return llvm::isInt<32>(n); }))
      return std::nullopt;
    SmallVector<int64_t> turned;
    for (int64_t from : orderToLast(rank))
      llvm::append_range(turned, ArrayRef(*list).slice(each * from, each));
    if (!isPairs)
      return integers(turned, node, "turned");
    Tensor pairs = *Tensor::make(DType::Int32, {rank, 2});
    llvm::transform(turned, pairs.data<int32_t>(),
                    [](int64_t n) { return static_cast<int32_t>(n); });
    return constant(pairs, node, "turned");
  }

  /// Replaces the first input with its channels-last form and converts the result too.
  void follow(Node node, int64_t rank) {
    node->setOperand(0, last[node->getOperand(0)]);
    setResultType(node, 0, rank);
    transposeUsers(node, 0, rank);
  }

  void rewritePad(Node node) {
    int64_t rank = commonRank(node.data().take_front());
    if (!rank || node.numData() < 2 || !mayChangeLayout(node))
      return;
    std::optional<Value> pairs = permutedList(node, 1, rank, /*isPairs=*/true);
    if (!pairs)
      return;
    node->setOperand(1, *pairs);
    setInt32Dtype(node, "Tpaddings");
    follow(node, rank);
  }

  void rewriteSlice(Node node) {
    int64_t rank = commonRank(node.data().take_front());
    if (!rank || node.numData() != 3 || !mayChangeLayout(node))
      return;
    std::optional<Value> begin = permutedList(node, 1, rank, false);
    std::optional<Value> size = begin ? permutedList(node, 2, rank, false) : std::nullopt;
    if (!size)
      return;
    node->setOperand(1, *begin);
    node->setOperand(2, *size);
    setInt32Dtype(node, "Index");
    follow(node, rank);
  }

  void rewriteSplit(Node node) {
    if (node.numData() != 2 || scope.isKept(node))
      return;
    int64_t rank = commonRank(node.data().drop_front());
    auto axes = rank ? axesOf(node->getOperand(0), rank) : std::nullopt;
    if (!axes || axes->size() != 1)
      return;
    node->setOperand(0, axesLike(node->getOperand(0), movedAxes(*axes, rank), node));
    node->setOperand(1, last[node->getOperand(1)]);
    for (unsigned i = 0; i < node.numResults(); ++i) {
      setResultType(node, i, rank);
      transposeUsers(node, i, rank);
    }
  }

  // --- ops that depend on the order of dimensions ------------------------------------------------

  void rewriteTranspose(Node node) {
    if (node.numData() != 2)
      return;
    auto order = scope.constants.integersOf(node->getOperand(1));
    if (!order || !isImageRank(std::ssize(*order)))
      return;
    int64_t rank = std::ssize(*order);
    Value image = node->getOperand(0), turned = last.lookup(image);
    if (turned && ranks[image] == rank) {
      SmallVector<int64_t> whole = permuted(ArrayRef<int64_t>(orderToFirst(rank)), *order);
      bool isSame = llvm::equal(whole, llvm::seq<int64_t>(0, rank));
      if (isSame && isRemovable(node)) {
        node->getResult(0).replaceAllUsesWith(turned);
        erase(node);
        return;
      }
      node->setOperand(0, turned);
      node->setOperand(1, integers(whole, node, "order"));
      setInt32Dtype(node, "Tperm");
      return;
    }
    // An existing Transpose serves like one that this pass creates.
    if (llvm::equal(*order, orderToFirst(rank))) {
      last[node->getResult(0)] = image;
      ranks[node->getResult(0)] = rank;
    } else if (llvm::equal(*order, orderToLast(rank)) && !last.contains(image)) {
      last[image] = node->getResult(0);
      ranks[image] = rank;
    }
  }

  void rewriteSqueeze(Node node) {
    Value image = node->getOperand(0);
    int64_t rank = ranks[image];
    auto list = node.attr<ArrayAttr>("squeeze_dims");
    if (!list || !shapeOf(image).isPoint() || shapeOf(image).rank != rank)
      return;
    SmallVector<int64_t> axes;
    for (Attribute dim : list) {
      int64_t axis = cast<IntegerAttr>(dim).getInt();
      axes.push_back(axis < 0 ? axis + rank : axis);
      if (axes.back() < 2 || axes.back() >= rank)
        return;
    }
    if (std::ssize(axes) != rank - 2)
      return;
    SmallVector<Attribute> moved;
    for (int64_t axis : movedAxes(axes, rank))
      moved.push_back(builder.getI64IntegerAttr(axis));
    node->setDiscardableAttr("squeeze_dims", builder.getArrayAttr(moved));
    node->setOperand(0, last[image]);
  }

  void rewriteReshape(Node node) {
    Value image = node->getOperand(0);
    if (!last.contains(image))
      return;
    // If all spatial dimensions are 1, the order of elements is the same in both layouts.
    if (shapeOf(image).isPoint())
      node->setOperand(0, last[image]);
    else
      flatten(node, image);
  }

  /// Returns the only user of the node's result if it transposes [a, b, c] to [a, c, b].
  Node swapAfter(Node node) {
    if (!node->hasOneUse() || node->getResult(0).use_empty() || scope.isKept(node))
      return {};
    Node turn(*node->user_begin());
    auto isSwap = [&](Node n) {
      if (!Node::isNode(n.getOperation()) || n.opType() != "Transpose" || n.numData() != 2 ||
          scope.isFunction("Transpose"))
        return false;
      auto order = scope.constants.integersOf(n->getOperand(1));
      return order && llvm::equal(*order, ArrayRef<int64_t>{0, 2, 1});
    };
    return isSwap(turn) ? turn : Node();
  }

  /// Replaces a Reshape of an image to [batch, channels, points] and a Transpose to [batch, points,
  /// channels] with a Reshape of the channels-last image, which has that order of elements.
  void flatten(Node node, Value image) {
    Shape from = shapeOf(image), to = shapeOf(node->getResult(0));
    Node turn = isRemovable(node) ? swapAfter(node) : Node();
    if (!turn || !from.isKnown() || !to.isStatic() || to.rank != 3 || from.rank != ranks[image] ||
        from.dims[1] != to.dims[1] || from.dims[0] != to.dims[0])
      return;
    replaceWithReshape(turn, last[image], {to.dims[0], to.dims[2], to.dims[1]});
    erase(node);
  }

  /// Replaces a Transpose with a Reshape of `value`.
  void replaceWithReshape(Node turn, Value value, ArrayRef<int64_t> dims) {
    Value list = integers(dims, turn, "shape");
    builder.setInsertionPoint(turn.getOperation());
    Node reshape = NodeBuilder(builder, "Reshape")
                       .name(turn.name())
                       .placedAs(turn)
                       .attr("T", dtypeAttr(value.getType()))
                       .attr("Tshape", mlir::TypeAttr::get(builder.getI32Type()))
                       .inputs({value, list})
                       .control(turn.control())
                       .results(turn->getResult(0).getType())
                       .build();
    turn->getResult(0).replaceAllUsesWith(reshape->getResult(0));
    turn.controlResult().replaceAllUsesWith(reshape.controlResult());
    SoftEdges::merge(turn, reshape);
    gone.insert(turn.getOperation());
    turn->erase();
  }

  /// Replaces a Transpose of [batch, points, channels] to [batch, channels, points] and a Reshape
  /// to an image with a Reshape to a channels-last image, which has that order of elements.
  void unflatten(Node node) {
    Node turn = scope.producer(node->getOperand(0), "Transpose");
    Shape to = shapeOf(node->getResult(0));
    if (!turn || turn.numData() != 2 || !to.isStatic() || !isImageRank(to.rank) ||
        !mayChangeLayout(node))
      return;
    auto order = scope.constants.integersOf(turn->getOperand(1));
    Shape from = shapeOf(turn->getResult(0));
    if (!order || !llvm::equal(*order, ArrayRef<int64_t>{0, 2, 1}) || !from.isStatic() ||
        from.dims[0] != to.dims[0] || from.dims[1] != to.dims[1] || to.isPoint())
      return;
    node->setOperand(0, turn->getOperand(0));
    SmallVector<int64_t> dims = permuted(ArrayRef(to.dims), orderToLast(to.rank));
    node->setOperand(1, integers(dims, node, "shape"));
    setInt32Dtype(node, "Tshape");
    setResultType(node, 0, to.rank);
    transposeUsers(node, 0, to.rank);
  }

  const FusionScope &scope;
  OpBuilder builder;
  std::optional<NameScope> names;
  /// Maps each image with channels first that also exists with channels last to the latter and to
  /// its rank.
  DenseMap<Value, Value> last;
  DenseMap<Value, int64_t> ranks;
  DenseMap<Value, Value> channels;  // vectors with one number for each channel
  llvm::DenseSet<Operation *> gone; // erased before they were visited
  SmallVector<Node> made;           // removed again if unused
};

} // namespace

bool hasChannelsFirst(Node node) { return rankOfChannelsFirst(node) > 0; }

// In a body with v1 control flow, new nodes wouldn't be in the right frames.
void convertToChannelsLast(const FusionScope &scope) {
  if (!mayBeDead(scope.body))
    ChannelsLast(scope).run();
}

} // namespace tfg

namespace {

struct ChannelsLast : impl::ChannelsLastBase<ChannelsLast> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    tfg::forEachFusionScope(getOperation(), keep, [](const tfg::FusionScope &scope) {
      if (llvm::any_of(scope.body, [](Operation &op) {
            return tfg::Node::isNode(&op) && tfg::hasChannelsFirst(tfg::Node(&op));
          }))
        tfg::convertToChannelsLast(scope);
    });
  }
};

} // namespace
} // namespace treadle
