// Runs the random programs of the runtime's tests with their frames made structured where possible,
// including loops that are partly dead, whose nodes fail or wait, or that have fetches inside.
// TREADLE_STRESS_PROGRAMS sets their number; TREADLE_STRESS_SEED the first seed, to repeat a
// failure.
#include "treadle/graph/SharedContext.h"
#include "treadle/ops/OpTable.h"
#include "treadle/testing/TestProgram.h"
#include "treadle/testing/TestReference.h"
#include "treadle/testing/TestStress.h"
#include "treadle/transforms/PlanRewrites.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace treadle::test {
namespace {

// --- conversion to text --------------------------------------------------------------------------

std::string joined(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string_view elementOf(ValueType type) {
  return type.dtype == DType::Bool ? "i1" : type.dtype == DType::Float32 ? "f32" : "i32";
}

std::string typesOf(const std::vector<ValueType> &types) {
  std::vector<std::string> parts;
  for (ValueType type : types)
    parts.push_back(str("tensor<", elementOf(type), ">"));
  return joined(parts);
}

std::string elementsOf(std::span<const ValueType> types) {
  std::vector<std::string> parts;
  for (ValueType type : types)
    parts.emplace_back(elementOf(type));
  return "[" + joined(parts) + "]";
}

/// Returns the attributes that state types, and the names by which loops and functions are matched.
std::string attrsOf(const NodeSpec &node) {
  std::vector<std::string> attrs;
  std::span<const ValueType> inputs(node.inputTypes);
  if (node.op == "If" || node.op == "Case" || node.op == "For") {
    attrs.push_back(str("Tcond = ", elementOf(inputs[0])));
    inputs = inputs.subspan(node.op == "For" ? 3 : 1);
  }
  attrs.push_back("Tin = " + elementsOf(inputs));
  attrs.push_back("Tout = " + elementsOf(node.outputTypes));
  attrs.push_back(str("N = ", inputs.size(), " : i64"));
  bool isLoop = node.op == "While" || node.op == "For";
  if (isLoop)
    attrs.push_back("T = " + elementsOf(inputs));
  else if (!inputs.empty())
    attrs.push_back(str("T = ", elementOf(inputs[0])));
  else if (!node.outputTypes.empty())
    attrs.push_back(str("dtype = ", elementOf(node.outputTypes[0])));
  if (node.op == "Enter") {
    attrs.push_back(str("frame_name = \"", node.attrs.getOr<std::string>("frame_name", ""), "\""));
    attrs.push_back(
        str("is_constant = ", node.attrs.getOr("is_constant", false) ? "true" : "false"));
    attrs.push_back(str(
        "parallel_iterations = ", node.attrs.getOr<int64_t>("parallel_iterations", 10), " : i64"));
  }
  for (const FunctionRef &function : plan::calledFunctions(node))
    attrs.push_back(str("f", attrs.size(), " = #tf_type.func<@\"", function.name, "\", {}>"));
  return joined(attrs);
}

/// Returns a different op name where the test op has other inputs than TensorFlow's op of the same
/// name.
std::string opOf(const NodeSpec &node) {
  static const std::set<std::string> known = {"Const", "ControlTrigger", "Identity", "NoOp"};
  bool isPlain = opKind(node.op) == OpKind::Plain && !known.contains(node.op);
  return isPlain ? "Tests" + node.op : node.op;
}

std::string textOf(const GraphSpec &graph, size_t i) {
  const NodeSpec &node = graph.nodes[i];
  std::vector<std::string> inputs, tokens;
  for (Endpoint e : node.inputs) {
    bool isOnly = graph.nodes[e.node].outputTypes.size() == 1;
    inputs.push_back(isOnly ? str("%n", e.node) : str("%n", e.node, "#", e.output));
  }
  for (int32_t c : node.controls)
    tokens.push_back(str("%c", c));
  std::string results;
  if (size_t count = node.outputTypes.size())
    results = count == 1 ? str("%n", i, ", ") : str("%n", i, ":", count, ", ");
  std::string text = str("  ", results, "%c", i, " = \"tfg.", opOf(node), "\"(", joined(inputs));
  return str(text, inputs.empty() || tokens.empty() ? "" : ", ", joined(tokens),
             ") {_mlir_name = \"", node.name, "\", ", attrsOf(node), "} : (",
             typesOf(node.inputTypes), inputs.empty() || tokens.empty() ? "" : ", ",
             joined(std::vector<std::string>(tokens.size(), "!tf_type.control")), ") -> (",
             typesOf(node.outputTypes), node.outputTypes.empty() ? "" : ", ",
             "!tf_type.control)\n");
}

std::string textOf(const GraphSpec &graph) {
  std::string text = "tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {\n";
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    text += textOf(graph, i);
  return text + "}\n";
}

// --- runs ----------------------------------------------------------------------------------------

/// Restores the parts of the nodes that the text omits.
void complete(GraphSpec &graph, const std::map<std::string, const NodeSpec *> &originals) {
  for (NodeSpec &node : graph.nodes) {
    if (node.loop) {
      auto loop = std::make_shared<LoopSpec>(*node.loop);
      complete(loop->cond, originals);
      complete(loop->body, originals);
      node.loop = std::move(loop);
    } else if (auto it = originals.find(node.name); it != originals.end()) {
      node.op = it->second->op;
      node.attrs = it->second->attrs;
      node.isFunctionCall = it->second->isFunctionCall;
    }
  }
}

class RandomFrames : public testing::TestWithParam<const char *> {
protected:
  RandomFrames() {
    context.loadDialect<tfg::TfgDialect, tf_type::TfTypeDialect>();
    share(context);
  }

  ProgramShape shape() const { return ProgramShape::named(GetParam()); }

  /// Returns the program with its frames made structured.
  GraphSpec structured(const RandomGraph &program) {
    std::map<std::string, const NodeSpec *> originals;
    for (const NodeSpec &node : program.graph.nodes)
      originals[node.name] = &node;
    EXPECT_EQ(originals.size(), program.graph.nodes.size());
    auto module = mlir::parseSourceString<mlir::ModuleOp>(textOf(program.graph), &context);
    if (!module) {
      ADD_FAILURE() << textOf(program.graph);
      return {};
    }
    ModuleIndex index(*module);
    mlir::Block &body = index.graph()->getRegion(0).front();
    PrunedSubgraph part(body);
    for (mlir::Operation &op : body)
      part.need(&op);
    for (const ResultSpec &result : program.graph.results) {
      tfg::Node node = index.node(program.graph.nodes[result.from.node].name);
      mlir::Value value = node->getResult(result.from.output);
      part.addResult(value, {result.name, result.iterations, value.getType()});
    }
    planRewrites({})(part, index, *program.functions);
    Expected<GraphSpec> graph = lower(index, part);
    EXPECT_TRUE(graph) << graph.error().message;
    complete(*graph, originals);
    for (const NodeSpec &node : graph->nodes)
      numLoops += node.loop != nullptr;
    return std::move(*graph);
  }

  /// Returns false if the results of the program are ambiguous.
  bool check(unsigned seed) {
    std::mt19937 random(seed);
    RandomGraph program = randomProgram(random, shape());
    Reference reference(program.functions.get(), seed);
    ReferenceOutcome expected = reference.run(program.graph);
    if (expected.isTooLong || expected.isAmbiguous)
      return false;
    Expected<std::unique_ptr<Plan>> plan = build(structured(program), program.functions.get());
    EXPECT_TRUE(plan) << "seed " << seed << ": " << plan.error().message;
    for (ThreadPool *threads : {static_cast<ThreadPool *>(nullptr), &pool})
      if (plan)
        EXPECT_EQ(difference(execute(**plan, threads), expected, reference.variables), "")
            << "seed " << seed << (threads ? ", with threads" : "");
    return true;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  ThreadPool pool{3};
  int64_t numLoops = 0; // outermost loops that became structured
};

TEST_P(RandomFrames, MeanTheSameWithoutFrames) {
  int64_t count = numPrograms(200, 60), certain = 0;
  for (int64_t i = 0; i < count && !HasFailure(); ++i)
    certain += check(firstSeed() + static_cast<unsigned>(i));
  EXPECT_GT(certain, count / 2);
  EXPECT_GT(numLoops, 0);
  RecordProperty("loops", static_cast<int>(numLoops));
}

INSTANTIATE_TEST_SUITE_P(, RandomFrames,
                         testing::Values("Plain", "Failures", "Waiting", "Deadness",
                                         "LookingIntoLoops"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace treadle::test
