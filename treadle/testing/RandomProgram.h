// For tests of passes and runs: random programs whose effects are ordered only by program order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace treadle::test {

inline constexpr int numVariables = 3;

/// A statement of a function. Values are int32; results are numbered after the arguments.
struct Statement {
  enum Kind : uint8_t {
    Constant,  // `number`
    Add,       // a + b
    Multiply,  // a * number
    Delay,     // a, after a delay
    Read,      // the value of the variable
    Peek,      // the last logged value
    Branch,    // the result of functions[a modulo their count]
    Call,      // the result of functions[0]
    Loop,      // loop with a carried value that starts at a: condition functions[0], body
               // functions[1]
    Assign,    // assigns a to the variable; this and the following kinds make no value
    AssignAdd, // adds a to the variable
    Print,     // prints the letter `number`
    Log,       // appends a to the log
  } kind;
  int a = 0, b = 0;
  int32_t number = 0;
  int handle = 0;
  std::vector<int> functions{};
  std::vector<int> arguments{}; // for a Loop, these follow the counter and the carried value
  std::array<int, numVariables> handles{0, 1, 2};

  bool makesValue() const { return kind < Assign; }
};

struct Function {
  int numArguments = 0;
  std::vector<Statement> statements;
  int result = 0;
  /// For a condition of a loop: holds while the counter is below `times` and, if set, `result` is
  /// below `resultBelow`.
  std::optional<int32_t> times;
  std::optional<int32_t> resultBelow;
  /// Whether each handle is opened by name, rather than passed by the caller.
  std::array<bool, numVariables> isByName{};
  bool hasEffects = false;
};

/// A program with variables, a log (a list or a TensorArray), nested loops, conditionals, calls
/// with handles that may alias, conditions with effects, and prints.
struct GeneratedProgram {
  std::vector<Function> functions; // callees first; the last is the entry
  bool logIsArray = false;
  int parallelIterations = 10;

  /// Returns the outcome as text, from a direct evaluation; nullopt if it takes too many steps.
  std::optional<std::string> meaning() const;
  /// Returns the program as a module; results of its node `call` are the result, the log and the
  /// variables.
  std::string text() const;
};

GeneratedProgram randomProgram(unsigned seed);

/// Formats an outcome in the same way as `meaning`.
std::string outcomeText(int32_t result, const std::vector<int32_t> &log,
                        const std::array<int32_t, numVariables> &variables,
                        const std::string &printed);

} // namespace treadle::test
