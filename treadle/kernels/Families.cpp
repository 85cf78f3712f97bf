#include "treadle/kernels/Families.h"

#include "treadle/kernels/KernelLevels.h"
#include "treadle/tensor/Error.h"

#include <algorithm>

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

/// Calls `visit(i, table, level)` for the tables of family `i` that levels up to `highest` have of
/// their own, the lowest first.
template <typename Visit> void forEachOwnTable(InstructionSet highest, const Visit &visit) {
  const KernelFamilies everybodys = familiesOfRooms();
  for (const KernelLevel &level : kernelLevels) {
    if (!level.families || level.set > highest)
      continue;
    KernelFamilies own;
    level.families(own);
    for (size_t i = 0; i < own.size(); ++i)
      if (own[i].data() != everybodys[i].data())
        visit(i, own[i], level.set);
  }
}

} // namespace

KernelFamilies kernelFamilies() {
  KernelFamilies best = familiesOfRooms();
  forEachOwnTable(instructionSet(), [&](size_t i, std::span<const KernelEntry> table,
                                        InstructionSet) { best[i] = table; });
  return best;
}

std::string kernelTableSymbol(std::string_view op, InstructionSet level) {
  size_t i = 0;
  for (std::span<const KernelFamily> room : kernelRooms)
    for (const KernelFamily &family : room) {
      size_t at = i++;
      if (std::ranges::find(family.table(), op, &KernelEntry::op) == family.table().end())
        continue;
      std::string symbol = str("_ZN7treadle", family.function.size(), family.function, "Ev");
      forEachOwnTable(level, [&](size_t own, std::span<const KernelEntry>, InstructionSet set) {
        if (own == at)
          symbol = str(instructionSetName(set), ".", family.function);
      });
      return symbol;
    }
  return {};
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
