#include "treadle/codegen/MachineCode.h"
#include "treadle/codegen/CFunctions.h"
#include "treadle/codegen/VectorMath.h"
#include "treadle/runtime/InstructionSet.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

#include <mutex>

using namespace llvm;

namespace treadle::codegen {
namespace {

std::string textOf(llvm::Error error) { return toString(std::move(error)); }

/// What all compilations of a process share.
class Machine {
public:
  static Expected<Machine *> get() {
    // Never destroyed: code may be in use while other static objects go.
    static Machine &machine = *new Machine;
    if (!machine.jit)
      return Unexpected(internal("there is no compiler for this machine: ", machine.failure));
    return &machine;
  }

  /// For this process.
  std::unique_ptr<TargetMachine> newTarget() { return create(*builder); }

  /// Of this process, or of a level.
  orc::JITTargetMachineBuilder builderFor(std::optional<InstructionSet> level) const {
    orc::JITTargetMachineBuilder own = *builder;
    if (level)
      setLevel(own, *level);
    return own;
  }

  static std::unique_ptr<TargetMachine> create(orc::JITTargetMachineBuilder &own) {
    auto target = own.createTargetMachine();
    if (target)
      return std::move(*target);
    consumeError(target.takeError());
    return nullptr;
  }

  static void setLevel(orc::JITTargetMachineBuilder &of, InstructionSet level) {
    of.setCPU(std::string(instructionSetName(level))); // LLVM has the levels' names, too
    of.getFeatures() = SubtargetFeatures();
  }

  std::string description() const {
    return str(builder->getTargetTriple().str(), " ", builder->getCPU(), " ",
               builder->getFeatures().getString());
  }

  std::unique_ptr<orc::LLJIT> jit;
  std::atomic<unsigned> modules{0};

private:
  Machine() {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    auto host = orc::JITTargetMachineBuilder::detectHost();
    if (!host) {
      failure = textOf(host.takeError());
      return;
    }
    builder = std::move(*host);
    if (const auto &request = requestedInstructionSet(); request && *request)
      setLevel(*builder, **request);
    builder->setCodeGenOptLevel(CodeGenOptLevel::Default);
    auto made = orc::LLJITBuilder().setJITTargetMachineBuilder(*builder).create();
    if (!made) {
      failure = textOf(made.takeError());
      return;
    }
    // Errors come back to who asked; nothing is printed.
    (*made)->getExecutionSession().setErrorReporter(
        [](llvm::Error error) { consumeError(std::move(error)); });
    auto &library = (*made)->getMainJITDylib();
    orc::SymbolMap symbols;
    for (const auto &functions : {runtimeFunctions(), cFunctions(), vectorMathFunctions()})
      for (const RuntimeFunction &function : functions)
        symbols[(*made)->mangleAndIntern(function.name)] = {
            orc::ExecutorAddr::fromPtr(function.address), JITSymbolFlags::Exported};
    if (auto error = library.define(orc::absoluteSymbols(std::move(symbols)))) {
      failure = textOf(std::move(error));
      return;
    }
    auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
        (*made)->getDataLayout().getGlobalPrefix());
    if (process)
      library.addGenerator(std::move(*process));
    else
      consumeError(process.takeError());
    jit = std::move(*made);
  }

