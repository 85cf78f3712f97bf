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
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
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

/// The LLVM state shared by all compilations of a process.
class LlvmHost {
public:
  static Expected<LlvmHost *> get() {
    // Never destroyed: code may be in use while static objects are destroyed.
    static LlvmHost &machine = *new LlvmHost;
    if (!machine.jit)
      return Unexpected(internal("LLVM has no target for this machine: ", machine.failure));
    return &machine;
  }

  /// Creates a target machine for this process.
  std::unique_ptr<TargetMachine> newTarget() { return create(*builder); }

  /// Returns a builder for this processor, or for a level.
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
    of.setCPU(std::string(instructionSetName(level))); // LLVM uses the same level names
    of.getFeatures() = SubtargetFeatures();
  }

  std::string description() const {
    return str(builder->getTargetTriple().str(), " ", builder->getCPU(), " ",
               builder->getFeatures().getString());
  }

  std::unique_ptr<orc::LLJIT> jit;
  std::atomic<unsigned> modules{0};

private:
  LlvmHost() {
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
    // Errors are returned to the caller instead of being printed.
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

/// Returns a target for object files that are linked by a linker.
Expected<std::unique_ptr<TargetMachine>> linkTargetOf(orc::JITTargetMachineBuilder builder) {
  builder.setRelocationModel(Reloc::PIC_).setCodeModel(CodeModel::Small);
  std::unique_ptr<TargetMachine> target = LlvmHost::create(builder);
  if (!target)
    return Unexpected(internal("LLVM has no target '", builder.getTargetTriple().str(), "'"));
  return target;
}

/// Returns the vector math functions that code for a target may call.
std::vector<VecDesc> vectorFunctions(const TargetMachine &target) {
  if (target.getTargetTriple() != Triple(sys::getProcessTriple()))
    return {}; // libmvec is only available on the host
  // A requested target is an instruction set level.
  return vectorMathDescriptions(
      instructionSetOf(target.getTargetCPU().str()).value_or(instructionSet()));
}

/// Instruction count of a loop body above which iterations are interleaved: each is a chain of
/// dependent operations.
constexpr size_t minInterleavedBody = 28;

size_t lengthOf(const Loop &loop) {
  size_t length = 0;
  for (const BasicBlock *block : loop.blocks())
    length += block->size();
  return length;
}

/// Marks the loops around calls of the marker as free of dependences between iterations.
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
    SmallMapVector<Loop *, unsigned, 8> marked; // with the number of marked steps in each
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
      if (steps == 1 && lengthOf(*loop) > minInterleavedBody) {
        properties.push_back(MDNode::get(
            context, {MDString::get(context, "llvm.loop.interleave.count"),
                      ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(context), 4))}));
        // Such a loop is too long to unroll, and finding that out takes time.
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

/// Above this size, LLVM's full pipeline takes tens of seconds: some of its passes are superlinear.
constexpr unsigned maxFullPipelineInstructions = 10'000;

/// Block size above which the register allocator and the scheduler are superlinear.
constexpr size_t maxFullPipelineBlock = 2'000;

/// Block size above which the SLP vectorizer isn't used: a thousand instructions take seconds.
constexpr size_t maxSlpBlock = 400;

size_t longestBlock(const Module &module) {
  size_t longest = 0;
  for (const Function &function : module)
    for (const BasicBlock &block : function)
      longest = std::max(longest, block.size());
  return longest;
}

/// The passes that pay off for loops from tensor code, which is in SSA form, calls only runtime
/// functions, and has few branches. LLVM's default pipeline takes about 1.5 times as long for
/// equally fast code.
constexpr StringRef cleaning = "function(replace-with-veclib,sroa,early-cse<memssa>,simplifycfg,"
                               "instcombine<no-verify-fixpoint>,"
                               "loop-mssa(loop-rotate,licm),simplifycfg)";
constexpr StringRef vectorizing = "function(loop(loop-idiom,indvars,loop-deletion,"
                                  "loop-unroll-full),gvn,inject-tli-mappings,loop-vectorize)";
