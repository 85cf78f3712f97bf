// compileToObject: compiles functions of a graph, specialized for classes of shapes.
#include "treadle/Compile.h"
#include "treadle/graph/Dependencies.h"
#include "treadle/graph/GraphImpl.h"
#include "treadle/graph/VariableName.h"
#include "treadle/object_files/VariableReads.h"
#include "treadle/session/Pipelines.h"

#include "treadle/analysis/effects/Effects.h"
#include "treadle/analysis/shapes/TypeShapes.h"
#include "treadle/codegen/ObjectFile.h"
#include "treadle/import/SavedModel.h"
#include "treadle/kernels/Families.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/runtime/ValueName.h"
#include "treadle/tensor/Suggestions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>

using namespace mlir;

namespace treadle {
namespace {

using Values = std::vector<std::pair<std::string, Graph::Value>>;

/// A function to compile, with the user's names of its inputs and outputs.
struct FunctionSpec {
  std::string symbol, title;
  Values inputs, outputs;

  Request request() const {
    Request request;
    for (const auto &[key, value] : inputs)
      request.feeds.push_back(value.name);
    for (const auto &[key, value] : outputs)
      request.fetches.push_back(value.name);
    return request;
  }
};

constexpr const char *functionName = "compiled_function";
/// Higher than for the JIT, since ahead-of-time compilation runs once.
constexpr int64_t maxUnrolled = 25'000;
/// Up to this many unknown dimensions get specializations for each subset being 1; with more, for
/// all or none.
constexpr size_t maxSubsets = 2;

// --- names -------------------------------------------------------------------------------------

bool isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name[0]) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// Returns a C identifier derived from `name` that isn't taken yet.
std::string identifier(StringRef name, llvm::StringSet<> &taken) {
  static const llvm::StringSet<> keywords = {
      "asm",     "auto",     "bool",     "break",   "case",      "catch",  "char",     "class",
      "const",   "continue", "default",  "delete",  "do",        "double", "else",     "enum",
      "export",  "extern",   "false",    "float",   "for",       "friend", "goto",     "if",
      "inline",  "int",      "long",     "mutable", "namespace", "new",    "none",     "operator",
      "or",      "and",      "not",      "private", "protected", "public", "register", "return",
      "short",   "signed",   "sizeof",   "static",  "struct",    "switch", "template", "this",
      "throw",   "true",     "try",      "typedef", "typename",  "union",  "unsigned", "using",
      "virtual", "void",     "volatile", "while",   "xor"};
  std::string made;
  for (char c : name)
    made += llvm::isAlnum(c) ? c : '_';
  if (made.empty() || llvm::isDigit(made[0]) || keywords.contains(made))
    made = "value_" + made;
  std::string unique = made;
  for (int i = 1; !taken.insert(unique).second; ++i)
    unique = str(made, "_", i);
  return unique;
}

std::string withoutPort(const std::string &name) {
  return StringRef(name).ends_with(":0") ? name.substr(0, name.size() - 2) : name;
}

// --- options -----------------------------------------------------------------------------------

PartialShape shapeOfType(Type type) {
  PartialShape shape;
  if (auto ranked = dyn_cast<RankedTensorType>(type)) {
    shape.hasRank = true;
    for (int64_t dim : ranked.getShape())
      shape.dims.push_back(ShapedType::isDynamic(dim) ? -1 : dim);
  }
  return shape;
}

/// Returns the graph's shape, with unknown dimensions as inferred by compilation.
PartialShape refineShape(PartialShape stated, const PartialShape &compiled) {
  if (!stated.hasRank || !compiled.hasRank || stated.dims.size() != compiled.dims.size())
    return compiled.hasRank ? compiled : stated;
  for (auto [dim, known] : llvm::zip(stated.dims, compiled.dims))
    dim = dim < 0 ? known : dim;
  return stated;
}

/// Looks up a tensor of the graph, `x:0` or `x`.
Expected<std::pair<std::string, Graph::Value>> valueNamed(const ModuleIndex &index,
                                                          const std::string &text) {
  ValueName name = TREADLE_TRY(parseValueName(text));
  if (!name.iterations.empty())
    return Unexpected(unimplemented(
        "'", text, "' refers to an iteration of a loop, which compiled code can't return"));
  tfg::Node node = index.node(name.node);
  if (!node)
    return Unexpected(invalidArgument("'", text, "' refers to node '", name.node,
                                      "', which isn't in the graph", index.suggestions(name.node)));
  if (name.output >= static_cast<int>(node.numResults()))
    return Unexpected(invalidArgument("'", text, "': node '", name.node, "' has ",
                                      node.numResults(), " outputs"));
  Type type = node->getResult(name.output).getType();
  PartialShape shape = feedShape(index, name.node);
  if (!shape.hasRank)
    shape = shapeOfType(type);
  Graph::Value value{str(name.node, ":", name.output),
                     valueTypeOf(getElementTypeOrSelf(type)).dtype, shape.hasRank, shape.dims};
  return std::pair(withoutPort(value.name), std::move(value));
}

Expected<Values> valuesNamed(const ModuleIndex &index, const std::vector<std::string> &names) {
  Values values;
  for (const std::string &name : names) {
    auto value = TREADLE_TRY(valueNamed(index, name));
    values.push_back(std::move(value));
  }
  return values;
}

/// Returns the placeholders that the fetches need.
Expected<std::vector<std::string>> placeholdersFor(const Graph &graph,
                                                   const std::vector<std::string> &fetches) {
  const ModuleIndex &index = graph.impl->index();
  return dependenciesOf(index, fetches).map([&](const std::set<Operation *> &needed) {
    std::vector<std::string> names;
    for (const Graph::Value &input : graph.inputs())
      if (tfg::Node node = index.node(StringRef(input.name).split(':').first);
          node && needed.contains(node.getOperation()))
        names.push_back(input.name);
    return names;
  });
}

Expected<FunctionSpec> specOfGraph(const Graph &graph, const ObjectOptions &options) {
  std::vector<std::string> fetches = options.fetches, feeds = options.feeds;
  if (fetches.empty())
    for (const Graph::Value &output : graph.outputs())
      fetches.push_back(output.name);
  if (fetches.empty())
    return Unexpected(
        invalidArgument("the graph has no output that can be compiled; choose one with --fetch"));
  FunctionSpec spec{options.name + "_run", options.name, {}, {}};
  Values outputs = TREADLE_TRY(valuesNamed(graph.impl->index(), fetches));
  spec.outputs = std::move(outputs);
  if (feeds.empty()) {
    std::vector<std::string> needed = TREADLE_TRY(placeholdersFor(graph, fetches));
    feeds = std::move(needed);
  }
  Values inputs = TREADLE_TRY(valuesNamed(graph.impl->index(), feeds));
  spec.inputs = std::move(inputs);
  return spec;
}

Expected<std::vector<FunctionSpec>> specsOfModel(const Model &model, const ObjectOptions &options) {
  std::vector<std::string> names = options.signatures;
  if (names.empty())
    for (const Graph::Signature &signature : model.signatures())
      names.push_back(signature.name);
  if (names.empty())
    return Unexpected(
        invalidArgument("the model has no signatures; choose what to compile with --fetch"));
  std::vector<FunctionSpec> all;
  llvm::StringSet<> taken;
  for (const std::string &name : names) {
    const Graph::Signature *signature = TREADLE_TRY(model.signature(name));
    all.push_back({identifier(options.name + "_" + name, taken), name, signature->inputs,
                   signature->outputs});
  }
  return all;
}

// --- checks ------------------------------------------------------------------------------------

Expected<void> checkValues(const FunctionSpec &spec, const Values &values, const char *what) {
  for (const auto &[key, value] : values) {
    bool isPlain = value.dtype != DType::String && value.dtype != DType::Resource &&
                   value.dtype != DType::Variant && dtypeSize(value.dtype) != 0;
    if (!isPlain)
      return Unexpected(unimplemented(what, " '", key, "' of '", spec.title, "' is ",
                                      dtypeName(value.dtype), ", which C functions don't support"));
  }
  return {};
}

/// Returns the node with the actual effects: the node itself, or one in a function that it calls.
tfg::Node nodeWithEffects(tfg::Node node, const tfg::EffectAnalysis &effects,
                          const ModuleIndex &index, int depth = 0) {
  auto writes = [&](tfg::Node inner) {
    return llvm::any_of(effects.of(inner), [](tfg::Effect effect) { return effect.writes; });
  };
  tfg::Node found;
  if (depth < 32)
    tfg::forEachFunctionName(node, [&](StringRef name) {
      tfg::FuncOp function = index.function(name);
      if (found || !function || function->getRegion(0).empty())
        return;
      for (Operation &op : function.getEntry().without_terminator())
        if (!found && tfg::Node::isNode(&op) && writes(tfg::Node(&op)))
          found = nodeWithEffects(tfg::Node(&op), effects, index, depth + 1);
    });
  return found ? found : node;
}

Error unknownOp(tfg::Node node) {
  std::string op = node.opType().str();
  std::vector<std::string_view> names;
  for (const OpDef &known : allOps())
    names.push_back(known.name());
  return unimplemented("op '", op, "' is neither known nor a function of the graph",
                       didYouMean(op, names))
      .atNode(node.name().str(), op);
}

/// Returns an error for nodes with side effects: compiled functions only compute outputs from
/// inputs.
Expected<void> checkNodes(ModuleOp module, tfg::FuncOp function, const ModuleIndex &index) {
  tfg::EffectAnalysis effects(module);
  SmallVector<Operation *> work = {function.getEntry().getTerminator()};
  std::set<Operation *> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    for (Value input : op->getOperands())
      if (Operation *from = input.getDefiningOp(); from && seen.insert(from).second)
        work.push_back(from);
    if (!tfg::Node::isNode(op))
      continue;
    tfg::Node node(op);
    if (tfg::isPlaceholder(node) && node.numData() == 0)
      return Unexpected(invalidArgument("it is not an input of the function; add it to --feed")
                            .atNode(node.name().str(), node.opType().str()));
    if (llvm::any_of(effects.of(node), [](tfg::Effect effect) { return effect.writes; })) {
      tfg::Node writer = nodeWithEffects(node, effects, index);
      if (!lookupOp(writer.opType()) && !index.function(writer.opType()))
        return Unexpected(unknownOp(writer));
      return Unexpected(
          unimplemented(
              "it has side effects, which compiled functions can't have; use 'treadle run'")
              .atNode(writer.name().str(), writer.opType().str()));
    }
  }
  return {};
}