  std::optional<orc::JITTargetMachineBuilder> builder;
  std::string failure;
};

/// For a linker's object files.
Expected<std::unique_ptr<TargetMachine>> linkTargetOf(orc::JITTargetMachineBuilder builder) {
  builder.setRelocationModel(Reloc::PIC_).setCodeModel(CodeModel::Small);
  std::unique_ptr<TargetMachine> target = Machine::create(builder);
  if (!target)
    return Unexpected(internal("there is no compiler for '", builder.getTargetTriple().str(), "'"));
  return target;
}

/// The functions for vectors that code for a target may call.
std::vector<VecDesc> vectorFunctions(const TargetMachine &target) {
  if (target.getTargetTriple() != Triple(sys::getProcessTriple()))
    return {}; // libmvec is this machine's
  // A target that was asked for is a level by its name.
  return vectorMathDescriptions(
      instructionSetOf(target.getTargetCPU().str()).value_or(instructionSet()));
}

/// Instructions of a loop's body beyond which its iterations, each a chain of operations that wait
/// for each other, are computed several side by side.
constexpr size_t longBody = 28;

size_t lengthOf(const Loop &loop) {
  size_t length = 0;
  for (const BasicBlock *block : loop.blocks())
    length += block->size();
  return length;
}

/// The loops around calls of the marker have no dependences between their iterations.
void markParallelLoops(Module &module) {
  Function *marker = module.getFunction("treadle.parallel");
  if (!marker)
    return;
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    SmallVector<CallInst *> calls;
    for (User *user : marker->users())
      if (auto *call = dyn_cast<CallInst>(user); call && call->getFunction() == &function)
        calls.push_back(call);
    if (calls.empty())
      continue;
    DominatorTree dominators(function);
    LoopInfo loops(dominators);
    LLVMContext &context = module.getContext();
    SmallMapVector<Loop *, unsigned, 8> marked; // with how many steps each writes out
    for (CallInst *call : calls) {
      if (Loop *loop = loops.getLoopFor(call->getParent()))
        ++marked[loop];
      call->eraseFromParent();
    }
    for (auto [loop, steps] : marked) {
      MDNode *group = MDNode::getDistinct(context, {});
      for (BasicBlock *block : loop->blocks())
        for (Instruction &instruction : *block)
          if (instruction.mayReadOrWriteMemory())
            instruction.setMetadata(LLVMContext::MD_access_group, group);
      MDNode *parallel =
          MDNode::get(context, {MDString::get(context, "llvm.loop.parallel_accesses"), group});
      SmallVector<Metadata *> properties = {nullptr, parallel};
      if (steps == 1 && lengthOf(*loop) > longBody) {
        properties.push_back(MDNode::get(
            context, {MDString::get(context, "llvm.loop.interleave.count"),
                      ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(context), 4))}));
        // It would be too long to unroll besides, and finding that out takes time.
        properties.push_back(
            MDNode::get(context, {MDString::get(context, "llvm.loop.unroll.disable")}));
      }
      MDNode *id = MDNode::getDistinct(context, properties);
      id->replaceOperandWith(0, id);
      loop->setLoopID(id);
    }
  }
  marker->eraseFromParent();
}

/// Beyond it LLVM's best takes tens of seconds: some of its passes are worse than linear.
constexpr unsigned manyInstructions = 10'000;

/// Within one block, the register allocator and the scheduler are so from here on.
constexpr size_t longBlock = 2'000;

/// And from here on what looks for vectors among the scalars of a block: a thousand take seconds.
constexpr size_t longForVectors = 400;

size_t longestBlock(const Module &module) {
  size_t longest = 0;
  for (const Function &function : module)
    for (const BasicBlock &block : function)
      longest = std::max(longest, block.size());
  return longest;
}

/// What pays for loops that come from tensor code: it is in SSA form, its calls are the runtime's,
/// and its branches few. LLVM's own pipeline takes about half as long again for code that runs as
/// fast.
constexpr StringRef cleaning = "function(sroa,early-cse<memssa>,simplifycfg,"
                               "instcombine<no-verify-fixpoint>,"
                               "loop-mssa(loop-rotate,licm),simplifycfg)";
constexpr StringRef vectorizing = "function(loop(loop-idiom,indvars,loop-deletion,"
                                  "loop-unroll-full),gvn,inject-tli-mappings,loop-vectorize)";
constexpr char finishing[] = "function({0}instcombine<no-verify-fixpoint>,early-cse,"
                             "loop-unroll<O2>,instcombine<no-verify-fixpoint>,"
                             "loop-mssa(licm),simplifycfg)";

/// For code of many calls and branches: what takes no more than a glance at each instruction. Loops
/// without vectors would be slower than the interpreter's kernels.
constexpr StringRef quickPipeline = "function(sroa,early-cse<memssa>,simplifycfg,instsimplify,"
                                    "loop-mssa(loop-rotate,licm),adce,inject-tli-mappings,"
                                    "loop-vectorize,simplifycfg)";

