#include "treadle/transforms/fuse_kernels/Formula.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;

namespace treadle::tfg {

// --- parsing -------------------------------------------------------------------------------------

Formula::Formula(const char *text) : text(text), top(parseEither()) {
  while (take(";")) {
    unsigned variable = variableOf(takeName());
    take("=");
    definitions[variable] = parseEither();
  }
  assert(this->text.empty() && "malformed formula");
  // Sorts terms so that the most specific are matched first.
  for (Term &term : terms)
    if (term.kind == Term::Product)
      llvm::partition(term.parts, [&](const Term *part) { return !isFree(part); });
}

bool Formula::isFree(const Term *term) const {
  return term->kind == Term::Variable && !definitions[term->variable];
}

bool Formula::isPossible(const Fuser &fuser, const Term &term) const {
  auto isPart = [&](const Term *part) { return isPossible(fuser, *part); };
  switch (term.kind) {
  case Term::Number:
    return true;
  case Term::Variable:
    return isFree(&term) || isPart(definitions[term.variable]);
  case Term::Either:
    return llvm::any_of(term.parts, isPart);
  case Term::Op:
  case Term::Sum:
  case Term::Product:
    return (term.kind != Term::Op || fuser.hasOp(term.name)) && llvm::all_of(term.parts, isPart);
  }
  llvm_unreachable("unknown term");
}

bool Formula::take(StringRef token) {
  text = text.ltrim();
  return text.consume_front(token);
}

StringRef Formula::takeName() {
  text = text.ltrim();
  StringRef name = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
  text = text.drop_front(name.size());
  return name;
}

unsigned Formula::variableOf(StringRef name) {
  auto [entry, isNew] = variables.try_emplace(name, definitions.size());
  if (isNew)
    definitions.push_back(nullptr);
  return entry->second;
}

const Formula::Term *Formula::parseEither() {
  const Term *first = parseSum();
  Term either{Term::Either, {}, none, 1, true, {first}};
  while (take("|"))
    either.parts.push_back(parseSum());
  return either.parts.size() == 1 ? first : make(std::move(either));
}

const Formula::Term *Formula::parseSum() {
  const Term *first = parseProduct();
  if (take("+"))
    return make({Term::Sum, {}, none, 1, true, {first, parseProduct()}});
  if (take("-"))
    return make({Term::Op, "Sub", none, 1, true, {first, parseProduct()}});
  return first;
}

const Formula::Term *Formula::parseProduct() {
  Term product{Term::Product};
  const Term *factor = nullptr;
  unsigned numFactors = 0;
  do {
    factor = parseFactor();
    ++numFactors;
    if (factor->kind != Term::Number) {
      product.parts.push_back(factor);
      continue;
    }
    product.number *= factor->number;
    product.isExact &= factor->isExact;
    if (factor->variable != none)
      product.variable = factor->variable;
  } while (take("*"));
  if (take("/"))
    return make({Term::Op, "RealDiv", none, 1, true, {product.parts.front(), parseFactor()}});
  return numFactors == 1 ? factor : make(std::move(product));
}

const Formula::Term *Formula::parseFactor() {
  if (take("(")) {
    const Term *inner = parseEither();
    take(")");
    return inner;
  }
  bool isAny = take("$"), isNegative = take("-");
  StringRef name = takeName();
  if (isAny)
    return make({Term::Number, {}, variableOf(name)});
  if (llvm::isDigit(name.front())) {
    double number = 0;
    name.getAsDouble(number);
    return make({Term::Number, {}, none, isNegative ? -number : number, !name.contains('.')});
  }
  return take("(") ? parseOp(name) : make({Term::Variable, {}, variableOf(name)});
}

const Formula::Term *Formula::parseOp(StringRef name) {
  Term op{Term::Op, name};
  do
    op.parts.push_back(parseEither());
  while (take(","));
  take(")");
  if (take("{")) {
    do {
      bool isOff = take("!");
      StringRef flag = takeName();
      op.flags.push_back(isOff ? StringRef(flag.data() - 1, flag.size() + 1) : flag);
    } while (take(","));
    take("}");
  }
  return make(std::move(op));
}

// --- matching ------------------------------------------------------------------------------------

Value Formula::Match::operator[](StringRef name) const {
  auto variable = formula.variables.find(name);
  for (auto [known, value] : values)
    if (variable != formula.variables.end() && known == variable->second)
      return value;
  return {};
}

double Formula::Match::number(StringRef name, double otherwise) const {
  for (auto [known, number] : numbers)
    if (known == formula.variables.lookup(name))
      return number;
  return otherwise;
}

/// A backtracking matcher: each step that matches calls the next one, and undoes its bindings if
/// that fails.
class Matcher {
public:
  Matcher(const Formula &formula, const Fuser &fuser, Node root, int maxRank)
      : match(formula), formula(formula), fuser(fuser), root(root), maxRank(maxRank) {}

