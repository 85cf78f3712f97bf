#include "treadle/pjrt/Program.h"

#include "treadle/graph/GraphImpl.h"
#include "treadle/import/File.h"
#include "treadle/pjrt/Callbacks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

namespace treadle::pjrt {

namespace {

/// What a program's module says before it is a graph.
struct Interface {
  std::string name;
  size_t numResults = 0;
  std::vector<bool> mayOverwrite, isTokenArgument, isTokenResult;
  std::vector<std::string> memoryKinds; // of results
  bool hasLoop = false, callsBack = false;

  void read(mlir::ModuleOp module);
};

} // namespace

void Interface::read(mlir::ModuleOp module) {
  name = module.getName().value_or("program").str();
  module.walk([&](mlir::Operation *op) {
    llvm::StringRef kind = op->getName().getStringRef();
    hasLoop |= kind == "stablehlo.while";
    if (auto target = op->getAttrOfType<mlir::StringAttr>("call_target_name"))
      callsBack |= std::string_view(target.getValue()) == callbackTarget;
  });
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  if (!main)
    return;
  numResults = main.getNumResults();
  for (mlir::Type type : main.getResultTypes())
    isTokenResult.push_back(mlir::isa<mlir::NoneType>(type));
  for (mlir::Type type : main.getArgumentTypes())
    isTokenArgument.push_back(mlir::isa<mlir::NoneType>(type));
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    mayOverwrite.push_back(main.getArgAttr(i, "tf.aliasing_output") ||
                           main.getArgAttr(i, "jax.buffer_donor"));
  for (unsigned i = 0; i < numResults; ++i) {
    auto kind = main.getResultAttrOfType<mlir::StringAttr>(i, "mhlo.memory_kind");
    memoryKinds.push_back(kind ? kind.str() : "device");
  }
}

static Expected<void> checkStatic(const Graph::Value &value) {
  if (value.hasRank && std::ranges::all_of(value.dims, [](int64_t dim) { return dim >= 0; }))
    return {};
  return Unexpected(unimplemented("programs with sizes that are open, as that of '", value.name,
                                  "', are for treadle.load; a device runs static ones"));
}

Expected<Program> readProgram(std::string_view code) {
  Interface interface;
  auto context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  auto module = TREADLE_TRY(
      importBytes(*context, code, [&](mlir::ModuleOp program) { interface.read(program); }));
  Program program;
  program.name = interface.name;
  program.hasLoop = interface.hasLoop;
  program.callsBack = interface.callsBack;
  program.graph.impl = std::make_shared<const Graph::Impl>(std::move(context), std::move(module));
  std::vector<Graph::Signature> signatures = program.graph.signatures();
  if (signatures.size() != 1)
    return Unexpected(invalidArgument("the program is no StableHLO"));
  const Graph::Signature &main = signatures.front();
  for (size_t i = 0; i < main.inputs.size(); ++i) {
    const Graph::Value &value = main.inputs[i].second;
    TREADLE_TRY(checkStatic(value));
    Program::Argument argument{value.name, value.dtype, value.dims};
    if (i < interface.mayOverwrite.size()) {
      argument.mayOverwrite = interface.mayOverwrite[i];
      argument.isToken = interface.isTokenArgument[i];
    }
    program.arguments.push_back(std::move(argument));
  }
  for (size_t i = 0; i < main.outputs.size(); ++i) {
    const Graph::Value &value = main.outputs[i].second;
    program.fetches.push_back(value.name);
    if (i >= interface.numResults)
      continue;
    TREADLE_TRY(checkStatic(value));
    program.results.push_back({value.name, value.dtype, value.dims, interface.memoryKinds[i],
                               interface.isTokenResult[i]});
  }
  return program;
}

} // namespace treadle::pjrt
