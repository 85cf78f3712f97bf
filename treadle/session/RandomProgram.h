// For tests of passes and runs: random programs whose effects nothing orders but their places.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace treadle::test {

inline constexpr int numVariables = 3;

/// One thing that a function does. Values are int32; those that it makes are numbered on from its
/// arguments.
struct Statement {
  enum Kind : uint8_t {
    Constant,  // number
    Add,       // a + b
    Multiply,  // a * number
    Delay,     // a, after a while
    Read,      // the variable
    Peek,      // what was logged last
    Branch,    // what functions[a modulo their count] gives
    Call,      // what functions[0] gives
    Loop,      // what is carried from a on, while functions[0] holds, by functions[1]
    Assign,    // the variable becomes a; from here on nothing is made
    AssignAdd, // the variable grows by a
    Print,     // the letter `number`
    Log,       // a
  } kind;
  int a = 0, b = 0;
  int32_t number = 0;
  int handle = 0;
  std::vector<int> functions{};
  std::vector<int> arguments{}; // a Loop's come after its counter and what it carries
  std::array<int, numVariables> handles{0, 1, 2};

  bool makesValue() const { return kind < Assign; }
};

struct Function {
  int numArguments = 0;
  std::vector<Statement> statements;
  int result = 0;
  /// A loop's condition: holds while the counter is below; and `result`, if that is asked for.
  std::optional<int32_t> times;
  std::optional<int32_t> resultBelow;
  /// Which of the handles are the variables', rather than the caller's.
  std::array<bool, numVariables> isByName{};
  bool hasEffects = false;
};

/// Variables, a log that is a list or a TensorArray, loops in loops, conditionals, calls with
/// handles that may be one, conditions with effects, prints.
struct Program {
  std::vector<Function> functions; // callees first; the last is the one that runs
  bool logIsArray = false;
  int parallelIterations = 10;

  /// What it gives, as one text; nothing if that takes too long.
  std::optional<std::string> meaning() const;
  /// As a module, whose node `call` gives the result, the log and the variables.
  std::string text() const;
};

Program randomProgram(unsigned seed);

/// An outcome as `meaning` writes it.
std::string outcomeText(int32_t result, const std::vector<int32_t> &log,
                        const std::array<int32_t, numVariables> &variables,
                        const std::string &printed);

} // namespace treadle::test
