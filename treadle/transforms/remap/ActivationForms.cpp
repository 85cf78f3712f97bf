// Activations as graphs spell them, with their factors in any order: gelu(x), which is
// x / 2 * (1 + erf(x / sqrt(2))), with erfc in place of it, and its approximation by tanh;
// swish(x) = x * sigmoid(x); x * relu6(x + 3) / 6, and the same without the first factor.
#include "treadle/transforms/remap/Remapper.h"

#include <cmath>

using namespace mlir;

namespace treadle::tfg {
namespace {

/// A product taken apart: factors that aren't constant, each as often as it occurs.
struct Product {
  double coefficient = 1;
  SmallVector<Value> factors;
};

/// Takes apart only nodes that nobody else uses.
class Matcher {
public:
  Matcher(const Remapper &remapper, Node root, NodeSet &nodes)
      : remapper(remapper), root(root), nodes(nodes) {}

  std::optional<Gelu> matchGelu() {
    Product product = productOf(root->getResult(0));
    if (product.factors.size() != 2 || !isNear(product.coefficient, 0.5))
      return std::nullopt;
    for (unsigned i : {0U, 1U}) {
      Value x = product.factors[i], share = product.factors[1 - i];
      if (isExactShare(share, x))
        return Gelu{x, true};
      if (isApproximateShare(share, x))
        return Gelu{x, false};
    }
    return std::nullopt;
  }

  std::optional<ActivationForm> matchSigmoid() {
    Product product = productOf(root->getResult(0));
    ArrayRef<Value> factors = product.factors;
    if (factors.size() == 2 && product.coefficient == 1)
      for (unsigned i : {0U, 1U})
        if (Node sigmoid = take(factors[i], "Sigmoid"))
          if (isMultiple(sigmoid->getOperand(0), 1, factors[1 - i]))
            return ActivationForm{factors[1 - i], "_Swish"};
    if (!isNear(product.coefficient, 1.0 / 6))
      return std::nullopt;
    if (factors.size() == 2)
      for (unsigned i : {0U, 1U})
        if (takeHardSum(factors[i]) == factors[1 - i])
          return ActivationForm{factors[1 - i], "_HardSwish"};
    Value x = factors.size() == 1 ? takeHardSum(factors[0]) : Value();
    return x ? std::optional(ActivationForm{x, "_HardSigmoid"}) : std::nullopt;
  }

private:
  static bool isNear(double value, double expected) {
    return std::abs(value - expected) <= 1e-4 * std::abs(expected);
  }

  Node own(Value value) {
    Node node = remapper.producer(value);
    bool isOwn = node && (node == root || (value.hasOneUse() && node.controlResult().use_empty()));
    if (!isOwn || !isFloat32(value))
      return {};
    return node;
  }
  Node take(Value value, StringRef opType) {
    Node node = own(value);
    if (!node || node.opType() != opType)
      return {};
    nodes.insert(node.getOperation());
    return node;
  }

  void addFactors(Value value, Product &product) {
    if (std::optional<double> number = remapper.scalar(value)) {
      product.coefficient *= *number;
      return;
    }
    if (Node mul = take(value, "Mul")) {
      addFactors(mul->getOperand(0), product);
      addFactors(mul->getOperand(1), product);
    } else if (Node negated = take(value, "Neg")) {
      product.coefficient = -product.coefficient;
      addFactors(negated->getOperand(0), product);
    } else if (Node square = take(value, "Square")) {
      product.factors.append(2, square->getOperand(0));
    } else if (!addPower(value, product) && !addQuotient(value, product)) {
      product.factors.push_back(value);
    }
  }

  bool addPower(Value value, Product &product) {
    Node node = own(value);
    if (!node || node.opType() != "Pow")
      return false;
    std::optional<double> exponent = remapper.scalar(node->getOperand(1));
    if (exponent != 2.0 && exponent != 3.0)
      return false;
    product.factors.append(static_cast<size_t>(*exponent), node->getOperand(0));
    return nodes.insert(node.getOperation()) || true;
  }