// --- classes of shapes -------------------------------------------------------------------------

using Dimension = std::pair<uint32_t, uint32_t>; // of an input

/// Returns the set of unknown dimensions that are 1 in each variant. The last variant handles all
/// shapes, except broadcasting of dimensions that turn out to be 1.
std::vector<std::vector<Dimension>> variantsFor(const FunctionSpec &spec) {
  std::vector<Dimension> unknown;
  for (const auto &[i, input] : llvm::enumerate(spec.inputs))
    for (const auto &[d, dim] : llvm::enumerate(input.second.dims))
      if (dim < 0)
        unknown.emplace_back(i, d);
  if (unknown.size() > maxSubsets)
    return {unknown, {}};
  std::vector<std::vector<Dimension>> variants;
  for (size_t set = size_t(1) << unknown.size(); set-- > 0;) {
    variants.emplace_back();
    for (size_t i = 0; i < unknown.size(); ++i)
      if (set >> i & 1)
        variants.back().push_back(unknown[i]);
  }
  llvm::stable_sort(variants, [](const auto &a, const auto &b) { return a.size() > b.size(); });
  return variants;
}

std::vector<codegen::ArgumentClass> classesFor(const FunctionSpec &spec,
                                               const std::vector<Dimension> &ones) {
  std::vector<codegen::ArgumentClass> classes;
  for (const auto &[key, value] : spec.inputs) {
    codegen::ArgumentClass one{value.dtype, value.hasRank, {}};
    for (int64_t dim : value.dims)
      one.sizes.push_back(dim == 1 ? 1 : one.any);
    classes.push_back(std::move(one));
  }
  for (auto [input, dim] : ones)
    classes[input].sizes[dim] = 1;
  return classes;
}

