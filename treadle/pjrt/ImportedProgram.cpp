#include "treadle/pjrt/ImportedProgram.h"

#include "treadle/graph/GraphImpl.h"
#include "treadle/import/File.h"
#include "treadle/import/stablehlo/Import.h"
#include "treadle/pjrt/ResultSharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include <algorithm>

namespace treadle::pjrt {

namespace {

/// Reads the attributes of a program's module before it becomes a graph.
class InterfaceReader {
public:
  explicit InterfaceReader(ImportedProgram &program) : program(program) {}

  Expected<void> read(mlir::ModuleOp module);
  Expected<void> complete(const Graph::Signature &main);

private:
  Expected<void> readBody(mlir::ModuleOp module);
  Expected<ProgramValue> value(mlir::ModuleOp module, mlir::Type type, mlir::DictionaryAttr attrs);
  static Expected<void> complete(ProgramValue &value, const Graph::Value &found);

  ImportedProgram &program;
};

} // namespace

Expected<void> InterfaceReader::readBody(mlir::ModuleOp module) {
  bool isFed = false;
  module.walk([&](mlir::Operation *op) {
    program.hasExchanges |= dependsOnDevice(op);
    isFed |= llvm::is_contained({"infeed", "outfeed"}, op->getName().stripDialect());
  });
  if (isFed)
    return Unexpected(
        unimplemented("programs with an infeed or an outfeed can't run on a device; load them with "
                      "treadle.load, which makes these arguments and results"));
  return {};
}

Expected<ProgramValue> InterfaceReader::value(mlir::ModuleOp module, mlir::Type type,
                                              mlir::DictionaryAttr attrs) {
  ProgramValue made;
  llvm::raw_string_ostream(made.type) << type;
  made.isToken = mlir::isa<mlir::NoneType>(type);
  auto ranked = mlir::dyn_cast<mlir::RankedTensorType>(type);
  int64_t rank = ranked ? ranked.getRank() : 0;
  made.sharding = hlo::Sharding::replicated(rank, program.devices);
  mlir::Attribute sharding = attrs ? attrs.get("sdy.sharding") : mlir::Attribute();
  if (sharding && program.devices > 1)
    made.sharding = TREADLE_TRY(hlo::Sharding::read(sharding, module, rank, program.devices));
  made.mayOverwrite = attrs && (attrs.get("tf.aliasing_output") || attrs.get("jax.buffer_donor"));
  auto kind = attrs ? attrs.getAs<mlir::StringAttr>("mhlo.memory_kind") : mlir::StringAttr();
  made.memoryKind = kind ? kind.str() : "device";
  return made;
}

Expected<void> InterfaceReader::read(mlir::ModuleOp module) {
  constexpr int64_t maxDevices = 1 << 10;
  program.name = module.getName().value_or("program").str();
  if (auto count = module->getAttrOfType<mlir::IntegerAttr>("mhlo.num_partitions"))
    program.devices = count.getInt();
  if (program.devices < 1 || program.devices > maxDevices)
    return Unexpected(invalidArgument("the program is for ", program.devices,
                                      " partitions, expected 1 to ", maxDevices));
  TREADLE_TRY(readBody(module));
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  if (!main)
    return {};
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    program.arguments.push_back(
        TREADLE_TRY(value(module, main.getArgumentTypes()[i], main.getArgAttrDict(i))));
  ResultShardings shardings(main, program.devices);
  for (unsigned i = 0; i < main.getNumResults(); ++i) {
    mlir::DictionaryAttr attrs = main.getResultAttrDict(i);
    program.results.push_back(TREADLE_TRY(value(module, main.getResultTypes()[i], attrs)));
    if (!attrs || !attrs.get("sdy.sharding"))
      program.results.back().sharding = shardings.of(i);
  }
  return {};
}

Expected<void> InterfaceReader::complete(ProgramValue &value, const Graph::Value &found) {
  if (!found.hasRank || !std::ranges::all_of(found.dims, [](int64_t dim) { return dim >= 0; }))
    return Unexpected(unimplemented("programs with dynamic sizes, such as that of '", found.name,
                                    "', can't run on a device; load them with treadle.load"));
  value.name = found.name;
  value.dtype = found.dtype;
  value.dims = value.shardDims = found.dims;
  if (value.isToken)
    return {};
  if (value.sharding.tiles.size() != value.dims.size())
    return Unexpected(invalidArgument("'", found.name, "' has a different rank than its sharding"));
  for (size_t i = 0; i < value.dims.size(); ++i) {
    if (value.dims[i] % value.sharding.tiles[i])
      return Unexpected(unimplemented("a dimension of ", value.dims[i], " can't be split into ",
                                      value.sharding.tiles[i], " equal parts"));
    value.shardDims[i] /= value.sharding.tiles[i];
  }
  return {};
}

Expected<void> InterfaceReader::complete(const Graph::Signature &main) {
  const auto numFed =
      static_cast<size_t>(std::ranges::count(program.arguments, false, &ProgramValue::isToken));
  if (main.inputs.size() != numFed || main.outputs.size() < program.results.size())
    return Unexpected(invalidArgument("the program has no function @main"));
  auto input = main.inputs.begin();
  for (ProgramValue &argument : program.arguments)
    if (!argument.isToken)
      TREADLE_TRY(complete(argument, (input++)->second));
  for (size_t i = 0; i < main.outputs.size(); ++i) {
    program.fetches.push_back(main.outputs[i].second.name);
    if (i < program.results.size())
      TREADLE_TRY(complete(program.results[i], main.outputs[i].second));
  }
  return {};
}

Expected<ImportedProgram> readProgram(std::string_view code) {
  ImportedProgram program;
  InterfaceReader interface(program);
  Expected<void> isRead;
  auto context = makeContext();
  auto module = importProgram(*context, code, [&](mlir::ModuleOp given) {
    isRead = interface.read(given);
    return mlir::success(isRead && mlir::succeeded(importStableHlo(given)));
  });
  if (!isRead)
    return Unexpected(std::move(isRead.error()));
  program.graph.impl =
      std::make_shared<const Graph::Impl>(std::move(context), TREADLE_TRY(std::move(module)));
  std::vector<Graph::Signature> signatures = program.graph.signatures();
  if (signatures.size() != 1)
    return Unexpected(invalidArgument("the program isn't StableHLO"));
  TREADLE_TRY(interface.complete(signatures.front()));
  return program;
}

} // namespace treadle::pjrt
