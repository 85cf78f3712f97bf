#include "treadle/codegen/ObjectFile.h"
#include "treadle/codegen/MachineCode.h"
#include "treadle/codegen/Program.h"
#include "treadle/kernels/Families.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

#include <cstddef>

using namespace llvm;

namespace treadle::codegen {
namespace {

// The emitted constants are read as these structures.
static_assert(sizeof(ProgramValue) == 24 && offsetof(ProgramValue, dims) == 16);
static_assert(sizeof(ProgramConstant) == 32 && offsetof(ProgramConstant, data) == 24);
static_assert(sizeof(ProgramVariant) == 56 && offsetof(ProgramVariant, ones) == 48);
static_assert(sizeof(ProgramFunction) == 80 && offsetof(ProgramFunction, denormals) == 72);

/// Smaller constants are stored in the tables of each variant.
constexpr size_t largeConstant = 1024;

/// Builds the LLVM module of an object file.
class ObjectBuilder {
public:
  ObjectBuilder(TargetMachine &target, const ObjectTarget &wanted)
      : target(target), wanted(wanted), module("treadle", context), linker(module), b(context),
        pointer(PointerType::get(context, 0)) {
    module.setTargetTriple(target.getTargetTriple());
    module.setDataLayout(target.createDataLayout());
    module.setPICLevel(PICLevel::BigPIC);
  }

  Expected<void> add(ObjectFunction &function);
  Expected<std::string> finish() {
    return toObject(module, target).map([](std::unique_ptr<MemoryBuffer> object) {
      return object->getBuffer().str();
    });
  }

private:
  Expected<Constant *> variant(ObjectVariant &variant, const std::string &symbol);
  SmallVector<Constant *> takeLarge(std::vector<Tensor> &constants);
  Constant *value(const ObjectValue &value);
  void addEntry(const std::string &symbol, Constant *program);

  Constant *u32(uint64_t value) { return b.getInt32(static_cast<uint32_t>(value)); }
  Constant *global(Constant *initializer, bool isConstant = true, Align align = Align(8)) {
    auto *made = new GlobalVariable(module, initializer->getType(), isConstant,
                                    GlobalValue::PrivateLinkage, initializer);
    made->setAlignment(align);
    return made;
  }
  Constant *text(StringRef value) { return global(ConstantDataArray::getString(context, value)); }
  Constant *record(ArrayRef<Constant *> fields) { return ConstantStruct::getAnon(context, fields); }
  Constant *array(ArrayRef<Constant *> records) {
    if (records.empty())
      return ConstantPointerNull::get(pointer);
    auto *type = ArrayType::get(records.front()->getType(), records.size());
    return global(ConstantArray::get(type, records));
  }

  Constant *kernelTables(const ObjectFunction &function, size_t &count);