std::vector<codegen::ObjectValue> objectValues(const Values &values) {
  std::vector<codegen::ObjectValue> out;
  llvm::StringSet<> taken;
  for (const auto &[key, value] : values)
    out.push_back(
        {key, identifier(key, taken), value.dtype, PartialShape{value.hasRank, value.dims}});
  return out;
}

// --- compilation -------------------------------------------------------------------------------

/// Returns the value of the variable that a VarHandleOp refers to.
Tensor variableOf(tfg::Node node, const std::vector<std::pair<std::string, Tensor>> &variables) {
  std::string name = variableName(node);
  auto it = std::ranges::find(variables, name, [](const auto &variable) { return variable.first; });
  return it == variables.end() ? Tensor() : it->second;
}

Expected<void> checkKernels(const codegen::ClusterTables &tables) {
  for (const codegen::KernelCall &call : tables.kernels)
    if (Expected<BoundKernel> kernel = codegen::bindKernel(call, builtinKernels()); !kernel)
      return Unexpected(std::move(kernel.error()));
  return {};
}

class Compilation {
public:
  Compilation(const Session &session, bool fastMath) : session(session), fastMath(fastMath) {}

  Expected<codegen::ObjectFunction> compile(const FunctionSpec &spec);

private:
  Expected<tfg::FuncOp> lift(const FunctionSpec &spec);
  Expected<codegen::TensorProgram> translate(tfg::FuncOp function, const FunctionSpec &spec,
                                             const std::vector<Dimension> &ones);