  bool run(Formula::Accept accept) {
    return find(*formula.top, root->getResult(0), [&] { return isComplete() && accept(match); });
  }

private:
  using Term = Formula::Term;
  using Next = function_ref<bool()>;
  using Factors = ArrayRef<const Term *>;

  /// Records the nodes of the match.
  bool isComplete() {
    match.nodes.clear();
    match.nodes.insert(nodes.begin(), nodes.end());
    return llvm::none_of(match.values, [&](auto bound) {
      return !formula.definitions[bound.first] &&
             match.nodes.contains(bound.second.getDefiningOp());
    });
  }

  template <typename List, typename Entry> static bool with(List &list, Entry entry, Next next) {
    list.push_back(std::move(entry));
    if (next())
      return true;
    list.pop_back();
    return false;
  }

  bool find(const Term &term, Value value, Next next) {
    switch (term.kind) {
    case Term::Variable:
      return findVariable(term.variable, value, next);
    case Term::Number:
      return findNumber(term, value, next);
    case Term::Op:
      return findOp(term, value, next);
    case Term::Sum:
      return findSum(term, value, next);
    case Term::Product:
      return findProduct(term, value, next);
    case Term::Either:
      return llvm::any_of(term.parts, [&](const Term *part) { return find(*part, value, next); });
    }
    llvm_unreachable("unknown term");
  }

  bool areSame(Value a, Value b) const {
    if (a == b)
      return true;
    if (!getElementTypeOrSelf(a.getType()).isSignlessInteger())
      return false;
    auto numbers = fuser.scope.constants.integersOf(fuser.source(a));
    return numbers && numbers == fuser.scope.constants.integersOf(fuser.source(b));
  }

  bool findVariable(unsigned variable, Value value, Next next) {
    for (auto [known, bound] : match.values)
      if (known == variable)
        return areSame(bound, value) && next();
    const Term *definition = formula.definitions[variable];
    return with(match.values, std::pair(variable, value),
                [&] { return definition ? find(*definition, value, next) : next(); });
  }

  bool findNumber(const Term &term, Value value, Next next) {
    std::optional<double> number = fuser.scalar(value, maxRank);
    if (!number)
      return false;
    if (term.variable == Formula::none)
      return *number == term.number && next();
    return with(match.numbers, std::pair(term.variable, *number), next);
  }

  /// Returns the node that defines `value` if it has this op, float values and this number of
  /// inputs.
  Node nodeOf(Value value, StringRef op, unsigned numData) const {
    Node node = fuser.producer(value);
    if (!node)
      return {};
    StringRef rest = node.opType();
    bool isOfOp = rest.consume_front(op) && (rest.empty() || rest == "V2" || rest == "V3");
    return isOfOp && node.numData() == numData && isFloat32(value) ? node : Node();
  }

  // Long chains of constants can't be part of a formula.
  bool take(Node node, Next next) {
    constexpr size_t most = 32;
    return nodes.size() < most && with(nodes, node.getOperation(), next);
  }

  bool findOp(const Term &term, Value value, Next next) {
    Node node = nodeOf(value, term.name, term.parts.size());
    bool hasFlags = node && llvm::all_of(term.flags, [&](StringRef key) {
                      bool isOff = key.consume_front("!");
                      return flag(node, key) != isOff;
                    });
    return hasFlags && take(node, [&] { return findInputs(term.parts, node, 0, next); });
  }

