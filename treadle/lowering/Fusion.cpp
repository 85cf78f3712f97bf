#include "treadle/lowering/Fusion.h"

#include <algorithm>
#include <string_view>

namespace treadle {
namespace {

struct Contraction {
  std::string_view op, fused;
};
constexpr Contraction contractions[] = {
    {"Conv2D", "_FusedConv2D"},
    {"Conv3D", "_FusedConv3D"},
    {"DepthwiseConv2dNative", "_FusedDepthwiseConv2dNative"},
    {"MatMul", "_FusedMatMul"},
};
constexpr std::string_view activations[] = {"Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid"};
constexpr std::string_view batchNorms[] = {"FusedBatchNorm", "FusedBatchNormV2",
                                           "FusedBatchNormV3"};

const Contraction *findContraction(const NodeSpec &node) {
  const auto *row = std::ranges::find(contractions, node.op, &Contraction::op);
  bool isKnown = row != std::end(contractions) && !node.isFunctionCall &&
                 (node.outputTypes[0].dtype == DType::Float32 ||
                  node.outputTypes[0].dtype == DType::Float64) &&
                 node.attrs.getOr<std::string>("data_format", "NHWC").back() == 'C';
  return isKnown ? row : nullptr;
}

bool isIn(std::span<const std::string_view> names, const NodeSpec &node) {
  return !node.isFunctionCall && std::ranges::find(names, node.op) != names.end();
}

class Fuser {
public:
  explicit Fuser(GraphSpec &spec) : spec(spec), readers(spec.nodes.size()) {
    for (size_t i = 0; i < spec.nodes.size(); ++i) {
      for (Endpoint from : spec.nodes[i].inputs)
        addReader(from, static_cast<int32_t>(i));
      for (int32_t from : spec.nodes[i].controls)
        readers[static_cast<size_t>(from)].isSeen = true;
    }
    for (const ResultSpec &result : spec.results)
      readers[static_cast<size_t>(result.from.node)].isSeen = true;
  }

  void fuse() {
    for (size_t i = 0; i < spec.nodes.size(); ++i)
      if (const Contraction *contraction = findContraction(spec.nodes[i])) {
        takeMargin(spec.nodes[i]);
        fuseFrom(static_cast<int32_t>(i), *contraction);
      }
    removeFused(spec);
  }

private:
  /// Who reads a node's output 0; seen: others as well, or another output.
  struct Readers {
    int32_t node = -1;
    bool isSeen = false;
  };

  void addReader(Endpoint from, int32_t node) {
    Readers &r = readers[static_cast<size_t>(from.node)];
    r.isSeen |= r.node >= 0 || from.output != 0;
    r.node = node;
  }

  NodeSpec &at(int32_t node) { return spec.nodes[static_cast<size_t>(node)]; }

  /// The only one who sees `node`, or null.
  NodeSpec *follower(int32_t node) {
    const Readers &r = readers[static_cast<size_t>(node)];
    return r.isSeen || r.node < 0 ? nullptr : &at(r.node);
  }
  int32_t numberOf(const NodeSpec &node) const {
    return static_cast<int32_t>(&node - spec.nodes.data());
  }

  static bool hasChannelsLast(const NodeSpec &node) {
    return node.attrs.getOr<std::string>("data_format", "NHWC") == "NHWC";
  }
  static bool isNormalisation(const NodeSpec &node) {
    auto isFloat = [](ValueType t) { return t.dtype == DType::Float32; };
    return isIn(batchNorms, node) && !node.attrs.getOr("is_training", true) &&
           hasChannelsLast(node) && std::ranges::all_of(node.inputTypes, isFloat);
  }

  /// The zeros that a Pad adds around the image, as explicit_paddings has them; empty if it adds
  /// others, or may.
  std::vector<int64_t> marginOf(const NodeSpec &pad) const {
    const NodeSpec &sizes = spec.nodes[static_cast<size_t>(pad.inputs[1].node)];
    const auto *value =
        sizes.op == "Const" ? std::get_if<Tensor>(sizes.attrs.find("value")) : nullptr;
    if (!value || value->rank() != 2 || value->dim(0) < 3 || value->dim(1) != 2)
      return {};
    std::vector<int64_t> margin(static_cast<size_t>(value->count()));
    if (value->dtype() == DType::Int32)
      std::copy_n(value->data<int32_t>(), margin.size(), margin.begin());
    else
      std::copy_n(value->data<int64_t>(), margin.size(), margin.begin());
    bool isAround = std::ranges::all_of(margin, [](int64_t n) { return n >= 0; }) &&
                    margin[0] + margin[1] + margin.end()[-2] + margin.back() == 0;
    return isAround ? margin : std::vector<int64_t>();
  }