  bool addQuotient(Value value, Product &product) {
    Node node = own(value);
    if (!node || node.opType() != "RealDiv")
      return false;
    std::optional<double> divisor = remapper.scalar(node->getOperand(1));
    if (!divisor || *divisor == 0)
      return false;
    product.coefficient /= *divisor;
    nodes.insert(node.getOperation());
    addFactors(node->getOperand(0), product);
    return true;
  }

  Product productOf(Value value) {
    Product product;
    addFactors(value, product);
    return product;
  }

  bool isMultiple(Value value, double coefficient, ArrayRef<Value> factors) {
    Product product = productOf(value);
    return isNear(product.coefficient, coefficient) && ArrayRef<Value>(product.factors) == factors;
  }

  /// The two operands of a sum, null where it is none.
  std::pair<Value, Value> takeSum(Value value) {
    Node node = take(value, "AddV2");
    if (!node)
      node = take(value, "Add");
    return node ? std::pair(node->getOperand(0), node->getOperand(1)) : std::pair<Value, Value>();
  }
  /// What is added to that number.
  Value takeBeside(Value value, double number) {
    auto [a, b] = takeSum(value);
    if (a && remapper.scalar(a) == number)
      return b;
    return b && remapper.scalar(b) == number ? a : Value();
  }
  Value takeBesideOne(Value value) { return takeBeside(value, 1); }

  /// The x of relu6(x + 3).
  Value takeHardSum(Value value) {
    Node relu6 = take(value, "Relu6");
    return relu6 ? takeBeside(relu6->getOperand(0), 3) : Value();
  }

  bool isExactShare(Value share, Value x) {
    constexpr double rootOfHalf = 0.70710678118654752440;
    if (Node complement = take(share, "Erfc"))
      return isMultiple(complement->getOperand(0), -rootOfHalf, x);
    Value other = takeBesideOne(share);
    Node erf = other ? take(other, "Erf") : Node();
    return erf && isMultiple(erf->getOperand(0), rootOfHalf, x);
  }

  // tanh(sqrt(2 / pi) * (x + 0.044715 x^3)), or with x taken out of the sum.
  bool isApproximateShare(Value share, Value x) {
    Value other = takeBesideOne(share);
    Node tanh = other ? take(other, "Tanh") : Node();
    if (!tanh)
      return false;
    Product inner = productOf(tanh->getOperand(0));
    if (!isNear(inner.coefficient, 0.79788456080286535588))
      return false;
    constexpr double cubicTerm = 0.044715;
    if (inner.factors.size() == 1) {
      auto [a, b] = takeSum(inner.factors[0]);
      if (b == x)
        std::swap(a, b);
      return a == x && isMultiple(b, cubicTerm, {x, x, x});
    }
    if (inner.factors.size() != 2 || !llvm::is_contained(inner.factors, x))
      return false;
    Value square = takeBesideOne(inner.factors[inner.factors[0] == x]);
    return square && isMultiple(square, cubicTerm, {x, x});
  }

  const Remapper &remapper;
  Node root;
  NodeSet &nodes;
};

} // namespace

std::optional<Gelu> matchGelu(const Remapper &remapper, Node root, NodeSet &nodes) {
  if (root.opType() != "Mul" || !isFloat32(root->getResult(0)))
    return std::nullopt;
  NodeSet own = nodes;
  std::optional<Gelu> gelu = Matcher(remapper, root, own).matchGelu();
  if (gelu)
    nodes = own;
  return gelu;
}

std::optional<ActivationForm> matchActivation(const Remapper &remapper, Node root, NodeSet &nodes) {
  bool mayEnd = root.opType() == "Mul" || root.opType() == "RealDiv";
  if (!mayEnd || root.numResults() != 1 || !isFloat32(root->getResult(0)))
    return std::nullopt;
  if (std::optional<Gelu> gelu = matchGelu(remapper, root, nodes))
    return ActivationForm{gelu->x, gelu->isExact ? "_GeluExact" : "_GeluApproximate"};
  NodeSet own = nodes;
  std::optional<ActivationForm> form = Matcher(remapper, root, own).matchSigmoid();
  if (form)
    nodes = own;
  return form;
}

} // namespace treadle::tfg
