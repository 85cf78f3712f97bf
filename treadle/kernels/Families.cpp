#include "treadle/kernels/Families.h"

#include "treadle/kernels/KernelLevels.h"
#include "treadle/runtime/InstructionSet.h"

namespace treadle {

namespace {

struct KernelLevel {
  InstructionSet set;
  void (*families)(KernelFamilies &);
};

// The lowest first. (An array must have an element: the last one is none.)
constexpr KernelLevel kernelLevels[] = {
#define TREADLE_KERNEL_LEVEL(level) {InstructionSet::level, treadleKernels_##level},
#include "treadle/kernels/Levels.inc"
#undef TREADLE_KERNEL_LEVEL
    {InstructionSet::X86_64_V2, nullptr}};

} // namespace

KernelFamilies kernelFamilies() {
  const KernelFamilies everybodys = familiesOfRooms();
  KernelFamilies best = everybodys;
  for (const KernelLevel &level : kernelLevels) {
    if (!level.families || level.set > instructionSet())
      continue;
    KernelFamilies own;
    level.families(own);
    for (size_t i = 0; i < best.size(); ++i)
      if (own[i].data() != everybodys[i].data()) // else the level has no table of its own
        best[i] = own[i];
  }
  return best;
}

const KernelRegistry &builtinKernels() {
  static const KernelRegistry *registry = [] {
    auto *all = new KernelRegistry;
    for (std::span<const KernelEntry> family : kernelFamilies())
      all->add(family);
    all->add(tensorFunctionKernels());
    all->add(rowFunctionKernels());
    return all;
  }();
  return *registry;
}

} // namespace treadle