constexpr char finishing[] = "function({0}instcombine<no-verify-fixpoint>,early-cse,"
                             "loop-unroll<O2>,instcombine<no-verify-fixpoint>,"
                             "loop-mssa(licm),simplifycfg)";

/// For code with many calls and branches: passes that are linear in its size. Loops are still
/// vectorized, since they would be slower than the interpreter's kernels otherwise.
constexpr StringRef quickPipeline =
    "function(replace-with-veclib,sroa,early-cse<memssa>,simplifycfg,instsimplify,"
    "loop-mssa(loop-rotate,licm),adce,inject-tli-mappings,"
    "loop-vectorize,simplifycfg)";

void forEachLoop(Module &module, FunctionAnalysisManager &analyses,
                 llvm::function_ref<void(Function &, Loop &)> visit) {
  for (Function &function : module)
    if (!function.isDeclaration())
      for (Loop *loop : analyses.getResult<LoopAnalysis>(function).getLoopsInPreorder())
        visit(function, *loop);
}

constexpr const char *noUnrolling = "llvm.loop.unroll.disable", *deferredMark = "treadle.held",
                     *vectorWidth = "llvm.loop.vectorize.width";

/// Returns the number of the widest elements that a loop accesses in a vector; 0 if vectors may not
/// pay off: the loop has branches, calls functions, divides integers, or accesses elements that
/// aren't neighbours.
unsigned lanesOf(const Loop &loop, ScalarEvolution &evolution) {
  constexpr unsigned vectorBits = 256;
  const DataLayout &layout = loop.getHeader()->getDataLayout();
  unsigned widest = vectorBits; // in bits; `vectorBits` if there are no accesses
  bool hasAccess = false;
  if (loop.getNumBlocks() != 1)
    return 0;
  for (Instruction &instruction : *loop.getHeader()) {
    if ((isa<CallBase>(instruction) && !isa<IntrinsicInst>(instruction)) ||
        instruction.isIntDivRem())
      return 0;
    Value *pointer = getLoadStorePointerOperand(&instruction);
    if (!pointer)
      continue;
    const SCEV *address = evolution.getSCEV(pointer);
    const TypeSize bits = layout.getTypeSizeInBits(getLoadStoreType(&instruction));
    const auto *places = dyn_cast<SCEVAddRecExpr>(address);
    const auto *step = places && places->getLoop() == &loop
                           ? dyn_cast<SCEVConstant>(places->getStepRecurrence(evolution))
                           : nullptr;
    const bool isNext = step && step->getAPInt() == divideCeil(bits.getFixedValue(), 8);
    if (!isNext && !evolution.isLoopInvariant(address, &loop))
      return 0;
    widest = std::max<unsigned>(hasAccess ? widest : 8, bits.getFixedValue());
    hasAccess = true;
  }
  return vectorBits / widest;
}

/// Prepares loops to be vectorized before they are unrolled: the SLP vectorizer would have to find
/// the vectors again. Sets the width where it leaves no remainder, since comparing widths takes
/// most of the vectorizer's time.
void prepareVectorization(Module &module, FunctionAnalysisManager &analyses) {
  constexpr unsigned maxLanes = 8;
  forEachLoop(module, analyses, [&](Function &function, Loop &loop) {
    if (!loop.isInnermost() || getBooleanLoopAttribute(&loop, noUnrolling))
      return;
    auto &evolution = analyses.getResult<ScalarEvolutionAnalysis>(function);
    const unsigned count = evolution.getSmallConstantTripCount(&loop);
    const unsigned lanes = lanesOf(loop, evolution);
    if (lanes > 1 && count && count % lanes == 0)
      addStringMetadataToLoop(&loop, vectorWidth, lanes);
    if (!count || count % maxLanes)
      return;
    addStringMetadataToLoop(&loop, noUnrolling, 1);
    addStringMetadataToLoop(&loop, deferredMark, 1);
    // A copy of the loop for each iteration of an outer one only takes time.
    for (Loop *outer = loop.getParentLoop(); outer; outer = outer->getParentLoop())
      if (!getBooleanLoopAttribute(outer, noUnrolling))
        addStringMetadataToLoop(outer, noUnrolling, 1);
  });
}

