#include "treadle/testing/RandomProgram.h"

#include <algorithm>

namespace treadle::test {
namespace {

// --- direct evaluation ---------------------------------------------------------------------------

class Evaluator {
public:
  explicit Evaluator(const GeneratedProgram &program) : program(program) {}

  using Handles = std::array<int, numVariables>;

  int32_t run(const Function &function, std::vector<int32_t> values, Handles handles) {
    for (int h = 0; h < numVariables; ++h)
      if (function.isByName[h])
        handles[h] = h;
    for (const Statement &s : function.statements) {
      int32_t made = run(s, values, handles);
      if (s.makesValue())
        values.push_back(made);
      if (++steps > maxSteps)
        return 0;
    }
    if (!function.times)
      return values[function.result];
    bool holds = values[0] < *function.times;
    return holds && (!function.resultBelow || values[function.result] < *function.resultBelow);
  }

  static constexpr int maxSteps = 400;
  int steps = 0;
  std::vector<int32_t> log;
  std::array<int32_t, numVariables> variables{};
  std::string printed;

private:
  static int32_t wrap(int64_t x) { return static_cast<int32_t>(static_cast<uint32_t>(x)); }

  int32_t run(const Statement &s, const std::vector<int32_t> &values, const Handles &handles) {
    int32_t a = values.empty() ? 0 : values[s.a];
    int32_t &variable = variables[handles[s.handle]];
    switch (s.kind) {
    case Statement::Constant:
      return s.number;
    case Statement::Add:
      return wrap(int64_t(a) + values[s.b]);
    case Statement::Multiply:
      return wrap(int64_t(a) * s.number);
    case Statement::Delay:
      return a;
    case Statement::Read:
      return variable;
    case Statement::Peek:
      return log.back();
    case Statement::Assign:
      return variable = a;
    case Statement::AssignAdd:
      return variable = wrap(int64_t(variable) + a);
    case Statement::Print:
      printed += static_cast<char>(s.number);
      return 0;
    case Statement::Log:
      log.push_back(a);
      return 0;
    case Statement::Branch: {
      auto count = static_cast<int32_t>(s.functions.size());
      return call(s, s.functions[((a % count) + count) % count], {}, values, handles);
    }
    case Statement::Call:
      return call(s, s.functions[0], {}, values, handles);
    case Statement::Loop:
      for (int32_t i = 0;
           call(s, s.functions[0], {i, a}, values, handles) != 0 && steps <= maxSteps; ++i)
        a = call(s, s.functions[1], {i, a}, values, handles);
      return a;
    }
    return 0;
  }

  int32_t call(const Statement &s, int function, std::vector<int32_t> first,
               const std::vector<int32_t> &values, const Handles &handles) {
    for (int argument : s.arguments)
      first.push_back(values[argument]);
    Handles given;
    for (int h = 0; h < numVariables; ++h)
      given[h] = handles[s.handles[h]];
    return run(program.functions[function], std::move(first), given);
  }

  const GeneratedProgram &program;
};

} // namespace

std::string outcomeText(int32_t result, const std::vector<int32_t> &log,
                        const std::array<int32_t, numVariables> &variables,
                        const std::string &printed) {
  std::string text = "result " + std::to_string(result) + "; log";
  for (int32_t item : log)
    text += " " + std::to_string(item);
  text += "; variables";
  for (int32_t value : variables)
    text += " " + std::to_string(value);
  return text + "; printed '" + printed + "'";
}

std::optional<std::string> GeneratedProgram::meaning() const {
  Evaluator meaning(*this);
  int32_t result = meaning.run(functions.back(), {}, {0, 1, 2});
  if (meaning.steps > Evaluator::maxSteps)
    return std::nullopt;
  return outcomeText(result, meaning.log, meaning.variables, meaning.printed);
}

// --- generation ----------------------------------------------------------------------------------

namespace {

class Maker {
public:
  explicit Maker(unsigned seed) : random(seed) {}

  GeneratedProgram make() {
    program.logIsArray = chance(0.5);
    program.parallelIterations = chance(0.2) ? 2 : 10;
    // A function for calls, which takes its own handles.
    callable = finish(function(1, 1 + below(3), deepest - 1));
    Function main;
    for (int h = 0; h < numVariables; ++h)
      add(main, {.kind = Statement::Assign, .a = constant(main, below(6)), .handle = h});
    add(main, {.kind = Statement::Log, .a = constant(main, below(9))});
    fill(main, 2 + below(4), 0);
    main.isByName.fill(true);
    add(main, loop(main, 0));
    main.result = local(main);
    finish(std::move(main));
    return std::move(program);
  }

private:
  static constexpr int deepest = 2;

  int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
  bool chance(double p) { return random() < p * 4294967296.0; }