  TargetMachine &target;
  const ObjectTarget wanted;
  LLVMContext context;
  Module module;
  Linker linker;
  IRBuilder<> b;
  PointerType *pointer;
  /// Large constants, keyed by the address of their elements.
  DenseMap<const void *, std::pair<Tensor, Constant *>> large;
};

/// Moves large constants from a table into the object, each of them once.
SmallVector<Constant *> ObjectBuilder::takeLarge(std::vector<Tensor> &constants) {
  SmallVector<Constant *> records;
  for (auto [i, tensor] : enumerate(constants)) {
    bool isPlain = tensor.dtype() != DType::String && dtypeSize(tensor.dtype()) != 0 &&
                   tensor.dtype() != DType::Resource && tensor.dtype() != DType::Variant;
    if (!isPlain || tensor.bytes() < largeConstant)
      continue;
    auto &[held, elements] = large[tensor.raw()];
    if (!elements || held.bytes() != tensor.bytes()) {
      StringRef bytes(static_cast<const char *>(tensor.raw()), tensor.bytes());
      elements =
          global(ConstantDataArray::getString(context, bytes, /*AddNull=*/false), true, Align(64));
      held = tensor;
    }
    SmallVector<uint64_t> dims(tensor.dims().begin(), tensor.dims().end());
    records.push_back(
        record({u32(i), u32(static_cast<uint64_t>(tensor.dtype())), b.getInt64(dims.size()),
                dims.empty() ? ConstantPointerNull::get(pointer)
                             : global(ConstantDataArray::get(context, dims)),
                elements}));
    tensor = Tensor::scalar<uint8_t>(DType::UInt8, 0);
  }
  return records;
}

Expected<Constant *> ObjectBuilder::variant(ObjectVariant &variant, const std::string &symbol) {
  TREADLE_TRY(lower(variant.program));
  SmallVector<Constant *> constants = takeLarge(variant.program.tables.constants);
  std::string tables = TREADLE_TRY(tablesToBytes(variant.program.tables));
  std::unique_ptr<Module> code = TREADLE_TRY(toLlvm(*variant.program.module, context, target));
  for (Function &function : *code)
    if (!function.isDeclaration())
      function.setLinkage(GlobalValue::InternalLinkage); // variants have functions with the same
                                                         // names
  Function *cluster = code->getFunction("cluster");
  cluster->setName(symbol);
  cluster->setLinkage(GlobalValue::ExternalLinkage);
  if (linker.linkInModule(std::move(code)))
    return Unexpected(internal("linking the function '", symbol, "' failed"));
  Function *entry = module.getFunction(symbol);
  entry->setLinkage(GlobalValue::InternalLinkage);
  std::vector<uint32_t> ones;
  for (auto [input, dim] : variant.ones)
    ones.insert(ones.end(), {input, dim});
  Constant *bytes =
      global(ConstantDataArray::getString(context, tables, /*AddNull=*/false), true, Align(64));
  return record({entry, bytes, b.getInt64(tables.size()), b.getInt64(constants.size()),
                 array(constants), b.getInt64(variant.ones.size()),
                 ones.empty() ? ConstantPointerNull::get(pointer)
                              : global(ConstantDataArray::get(context, ones))});
}

Constant *ObjectBuilder::value(const ObjectValue &value) {
  uint64_t rank = value.shape.hasRank ? value.shape.dims.size() : static_cast<uint64_t>(-1);
  SmallVector<uint64_t> dims(value.shape.dims.begin(), value.shape.dims.end());
  return record({text(value.name), u32(static_cast<uint64_t>(value.dtype)), u32(rank),
                 dims.empty() ? ConstantPointerNull::get(pointer)
                              : global(ConstantDataArray::get(context, dims))});
}

/// Adds `int32_t symbol(const inputs *, outputs *, treadle_error *)`, and the function that frees
/// the outputs.
void ObjectBuilder::addEntry(const std::string &symbol, Constant *program) {
  auto *type = FunctionType::get(b.getInt32Ty(), {pointer, pointer, pointer}, false);
  auto *entry = Function::Create(type, GlobalValue::ExternalLinkage, symbol, module);
  auto runType = FunctionType::get(b.getInt32Ty(), {pointer, pointer, pointer, pointer}, false);
  FunctionCallee run = module.getOrInsertFunction(
      wanted.isStatic ? "treadle_run_static_function" : "treadle_run_function", runType);
  b.SetInsertPoint(BasicBlock::Create(context, "", entry));
  b.CreateRet(b.CreateCall(run, {program, entry->getArg(0), entry->getArg(1), entry->getArg(2)}));
}

/// Returns the kernel table functions of the families that the function uses, each once.
Constant *ObjectBuilder::kernelTables(const ObjectFunction &function, size_t &count) {
  InstructionSet level =
      wanted.isAArch64 ? InstructionSet::X86_64_V2 : wanted.level.value_or(instructionSet());
  SetVector<Constant *> tables;
  auto *type = FunctionType::get(StructType::get(pointer, b.getInt64Ty()), false);
  for (const ObjectVariant &each : function.variants)
    for (const KernelCall &call : each.program.tables.kernels)
      tables.insert(cast<Constant>(
          module.getOrInsertFunction(kernelTableSymbol(call.op, level), type).getCallee()));
  count = tables.size();
  return array(tables.getArrayRef());
}

Expected<void> ObjectBuilder::add(ObjectFunction &function) {
  SmallVector<Constant *> variants, inputs, outputs;
  for (auto [i, each] : enumerate(function.variants)) {
    Constant *made = TREADLE_TRY(variant(each, str(function.symbol, "_variant_", i)));
    variants.push_back(made);
  }
  size_t numTables = 0;
  Constant *tables =
      wanted.isStatic ? kernelTables(function, numTables) : ConstantPointerNull::get(pointer);
  for (const ObjectValue &input : function.inputs)
    inputs.push_back(value(input));
  for (const ObjectValue &output : function.outputs)
    outputs.push_back(value(output));
  Constant *program =
      record({u32(programAbi), u32(inputs.size()), u32(outputs.size()), u32(variants.size()),
              text(function.title), array(inputs), array(outputs), array(variants),
              ConstantPointerNull::get(pointer), b.getInt64(numTables), tables,
              b.getInt64(static_cast<uint64_t>(wanted.denormals))});
  addEntry(function.symbol, global(program, /*isConstant=*/false));
  return {};
}

} // namespace

Expected<std::string> objectFile(std::vector<ObjectFunction> functions,
                                 const ObjectTarget &wanted) {
  std::unique_ptr<TargetMachine> target =
      TREADLE_TRY(wanted.isAArch64 ? aarch64LinkTarget() : linkTarget(wanted.level));
  ObjectBuilder builder(*target, wanted);
  for (ObjectFunction &function : functions)
    TREADLE_TRY(builder.add(function));
  return builder.finish();
}

} // namespace treadle::codegen