void forEachLoop(Module &module, FunctionAnalysisManager &analyses,
                 llvm::function_ref<void(Function &, Loop &)> visit) {
  for (Function &function : module)
    if (!function.isDeclaration())
      for (Loop *loop : analyses.getResult<LoopAnalysis>(function).getLoopsInPreorder())
        visit(function, *loop);
}

constexpr const char *noUnrolling = "llvm.loop.unroll.disable", *heldMark = "treadle.held";

/// Keeps loops that have no dependences, and as many iterations as fill vectors, from being written
/// out before they have vectors: those would be looked for among scalars.
void holdForVectors(Module &module, FunctionAnalysisManager &analyses) {
  constexpr unsigned lanes = 8;
  forEachLoop(module, analyses, [&](Function &function, Loop &loop) {
    if (!loop.isInnermost() || !loop.isAnnotatedParallel() ||
        getBooleanLoopAttribute(&loop, noUnrolling))
      return;
    auto &evolution = analyses.getResult<ScalarEvolutionAnalysis>(function);
    unsigned count = evolution.getSmallConstantTripCount(&loop);
    if (!count || count % lanes)
      return;
    addStringMetadataToLoop(&loop, noUnrolling, 1);
    addStringMetadataToLoop(&loop, heldMark, 1);
  });
}

/// Lets those that were held be written out.
void letGo(Module &module, FunctionAnalysisManager &analyses) {
  forEachLoop(module, analyses, [&](Function &, Loop &loop) {
    if (getBooleanLoopAttribute(&loop, heldMark))
      loop.setLoopID(makePostTransformationMetadata(module.getContext(), loop.getLoopID(),
                                                    {noUnrolling, heldMark}, {}));
  });
}

using CancelFlag = const std::atomic<bool> *;

bool isSet(CancelFlag flag) { return flag && flag->load(std::memory_order_relaxed); }

void optimize(Module &module, TargetMachine &target, CancelFlag isCancelled) {
  size_t longest = longestBlock(module);
  bool isLarge = module.getInstructionCount() > manyInstructions || longest > longBlock;
  if (isLarge)
    target.setOptLevel(CodeGenOptLevel::None);
  LoopAnalysisManager loopAnalyses;
  FunctionAnalysisManager functionAnalyses;
  CGSCCAnalysisManager callGraphAnalyses;
  ModuleAnalysisManager moduleAnalyses;
  PassInstrumentationCallbacks watchers;
  watchers.registerShouldRunOptionalPassCallback(
      [isCancelled](StringRef, Any) { return !isSet(isCancelled); });
  PassBuilder passes(&target, PipelineTuningOptions(), std::nullopt, &watchers);
  TargetLibraryInfoImpl library(target.getTargetTriple());
  library.addVectorizableFunctions(vectorFunctions(target));
  functionAnalyses.registerPass([&] { return TargetLibraryAnalysis(library); });
  passes.registerModuleAnalyses(moduleAnalyses);
  passes.registerCGSCCAnalyses(callGraphAnalyses);
  passes.registerFunctionAnalyses(functionAnalyses);
  passes.registerLoopAnalyses(loopAnalyses);
  passes.crossRegisterProxies(loopAnalyses, functionAnalyses, callGraphAnalyses, moduleAnalyses);
  auto run = [&](StringRef pipeline) {
    ModulePassManager manager;
    cantFail(passes.parsePassPipeline(manager, pipeline));
    manager.run(module, moduleAnalyses);
  };
  if (isLarge)
    return run(quickPipeline);
  run(cleaning);
  holdForVectors(module, functionAnalyses);
  run(vectorizing);
  letGo(module, functionAnalyses);
  run(formatv(finishing, longest > longForVectors ? "" : "slp-vectorizer,").str());
}

