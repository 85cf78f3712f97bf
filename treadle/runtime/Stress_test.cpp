// Random programs, run by both layouts of plans with and without threads, and by a reference.
// TREADLE_STRESS_PROGRAMS sets how many; TREADLE_STRESS_SEED the first one, to repeat a failure.
#include "treadle/runtime/TestProgram.h"
#include "treadle/runtime/TestReference.h"

#include "treadle/runtime/Variable.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

namespace treadle::test {
namespace {

int64_t fromEnvironment(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

int64_t numPrograms() { return fromEnvironment("TREADLE_STRESS_PROGRAMS", 1000); }
unsigned firstSeed() { return static_cast<unsigned>(fromEnvironment("TREADLE_STRESS_SEED", 1)); }

struct Ran {
  Expected<std::vector<Tensor>> results;
  std::map<std::string, int32_t> variables;
};

Ran execute(const Plan &plan, ThreadPool *pool) {
  ResourceManager resources;
  RunState state(resources, pool);
  Ran ran{runPlan(plan, {}, state), {}};
  for (auto &[name, resource] : resources.all())
    ran.variables[name] = value(static_cast<Variable &>(*resource).read());
  return ran;
}

std::string text(const Tensor &t) {
  std::string out = tensorTypeText(t);
  for (int64_t i = 0; i < t.count(); ++i)
    out += str(" ", t.dtype() == DType::Bool ? t.data<bool>()[i] : t.data<int32_t>()[i]);
  return out;
}

std::string text(const Meaning::Value &v) {
  std::string out = str("int32", dimsText(v.dims));
  for (int32_t e : v.elements)
    out += str(" ", e);
  return out;
}

// What is wrong with a run; empty: nothing.
std::string difference(const Ran &ran, const Meaning &expected,
                       const std::map<std::string, int32_t> &variables) {
  bool isWhole = expected.failures.empty();
  for (const auto &result : expected.results)
    isWhole &= result.has_value();
  if (!isWhole) {
    if (ran.results)
      return "it should have failed";
    const std::string &message = ran.results.error().message;
    for (const std::string &node : expected.failures)
      if (message.find(str("'", node, "'")) != std::string::npos)
        return "";
    bool isMissing = message.find("has no value") != std::string::npos ||
                     message.find("can't be stacked") != std::string::npos;
    return isMissing ? "" : str("an error of no node that fails: ", message);
  }
  if (!ran.results)
    return str("it should not have failed: ", ran.results.error().message);
  for (size_t r = 0; r < expected.results.size(); ++r)
    if (std::string is = text((*ran.results)[r]), want = text(*expected.results[r]); is != want)
      return str("result ", r, " is ", is, ", expected ", want);
  if (ran.variables != variables)
    return "a variable ends with another value";
  return "";
}

class RandomPrograms : public testing::TestWithParam<const char *> {
protected:
  ProgramShape shape() const {
    std::string_view name = GetParam();
    ProgramShape shape;
    shape.hasFailures = name == "Failures";
    shape.hasWaiting = name == "Waiting";
    shape.hasWildDeadness = name == "Deadness";
    shape.looksIntoLoops = name == "LookingIntoLoops";
    return shape;
  }
  // The plans of one program; returns false if it means nothing certain.
  bool check(unsigned seed);
  ThreadPool pool{3};
};

bool RandomPrograms::check(unsigned seed) {
  std::mt19937 random(seed);
  Program program = randomProgram(random, shape());
  Reference reference(program.functions.get(), seed);
  Meaning expected = reference.run(program.graph);
  if (expected.isTooLong || expected.isAmbiguous)
    return false;
  for (Layout layout : {Layout::Chosen, Layout::Dataflow}) {
    Functions functions = program.functions->copy();
    functions.onlyDataflow = layout == Layout::Dataflow;
    auto plan = build(program.graph, &functions, layout);
    if (!plan) {
      ADD_FAILURE() << "seed " << seed << ": no plan: " << plan.error().message;
      return true;
    }
    for (ThreadPool *threads : {static_cast<ThreadPool *>(nullptr), &pool})
      for (int again = 0; again < 2; ++again) {
        Ran ran = execute(**plan, threads);
        EXPECT_EQ(difference(ran, expected, reference.variables), "")
            << "seed " << seed << (layout == Layout::Chosen ? "" : ", only dataflow")
            << (threads ? ", with threads" : "");
      }
  }
  return true;
}

TEST_P(RandomPrograms, MeanWhatTheReferenceSays) {
  int64_t count = numPrograms(), certain = 0;
  for (int64_t i = 0; i < count && !HasFailure(); ++i)
    certain += check(firstSeed() + static_cast<unsigned>(i));
  EXPECT_GT(certain, count / 2);
}

INSTANTIATE_TEST_SUITE_P(, RandomPrograms,
                         testing::Values("Plain", "Failures", "Waiting", "Deadness",
                                         "LookingIntoLoops"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace treadle::test