/// Allows unrolling of the loops that were held.
void allowUnrolling(Module &module, FunctionAnalysisManager &analyses) {
  forEachLoop(module, analyses, [&](Function &, Loop &loop) {
    if (getBooleanLoopAttribute(&loop, deferredMark))
      loop.setLoopID(makePostTransformationMetadata(module.getContext(), loop.getLoopID(),
                                                    {noUnrolling, deferredMark}, {}));
  });
}

using CancelFlag = const std::atomic<bool> *;

bool isSet(CancelFlag flag) { return flag && flag->load(std::memory_order_relaxed); }

/// Ignores remarks: the vectorizer writes one for each loop of a given width that it can't change.
struct SilentRemarks : DiagnosticHandler {
  bool handleDiagnostics(const DiagnosticInfo &info) override {
    return info.getSeverity() == DS_Remark;
  }
};

void optimize(Module &module, TargetMachine &target, CancelFlag isCancelled) {
  module.getContext().setDiagnosticHandler(std::make_unique<SilentRemarks>());
  size_t longest = longestBlock(module);
  bool isLarge =
      module.getInstructionCount() > maxFullPipelineInstructions || longest > maxFullPipelineBlock;
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
  prepareVectorization(module, functionAnalyses);
  run(vectorizing);
  allowUnrolling(module, functionAnalyses);
  run(formatv(finishing, longest > maxSlpBlock ? "" : "slp-vectorizer,").str());
}

Expected<std::unique_ptr<MemoryBuffer>> objectOf(Module &module, TargetMachine &target) {
  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  if (target.addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile))
    return Unexpected(internal("LLVM can't write object files for this target"));
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
    return Unexpected(internal("compilation failed: the code can't be translated to LLVM IR"));
  translated->setTargetTriple(target.getTargetTriple());
  translated->setDataLayout(target.createDataLayout());
  for (Function &function : *translated)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", target.getTargetCPU());
      function.addFnAttr("target-features", target.getTargetFeatureString());
      function.addFnAttr("prefer-vector-width", "256");
      // The session's option decides when the code runs.
      function.addFnAttr("denormal-fp-math", "dynamic,dynamic");
      // Newton steps would make 1 / sqrt(0) NaN, which fast math doesn't allow either.
      function.addFnAttr("reciprocal-estimates", "none");
    }
  markParallelLoops(*translated);
  return translated;
}

Expected<std::unique_ptr<MemoryBuffer>> toObject(Module &module, TargetMachine &target,
                                                 CancelFlag isCancelled, MeteredCode *metered) {
  optimize(module, target, isCancelled);
  if (isSet(isCancelled))
    return Unexpected(cancelled("the compilation was cancelled"));
  if (metered)
    metered->instrument(module);
  return objectOf(module, target);
}

Expected<std::unique_ptr<TargetMachine>> linkTarget(std::optional<InstructionSet> level) {
  LlvmHost *machine = TREADLE_TRY(LlvmHost::get());
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
  return LlvmHost::get().map([](LlvmHost *machine) { return machine->description(); });
}

Expected<std::unique_ptr<MemoryBuffer>> generate(mlir::ModuleOp module, CancelFlag isCancelled,
                                                 MeteredCode *metered) {
  LlvmHost *machine = TREADLE_TRY(LlvmHost::get());
  std::unique_ptr<TargetMachine> target = machine->newTarget();
  if (!target)
    return Unexpected(internal("LLVM has no target for this machine"));
  LLVMContext context;
  std::unique_ptr<Module> translated = TREADLE_TRY(toLlvm(module, context, *target));
  return toObject(*translated, *target, isCancelled, metered);
}

Expected<std::unique_ptr<MachineCode>> load(std::unique_ptr<MemoryBuffer> object) {
  LlvmHost *machine = TREADLE_TRY(LlvmHost::get());
  orc::LLJIT &jit = *machine->jit;
  auto library = jit.createJITDylib(str("cluster", machine->modules++));
  if (!library)
    return Unexpected(internal("linking failed: ", textOf(library.takeError())));
  library->addToLinkOrder(jit.getMainJITDylib());
  // The code is removed when its last user is gone.
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