Expected<std::unique_ptr<MemoryBuffer>> objectOf(Module &module, TargetMachine &target) {
  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  if (target.addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile))
    return Unexpected(internal("this machine's compiler writes no objects"));
  passes.run(module);
  return std::unique_ptr<MemoryBuffer>(
      std::make_unique<SmallVectorMemoryBuffer>(std::move(object), "cluster"));
}

} // namespace

Expected<std::unique_ptr<Module>> toLlvm(mlir::ModuleOp module, LLVMContext &context,
                                         const TargetMachine &target) {
  mlir::registerBuiltinDialectTranslation(*module.getContext());
  mlir::registerLLVMDialectTranslation(*module.getContext());
  std::unique_ptr<Module> translated = mlir::translateModuleToLLVMIR(module, context);
  if (!translated)
    return Unexpected(internal("compiling failed: the code can't be translated"));
  translated->setTargetTriple(target.getTargetTriple());
  translated->setDataLayout(target.createDataLayout());
  for (Function &function : *translated)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", target.getTargetCPU());
      function.addFnAttr("target-features", target.getTargetFeatureString());
      function.addFnAttr("prefer-vector-width", "256");
      // Steps of Newton's make NaN of 1 / sqrt(0), which fast math doesn't allow either.
      function.addFnAttr("reciprocal-estimates", "none");
    }
  markParallelLoops(*translated);
  return translated;
}

Expected<std::unique_ptr<MemoryBuffer>> toObject(Module &module, TargetMachine &target,
                                                 CancelFlag isCancelled, MeteredCode *metered) {
  optimize(module, target, isCancelled);
  if (isSet(isCancelled))
    return Unexpected(cancelled("nobody wants what is compiled any more"));
  if (metered)
    metered->instrument(module);
  return objectOf(module, target);
}

Expected<std::unique_ptr<TargetMachine>> linkTarget(std::optional<InstructionSet> level) {
  Machine *machine = TREADLE_TRY(Machine::get());
  return linkTargetOf(machine->builderFor(level));
}

Expected<std::unique_ptr<TargetMachine>> aarch64LinkTarget() {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
  orc::JITTargetMachineBuilder any{Triple("aarch64-unknown-linux-gnu")};
  any.setCPU("generic");
  any.setCodeGenOptLevel(CodeGenOptLevel::Default);
  return linkTargetOf(std::move(any));
}

Expected<std::string> hostDescription() {
  return Machine::get().map([](Machine *machine) { return machine->description(); });
}

Expected<std::unique_ptr<MemoryBuffer>> generate(mlir::ModuleOp module, CancelFlag isCancelled,
                                                 MeteredCode *metered) {
  Machine *machine = TREADLE_TRY(Machine::get());
  std::unique_ptr<TargetMachine> target = machine->newTarget();
  if (!target)
    return Unexpected(internal("there is no compiler for this machine"));
  LLVMContext context;
  std::unique_ptr<Module> translated = TREADLE_TRY(toLlvm(module, context, *target));
  return toObject(*translated, *target, isCancelled, metered);
}

Expected<std::unique_ptr<MachineCode>> load(std::unique_ptr<MemoryBuffer> object) {
  Machine *machine = TREADLE_TRY(Machine::get());
  orc::LLJIT &jit = *machine->jit;
  auto library = jit.createJITDylib(str("cluster", machine->modules++));
  if (!library)
    return Unexpected(internal("linking failed: ", textOf(library.takeError())));
  library->addToLinkOrder(jit.getMainJITDylib());
  // Ends with the last user of the code.
  auto remove = [&jit](orc::JITDylib *gone) {
    consumeError(jit.getExecutionSession().removeJITDylib(*gone));
  };
  std::shared_ptr<orc::JITDylib> owner(&*library, remove);
  if (auto error = jit.addObjectFile(*library, std::move(object)))
    return Unexpected(internal("linking failed: ", textOf(std::move(error))));
  auto entry = jit.lookup(*library, "cluster");
  if (!entry)
    return Unexpected(internal("linking failed: ", textOf(entry.takeError())));
  return std::make_unique<MachineCode>(entry->toPtr<void *>(), owner);
}

} // namespace treadle::codegen