  const Session &session;
  const bool fastMath;
  const std::vector<std::pair<std::string, Tensor>> variables = session.variables();
  // Contexts of the modules.
  std::vector<std::unique_ptr<MLIRContext>> contexts;
  std::vector<OwningOpRef<ModuleOp>> modules;
  std::unique_ptr<ModuleIndex> index;
};

/// Extracts a function with these inputs and outputs from a copy of the graph.
Expected<tfg::FuncOp> Compilation::lift(const FunctionSpec &spec) {
  modules.push_back(session.graph().impl->copy());
  SmallVector<ModuleOp> models = metaGraphs(*modules.back());
  ModuleOp module = models.empty() ? *modules.back() : models.front();
  Request request = spec.request();
  std::string names;
  for (const auto &[what, values] :
       {std::pair("feeds", &request.feeds), std::pair("fetches", &request.fetches)})
    if (!values->empty())
      names += str(" ", what, "=", llvm::join(*values, ","));
  std::vector<std::string> kept = request.feeds;
  kept.insert(kept.end(), request.fetches.begin(), request.fetches.end());
  for (std::string &name : kept)
    name = nodeOf(name);
  std::string pipeline =
      str(pruningTo(request), ",tfg-v1-to-functional{keep=", llvm::join(kept, ","),
          "},tfg-lift-graph-to-func{name=", functionName, names, "}");
  if (Expected<void> ok = runOn(module, pipeline); !ok)
    return Unexpected(internal("the graph can't be prepared: ", ok.error().message));
  separateVariableReads(module);
  index = std::make_unique<ModuleIndex>(module);
  tfg::FuncOp function = index->function(functionName);
  if (!function)
    return Unexpected(internal("the graph can't be prepared: it produced no function"));
  return checkNodes(module, function, *index).map([&] { return function; });
}

Expected<codegen::TensorProgram> Compilation::translate(tfg::FuncOp function,
                                                        const FunctionSpec &spec,
                                                        const std::vector<Dimension> &ones) {
  codegen::TranslationOptions options;
  options.callsPython = false;
  options.maxUnrolled = maxUnrolled;
  options.fastMath = fastMath;
  options.variable = [&](tfg::Node node) { return variableOf(node, variables); };
  codegen::FindFunction find = [&](StringRef name) { return index->function(name); };
  contexts.push_back(std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED));
  return codegen::translate(function, classesFor(spec, ones), find, *contexts.back(), options)
      .and_then([](codegen::TensorProgram program) -> Expected<codegen::TensorProgram> {
        TREADLE_TRY(checkKernels(program.tables));
        return program;
      });
}

