// Finds the gates of long short-term memories: c' = f * c + i * g and h = o * tanh(c'), with
// f, i and o sigmoids and g a hyperbolic tangent of four parts of one tensor.
#include "treadle/lowering/Fusion.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace treadle {
namespace {

/// What was found, by number.
struct Gates {
  Endpoint sums, bias, cell; // no bias: node -1
  int32_t nextCell = -1, output = -1;
  int64_t axis = 0;
  float forgetBias = 0;
  int32_t split = -1;
  std::array<int64_t, 4> part = {-1, -1, -1, -1}; // of the input, forget, cell and output gate
  std::vector<int32_t> within;                    // nodes that nobody else may see
};
enum Gate : uint8_t { Input, Forget, Cell, Output };

class Finder {
public:
  explicit Finder(GraphSpec &spec) : spec(spec), readers(spec.nodes.size()) {
    for (const NodeSpec &node : spec.nodes) {
      for (Endpoint from : node.inputs)
        ++readers[static_cast<size_t>(from.node)];
      for (int32_t from : node.controls)
        readers[static_cast<size_t>(from)] = many;
    }
    for (const ResultSpec &result : spec.results)
      readers[static_cast<size_t>(result.from.node)] = many;
  }

  std::optional<Gates> find(int32_t output);

private:
  static constexpr int many = 1 << 20;

  const NodeSpec &at(int32_t node) const { return spec.nodes[static_cast<size_t>(node)]; }
  bool is(Endpoint e, std::string_view op) const {
    const NodeSpec &node = at(e.node);
    return e.output == 0 && node.op == op && !node.isFunctionCall && node.controls.empty() &&
           node.outputTypes[0].dtype == DType::Float32;
  }
  bool isSum(Endpoint e) const { return is(e, "AddV2") || is(e, "Add"); }

  /// The inputs of a commutative op, those for which `isFirst` holds first; nothing if it holds for
  /// none.
  template <typename Fn>
  std::optional<std::array<Endpoint, 2>> operands(int32_t node, Fn isFirst) const {
    Endpoint a = at(node).inputs[0], b = at(node).inputs[1];
    if (isFirst(a))
      return std::array{a, b};
    if (isFirst(b))
      return std::array{b, a};
    return std::nullopt;
  }

  bool take(Gates &gates, int32_t node, int wantedReaders = 1) const {
    gates.within.push_back(node);
    return readers[static_cast<size_t>(node)] == wantedReaders;
  }
  bool takeGate(Gates &gates, Gate gate, Endpoint value) const;
  bool takeForgetBias(Gates &gates, Endpoint &part) const;
  bool takeNextCell(Gates &gates) const;
  bool takeSums(Gates &gates) const;

