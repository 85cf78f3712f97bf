// Patterns of nodes, written as formulas.
#pragma once

#include "treadle/transforms/fuse_kernels/Fuser.h"

#include "llvm/ADT/StringMap.h"

#include <deque>

namespace treadle::tfg {

/// A pattern of float32 nodes, such as gelu: "x * 0.5 * (1 + Erf(x * 0.70710678))".
///
///   x               any value; the same one (or an equal list of integers) at each occurrence
///   Op(a, b){f, !g} a node of this op, or of a later version of it, whose attribute f is true and
///                   g is false
///   a + b, a - b    a sum in either order, a difference
///   a / b           a quotient
///   a * b * 0.5     a product in any order and grouping, including Neg, Square, Pow and quotients
///                   by constants. Numbers with a point may differ in the last digits.
///   1, $n           this number; any number, bound to n. In a product, n is the remaining constant
///                   factor, or 1.
///   a | b           either
///   ...; m = a      defines m, a value that matches `a`
class Formula {
public:
  /// `text` must outlive the formula and be well-formed.
  Formula(const char *text);
  Formula(const Formula &) = delete;
  Formula &operator=(const Formula &) = delete;

  class Match {
  public:
    /// Returns the value or number of a variable; null or 1 if the match doesn't use it.
    mlir::Value operator[](llvm::StringRef name) const;
    double number(llvm::StringRef name, double otherwise = 1) const;

    NodeSet nodes; // the nodes of the match without constants

  private:
    friend class Formula;
    friend class Matcher;
    explicit Match(const Formula &formula) : formula(formula) {}

    const Formula &formula;
    llvm::SmallVector<std::pair<unsigned, mlir::Value>, 8> values;
    llvm::SmallVector<std::pair<unsigned, double>, 2> numbers;
  };
  using Accept = llvm::function_ref<bool(const Match &)>;

  /// Returns whether the body contains all ops that the formula needs.
  bool isPossible(const Fuser &fuser) const { return isPossible(fuser, *top); }
  /// Calls `accept` with each match of the formula with the result of `root` until it returns true.
  /// Variables are never bound to results of nodes of the match, unless they have a formula of
  /// their own.
  bool match(const Fuser &fuser, Node root, Accept accept, int maxConstantRank = 1) const;

private:
  friend class Matcher;
  struct Term {
    enum Kind : uint8_t { Variable, Number, Op, Sum, Product, Either } kind;
    llvm::StringRef name = {}; // the op
    unsigned variable = none;  // of a variable or `$n`
    double number = 1;
    bool isExact = true;
    llvm::SmallVector<const Term *, 3> parts = {};
    llvm::SmallVector<llvm::StringRef, 1> flags = {};
  };
  static constexpr unsigned none = ~0U;

  bool isFree(const Term *term) const;
  bool isPossible(const Fuser &fuser, const Term &term) const;
  const Term *parseEither();
  const Term *parseSum();
  const Term *parseProduct();
  const Term *parseFactor();
  const Term *parseOp(llvm::StringRef name);
  llvm::StringRef takeName();
  bool take(llvm::StringRef token);
  unsigned variableOf(llvm::StringRef name);
  const Term *make(Term term) { return &terms.emplace_back(std::move(term)); }

  llvm::StringRef text; // the text that isn't parsed yet
  std::deque<Term> terms;
  llvm::StringMap<unsigned> variables;
  llvm::SmallVector<const Term *> definitions; // by variable; null if it has none
  const Term *top;                             // the last one that was parsed
};

} // namespace treadle::tfg