Expected<codegen::ObjectFunction> Compilation::compile(const FunctionSpec &spec) {
  for (auto [what, values] : {std::pair("input", &spec.inputs), std::pair("output", &spec.outputs)})
    TREADLE_TRY(checkValues(spec, *values, what));
  tfg::FuncOp lifted = TREADLE_TRY(lift(spec));
  codegen::ObjectFunction made{
      spec.symbol, spec.title, objectValues(spec.inputs), objectValues(spec.outputs), {}};
  for (const std::vector<Dimension> &ones : variantsFor(spec)) {
    Expected<codegen::TensorProgram> program = translate(lifted, spec, ones);
    if (!program && !ones.empty())
      continue; // the general variant reports the error or succeeds
    if (!program)
      return Unexpected(std::move(program.error()));
    if (ones.empty()) {
      auto cluster = program->module->lookupSymbol<func::FuncOp>("cluster");
      for (auto [output, type] : llvm::zip(made.outputs, cluster.getResultTypes()))
        output.shape = refineShape(output.shape, shapeOfType(type));
    }
    made.variants.push_back({std::move(*program), ones});
  }
  return made;
}

Expected<codegen::ObjectTarget> targetOf(const ObjectOptions &options) {
  codegen::ObjectTarget target{.isStatic = options.isStatic, .denormals = options.denormals};
  target.isAArch64 = options.target == "aarch64" || options.target == "aarch64-linux-gnu";
  if (target.isAArch64 || options.target.empty())
    return target;
  target.level = instructionSetOf(options.target);
  if (!target.level)
    return Unexpected(invalidArgument("target '", options.target, "' is unknown, expected one of ",
                                      instructionSetNames(), ", aarch64"));
  return target;
}

} // namespace

Expected<ObjectCode> compileToObject(const Graph &graph, const ObjectOptions &options) {
  if (!isIdentifier(options.name))
    return Unexpected(
        invalidArgument("name '", options.name,
                        "' is not a valid prefix of C names; expected letters, digits and _"));
  codegen::ObjectTarget target = TREADLE_TRY(targetOf(options));
  SessionOptions plain;
  plain.threads = 1;
  plain.loopOverlap = LoopOverlap::Off;
  std::vector<FunctionSpec> all;
  std::optional<Session> session;
  bool isModel = (graph.isSavedModel() || !graph.signatures().empty());
  if (isModel) {
    Model model = TREADLE_TRY(Model::create(graph, plain));
    session = model.session();
    if (options.fetches.empty()) {
      auto spec = TREADLE_TRY(specsOfModel(model, options));
      all = std::move(spec);
    }
  } else {
    Session made = TREADLE_TRY(Session::create(graph, plain));
    session = std::move(made);
    if (!options.signatures.empty())
      return Unexpected(invalidArgument(
          "the graph is not from a SavedModel, so it has no signatures; use --fetch"));
  }
  if (all.empty()) {
    FunctionSpec spec = TREADLE_TRY(specOfGraph(session->graph(), options));
    all.push_back(std::move(spec));
  }
  Compilation compilation(*session, options.fastMath);
  std::vector<codegen::ObjectFunction> functions;
  for (const FunctionSpec &spec : all) {
    codegen::ObjectFunction function = TREADLE_TRY(compilation.compile(spec));
    functions.push_back(std::move(function));
  }
  std::string guard = llvm::StringRef(options.name).upper() + "_H";
  std::string header = codegen::headerText(functions, options.name, guard, options.isStatic);
  return codegen::objectFile(std::move(functions), target).map([&](std::string object) {
    return ObjectCode{std::move(object), std::move(header)};
  });
}

} // namespace treadle