  GraphSpec &spec;
  std::vector<int> readers; // of all outputs
};

// f may be sigmoid(part + number).
bool Finder::takeForgetBias(Gates &gates, Endpoint &part) const {
  if (!isSum(part))
    return true;
  auto isNumber = [&](Endpoint e) {
    const auto *value = std::get_if<Tensor>(at(e.node).attrs.find("value"));
    return is(e, "Const") && value && value->isScalar() && value->dtype() == DType::Float32;
  };
  auto parts = operands(part.node, isNumber);
  if (!parts || !take(gates, part.node))
    return false;
  gates.forgetBias =
      std::get<Tensor>(*at((*parts)[0].node).attrs.find("value")).scalarValue<float>();
  part = (*parts)[1];
  return true;
}

// `value` is the gate's function of a part of the split.
bool Finder::takeGate(Gates &gates, Gate gate, Endpoint value) const {
  if (!is(value, gate == Cell ? "Tanh" : "Sigmoid") || !take(gates, value.node))
    return false;
  Endpoint part = at(value.node).inputs[0];
  if (gate == Forget && !takeForgetBias(gates, part))
    return false;
  if (gates.split < 0)
    gates.split = part.node;
  gates.part[gate] = part.output;
  return part.node == gates.split && std::ranges::count(gates.part, part.output) == 1;
}

// c' = f * c + i * g
bool Finder::takeNextCell(Gates &gates) const {
  auto isNew = [&](Endpoint e) {
    return is(e, "Mul") && (is(at(e.node).inputs[0], "Tanh") || is(at(e.node).inputs[1], "Tanh")) &&
           operands(e.node, [&](Endpoint i) { return is(i, "Sigmoid"); });
  };
  auto parts = operands(gates.nextCell, isNew);
  if (!parts || !is((*parts)[1], "Mul") || !take(gates, (*parts)[0].node) ||
      !take(gates, (*parts)[1].node))
    return false;
  auto added = operands((*parts)[0].node, [&](Endpoint e) { return is(e, "Sigmoid"); });
  auto kept = operands((*parts)[1].node, [&](Endpoint e) {
    return is(e, "Sigmoid") && readers[static_cast<size_t>(e.node)] == 1;
  });
  if (!added || !kept)
    return false;
  gates.cell = (*kept)[1];
  return takeGate(gates, Input, (*added)[0]) && takeGate(gates, Cell, (*added)[1]) &&
         takeGate(gates, Forget, (*kept)[0]);
}

// The split itself, and a bias before it.
bool Finder::takeSums(Gates &gates) const {
  const NodeSpec &split = at(gates.split);
  const auto *axis = split.op == "Split" && split.inputs.size() == 2
                         ? std::get_if<Tensor>(at(split.inputs[0].node).attrs.find("value"))
                         : nullptr;
  if (!axis || !is({gates.split, 0}, "Split") || at(split.inputs[0].node).op != "Const" ||
      axis->dtype() != DType::Int32 || !axis->isScalar() || split.outputTypes.size() != 4 ||
      !take(gates, gates.split, 4))
    return false;
  gates.axis = axis->scalarValue<int32_t>();
  gates.sums = split.inputs[1];
  const NodeSpec &bias = at(gates.sums.node);
  if (is(gates.sums, "BiasAdd") && readers[static_cast<size_t>(gates.sums.node)] == 1 &&
      bias.attrs.getOr<std::string>("data_format", "NHWC") == "NHWC") {
    gates.within.push_back(gates.sums.node);
    gates.bias = bias.inputs[1];
    gates.sums = bias.inputs[0];
  }
  return true;
}

std::optional<Gates> Finder::find(int32_t output) {
  Gates gates;
  gates.output = output;
  if (!is({output, 0}, "Mul"))
    return std::nullopt;
  auto isNextCell = [&](Endpoint e) { return is(e, "Tanh") && isSum(at(e.node).inputs[0]); };
  auto parts = operands(output, isNextCell);
  if (!parts || !take(gates, (*parts)[0].node))
    return std::nullopt;
  gates.nextCell = at((*parts)[0].node).inputs[0].node;
  if (!takeNextCell(gates) || !takeGate(gates, Output, (*parts)[1]) || !takeSums(gates))
    return std::nullopt;
  return gates;
}

void fuse(GraphSpec &spec, const Gates &gates) {
  auto at = [&](int32_t node) -> NodeSpec & { return spec.nodes[static_cast<size_t>(node)]; };
  NodeSpec fused;
  fused.name = at(gates.nextCell).name;
  fused.op = "_FusedLstmGates";
  fused.device = at(gates.nextCell).device;
  fused.inputs = {gates.sums, gates.cell};
  if (gates.bias.node >= 0)
    fused.inputs.push_back(gates.bias);
  fused.inputTypes.assign(fused.inputs.size(), {DType::Float32});
  fused.outputTypes.assign(2, {DType::Float32});
  fused.attrs.set("axis", gates.axis);
  fused.attrs.set("forget_bias", gates.forgetBias);
  fused.attrs.set("gates", std::vector<int64_t>(gates.part.begin(), gates.part.end()));
  for (int32_t node : gates.within) {
    absorb(fused, at(node));
    at(node).op.clear();
  }
  absorb(fused, at(gates.nextCell));
  absorb(fused, at(gates.output));
  at(gates.output).op.clear();
  at(gates.nextCell) = std::move(fused);
}

} // namespace

void fuseLstmGates(GraphSpec &spec) {
  auto isSplit = [](const NodeSpec &node) { return node.op == "Split" && !node.isFunctionCall; };
  if (std::ranges::none_of(spec.nodes, isSplit))
    return;
  Finder finder(spec);
  std::vector<Gates> found;
  for (size_t i = 0; i < spec.nodes.size(); ++i)
    if (auto gates = finder.find(static_cast<int32_t>(i)))
      found.push_back(std::move(*gates));
  if (found.empty())
    return;
  // The output becomes the new node's second.
  std::vector<int32_t> cellOf(spec.nodes.size(), -1);
  for (const Gates &gates : found) {
    fuse(spec, gates);
    cellOf[static_cast<size_t>(gates.output)] = gates.nextCell;
  }
  auto redirect = [&](Endpoint &e) {
    if (int32_t cell = cellOf[static_cast<size_t>(e.node)]; cell >= 0)
      e = {cell, 1};
  };
  for (NodeSpec &node : spec.nodes) {
    std::ranges::for_each(node.inputs, redirect);
    for (int32_t &from : node.controls)
      from = cellOf[static_cast<size_t>(from)] >= 0 ? cellOf[static_cast<size_t>(from)] : from;
  }
  for (ResultSpec &result : spec.results)
    redirect(result.from);
  removeFused(spec);
}

} // namespace treadle