  bool findInputs(Factors parts, Node node, unsigned i, Next next) {
    if (i == parts.size())
      return next();
    return find(*parts[i], node->getOperand(i),
                [&] { return findInputs(parts, node, i + 1, next); });
  }

  bool findSum(const Term &term, Value value, Next next) {
    Node node = nodeOf(value, "Add", 2);
    auto findAs = [&](unsigned i) {
      return find(*term.parts[0], node->getOperand(i),
                  [&] { return find(*term.parts[1], node->getOperand(1 - i), next); });
    };
    return node && take(node, [&] { return findAs(0) || findAs(1); });
  }

  bool findProduct(const Term &term, Value value, Next next) {
    return findFactors(term.parts, value, 1, [&](double number) {
      if (term.variable != Formula::none)
        return with(match.numbers, std::pair(term.variable, number), next);
      double error = term.isExact ? 0 : 1e-4 * std::abs(term.number);
      return std::abs(number - term.number) <= error && next();
    });
  }

  using NextNumber = function_ref<bool(double)>;

  /// Matches all of these factors in `value`, whose other factors must be constants.
  bool findFactors(Factors factors, Value value, double number, NextNumber next) {
    if (factors.empty()) {
      std::optional<double> factor = fuser.scalar(value, maxRank);
      return factor && next(number * *factor);
    }
    if (factors.size() == 1 && find(*factors[0], value, [&] { return next(number); }))
      return true;
    Node node = fuser.producer(value);
    if (!node || !isFloat32(value))
      return false;
    StringRef op = node.opType();
    auto findInput = [&](double scaled) {
      return take(node, [&] { return findFactors(factors, node->getOperand(0), scaled, next); });
    };
    if (op == "Mul" && node.numData() == 2)
      return take(node, [&] { return splitFactors(factors, node, number, next); });
    if (op == "Neg" && node.numData() == 1)
      return findInput(-number);
    if (op == "RealDiv" && node.numData() == 2) {
      std::optional<double> divisor = fuser.scalar(node->getOperand(1), maxRank);
      return divisor && *divisor != 0 && findInput(number / *divisor);
    }
    return (op == "Square" || op == "Pow") && findPower(factors, node, number, next);
  }

  bool findPower(Factors factors, Node node, double number, NextNumber next) {
    double exponent = 2;
    if (node.opType() == "Pow")
      exponent = node.numData() == 2 ? fuser.scalar(node->getOperand(1)).value_or(0) : 0;
    return node.numData() > 0 && exponent == static_cast<double>(factors.size()) && take(node, [&] {
             return findEach(factors, node->getOperand(0), [&] { return next(number); });
           });
  }

  bool findEach(Factors factors, Value value, Next next) {
    return factors.empty() ? next() : find(*factors[0], value, [&] {
      return findEach(factors.drop_front(), value, next);
    });
  }

  /// Distributes the factors over both sides of a product; a side may consist of constants only.
  bool splitFactors(Factors factors, Node node, double number, NextNumber next) {
    for (unsigned set = 0; set < 1U << factors.size(); ++set) {
      SmallVector<const Term *, 3> sides[2];
      for (auto [i, factor] : llvm::enumerate(factors))
        sides[set >> i & 1].push_back(factor);
      // Constants and the most specific factor fail soonest, so they are matched first.
      unsigned first = sides[1].empty() || (!sides[0].empty() && (set & 1));
      auto findOther = [&](double sofar) {
        return findFactors(sides[1 - first], node->getOperand(1 - first), sofar, next);
      };
      if (findFactors(sides[first], node->getOperand(first), number, findOther))
        return true;
    }
    return false;
  }

  Formula::Match match;
  SmallVector<Operation *, 16> nodes;
  const Formula &formula;
  const Fuser &fuser;
  Node root;
  int maxRank;
};

bool Formula::match(const Fuser &fuser, Node root, Accept accept, int maxConstantRank) const {
  return root.numResults() > 0 && Matcher(*this, fuser, root, maxConstantRank).run(accept);
}

} // namespace treadle::tfg