  static int numLocals(const Function &f) {
    auto makes = [](const Statement &s) { return s.makesValue(); };
    return f.numArguments +
           static_cast<int>(std::count_if(f.statements.begin(), f.statements.end(), makes));
  }
  /// Picks a value of the function, preferably a late one.
  int local(const Function &f) {
    int count = numLocals(f);
    return std::max(below(count), below(count));
  }
  int constant(Function &f, int32_t number) {
    add(f, {.kind = Statement::Constant, .number = number});
    return numLocals(f) - 1;
  }

  void add(Function &f, Statement s) {
    bool isPure = s.kind < Statement::Read ||
                  (!program.logIsArray && (s.kind == Statement::Peek || s.kind == Statement::Log));
    for (int called : s.functions)
      f.hasEffects |= program.functions[called].hasEffects;
    f.hasEffects |= !isPure && s.functions.empty();
    f.statements.push_back(std::move(s));
  }

  int finish(Function f) {
    program.functions.push_back(std::move(f));
    return static_cast<int>(program.functions.size()) - 1;
  }

  Function function(int numArguments, int statements, int depth, bool mayLog = true) {
    Function f;
    f.numArguments = numArguments;
    fill(f, statements, depth, mayLog);
    f.result = local(f);
    return f;
  }

  void fill(Function &f, int statements, int depth, bool mayLog = true) {
    for (int i = 0; i < statements; ++i)
      add(f, statement(f, depth, mayLog));
  }

  Statement statement(const Function &f, int depth, bool mayLog) {
    int a = local(f), handle = below(numVariables);
    switch (below(depth < deepest ? 14 : 11)) {
    case 0:
    case 1:
      return {.kind = Statement::Read, .handle = handle};
    case 2:
      return {.kind = Statement::Assign, .a = a, .handle = handle};
    case 3:
      return {.kind = Statement::AssignAdd, .a = a, .handle = handle};
    case 4:
      return {.kind = Statement::Add, .a = a, .b = local(f)};
    case 5:
      return {.kind = Statement::Multiply, .a = a, .number = below(4)};
    case 6:
      return {.kind = Statement::Delay, .a = a};
    case 7:
      return {.kind = Statement::Print, .number = 'a' + below(26)};
    case 8:
      return {.kind = Statement::Peek};
    case 9:
    case 10:
      return mayLog ? Statement{.kind = Statement::Log, .a = a}
                    : Statement{.kind = Statement::Constant, .number = below(9)};
    case 11:
      return branch(f, a, depth);
    case 12:
      return call(a, depth);
    default:
      return loop(f, depth);
    }
  }

  std::vector<int> captured(const Function &f, int least) {
    std::vector<int> out;
    for (int i = least + below(2); i > 0; --i)
      out.push_back(local(f));
    return out;
  }

  std::array<bool, numVariables> names() {
    std::array<bool, numVariables> out;
    for (bool &isByName : out)
      isByName = chance(0.3);
    return out;
  }

  Statement branch(const Function &f, int a, int depth) {
    Statement s{.kind = Statement::Branch, .a = a, .arguments = captured(f, 1)};
    auto isByName = names();
    for (int i = chance(0.7) ? 2 : 3; i > 0; --i) {
      Function made = function(static_cast<int>(s.arguments.size()), below(4), depth + 1);
      made.isByName = isByName;
      s.functions.push_back(finish(std::move(made)));
    }
    return s;
  }

  Statement call(int a, int depth) {
    Statement s{.kind = Statement::Call, .arguments = {a}};
    // Callees come first: the function under construction can't be called.
    bool isShared = chance(0.6) && callable >= 0;
    s.functions = {isShared ? callable : finish(function(1, 1 + below(3), depth + 1))};
    if (chance(0.4))
      for (int &h : s.handles)
        h = below(numVariables);
    return s;
  }

  Statement loop(const Function &f, int depth) {
    Statement s{.kind = Statement::Loop, .a = local(f), .arguments = captured(f, 0)};
    int numArguments = 2 + static_cast<int>(s.arguments.size());
    Function condition = function(numArguments, chance(0.4) ? 1 + below(2) : 0, deepest, false);
    condition.times = below(4);
    if (chance(0.3))
      condition.resultBelow = below(20);
    Function body = function(numArguments, 1 + below(4), depth + 1);
    condition.isByName = body.isByName = names();
    if (chance(0.15))
      for (int &h : s.handles)
        h = below(numVariables);
    s.functions.push_back(finish(std::move(condition)));
    s.functions.push_back(finish(std::move(body)));
    return s;
  }

  std::mt19937 random;
  GeneratedProgram program;
  int callable = -1;
};

} // namespace

GeneratedProgram randomProgram(unsigned seed) { return Maker(seed).make(); }

} // namespace treadle::test
