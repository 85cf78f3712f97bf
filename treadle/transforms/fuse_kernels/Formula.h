// What nodes compute, written down: fusions look for it in graphs.
#pragma once

#include "treadle/transforms/fuse_kernels/Fuser.h"

#include "llvm/ADT/StringMap.h"

#include <deque>

namespace treadle::tfg {

/// A formula of float32, as gelu's: "x * 0.5 * (1 + Erf(x * 0.70710678))".
///
///   x               any value; where it stands again, the same one (or an equal list of integers)
///   Op(a, b){f, !g} a node of this op or of a later version of it, whose attribute f is true, and
///                   g isn't
///   a + b, a - b    a sum in either order, a difference
///   a / b           a quotient
///   a * b * 0.5     a product in any order and grouping; Neg, Square, Pow and quotients by numbers
///                   count. Numbers that have a point may differ in the last digits.
///   1, $n           a number; any number, which is n. Of a product, n is what is left of its
///                   numbers: 1 where it has none.
///   a | b           one or the other
///   ...; m = a      below, m is a value that `a` is a formula of
class Formula {
public:
  /// `text` must live on. Malformed ones are errors of the programmer.
  Formula(const char *text);
  Formula(const Formula &) = delete;
  Formula &operator=(const Formula &) = delete;

  class Match {
  public:
    /// Null, or 1, where the formula matches without it.
    mlir::Value operator[](llvm::StringRef name) const;
    double number(llvm::StringRef name, double otherwise = 1) const;

    NodeSet nodes; // what the formula names, without constants

  private:
    friend class Formula;
    friend class Matcher;
    explicit Match(const Formula &formula) : formula(formula) {}

    const Formula &formula;
    llvm::SmallVector<std::pair<unsigned, mlir::Value>, 8> values;
    llvm::SmallVector<std::pair<unsigned, double>, 2> numbers;
  };
  using Accept = llvm::function_ref<bool(const Match &)>;

  /// Whether the body has nodes of all ops that the formula needs.
  bool isPossible(const Fuser &fuser) const { return isPossible(fuser, *top); }
  /// Calls `accept` with each way in which the formula describes what `root` gives, until it
  /// returns true. No value of a match that has no formula of its own is one of its nodes'.
  bool match(const Fuser &fuser, Node root, Accept accept, int maxRankOfNumbers = 1) const;

private:
  friend class Matcher;
  struct Term {
    enum Kind : uint8_t { Variable, Number, Op, Sum, Product, Either } kind;
    llvm::StringRef name = {}; // of the op
    unsigned variable = none;  // of a variable, or of a number that is any
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

  llvm::StringRef text; // what is left of it
  std::deque<Term> terms;
  llvm::StringMap<unsigned> variables;
  llvm::SmallVector<const Term *> definitions; // by variable, null for none
  const Term *top;                             // parsed last
};

} // namespace treadle::tfg