  /// A convolution adds zeros itself.
  void takeMargin(NodeSpec &convolution) {
    if (convolution.attrs.getOr<std::string>("padding", "") != "VALID")
      return;
    NodeSpec &pad = at(convolution.inputs[0].node);
    if (pad.op != "Pad" || pad.isFunctionCall || follower(numberOf(pad)) != &convolution)
      return;
    std::vector<int64_t> margin = marginOf(pad);
    constexpr size_t ofImages = 8; // two for each dimension; volumes can't say theirs
    if (margin.size() != ofImages)
      return;
    convolution.attrs.set("padding", std::string("EXPLICIT"));
    convolution.attrs.set("explicit_paddings", std::move(margin));
    convolution.inputs[0] = pad.inputs[0];
    convolution.inputTypes[0] = pad.inputTypes[0];
    convolution.controls.insert(convolution.controls.end(), pad.controls.begin(),
                                pad.controls.end());
    absorb(convolution, pad);
    pad.op.clear();
  }

  /// The step of an epilogue that `node` is, empty if it is none: its value goes in as `input`.
  static std::string_view stepOf(const NodeSpec &node, size_t input, bool isFirst) {
    if (node.isFunctionCall)
      return {};
    if (node.op == "Mul")
      return "Mul";
    if (node.op == "AddV2" || node.op == "Add")
      return "Add";
    if (input != 0 || !isFirst)
      return {};
    if (node.op == "BiasAdd" && hasChannelsLast(node))
      return "BiasAdd";
    return isNormalisation(node) ? "FusedBatchNorm" : std::string_view();
  }

  void fuseFrom(int32_t first, const Contraction &contraction) {
    std::vector<std::string> ops;
    NodeSpec fused = at(first);
    int32_t last = first;
    // The node's op, with all its inputs but that one.
    auto take = [&](NodeSpec &node, std::string_view op, size_t input) {
      ops.emplace_back(op);
      for (size_t i = 0; i < node.inputs.size(); ++i)
        if (i != input) {
          fused.inputs.push_back(node.inputs[i]);
          fused.inputTypes.push_back(node.inputTypes[i]);
        }
      fused.controls.insert(fused.controls.end(), node.controls.begin(), node.controls.end());
      absorb(fused, node);
      at(last).op.clear();
      last = numberOf(node);
    };
    while (NodeSpec *next = follower(last)) {
      size_t input = next->inputs[0] == Endpoint{last, 0} ? 0 : 1;
      if (isIn(activations, *next)) {
        fused.attrs.set("leakyrelu_alpha", next->attrs.getOr("alpha", 0.2F));
        take(*next, next->op, input);
        break;
      }
      std::string_view step = stepOf(*next, input, ops.empty());
      if (step.empty())
        break;
      if (step == "FusedBatchNorm")
        fused.attrs.set("epsilon", next->attrs.getOr("epsilon", 0.0001F));
      take(*next, step, input);
    }
    if (ops.empty())
      return;
    fused.op = contraction.fused;
    fused.attrs.set("fused_ops", std::move(ops));
    std::ranges::sort(fused.controls);
    auto twice = std::ranges::unique(fused.controls);
    fused.controls.erase(twice.begin(), twice.end());
    fused.outputTypes = {at(last).outputTypes[0]};
    at(last) = std::move(fused);
  }

  GraphSpec &spec;
  std::vector<Readers> readers;
};

} // namespace

void removeFused(GraphSpec &spec) {
  std::vector<int32_t> numbers(spec.nodes.size());
  int32_t next = 0;
  for (size_t i = 0; i < spec.nodes.size(); ++i)
    numbers[i] = spec.nodes[i].op.empty() ? -1 : next++;
  std::erase_if(spec.nodes, [](const NodeSpec &node) { return node.op.empty(); });
  auto renumber = [&](int32_t &node) { node = numbers[static_cast<size_t>(node)]; };
  for (NodeSpec &node : spec.nodes) {
    for (Endpoint &input : node.inputs)
      renumber(input.node);
    std::ranges::for_each(node.controls, renumber);
  }
  for (Endpoint &arg : spec.args)
    renumber(arg.node);
  for (ResultSpec &result : spec.results)
    renumber(result.from.node);
}

void fuseNodes(GraphSpec &spec) {
  fuseLstmGates(spec);
  fuseContractions(spec);
}

void fuseContractions(GraphSpec &spec) {
  if (std::ranges::any_of(spec.nodes,
                          [](const NodeSpec &node) { return findContraction(node) != nullptr; }))
    Fuser(spec).fuse();
}

} // namespace treadle
