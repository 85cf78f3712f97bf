#include "treadle/kernels/Families.h"

#include "treadle/kernels/KernelLevels.h"
#include "treadle/runtime/OpAliases.h"
#include "treadle/tensor/Error.h"

#include <algorithm>

namespace treadle {

namespace {

struct KernelLevel {
  InstructionSet set;
  const KernelFamily *const *families;
};

// Lowest first. (An array must have an element: the last entry is a placeholder.)
constexpr KernelLevel kernelLevels[] = {
#define TREADLE_KERNEL_LEVEL(level) {InstructionSet::level, &treadleKernels_##level},
#include "treadle/kernels/Levels.inc"
#undef TREADLE_KERNEL_LEVEL
    {InstructionSet::X86_64_V2, nullptr}};

/// Calls `visit(baseline, best, level)` for each kernel table: the version for all processors, and
/// the version of the highest level up to `highest` that has one. Runs no code of any level.
template <typename Visit> void forEachKernelTable(InstructionSet highest, const Visit &visit) {
  for (size_t i = 0; i < std::size(compiledFamilies); ++i) {
    const KernelFamily &baselineFamily = compiledFamilies[i];
    const KernelFamily *best = &baselineFamily;
    InstructionSet of = InstructionSet::X86_64_V2;
    for (const KernelLevel &level : kernelLevels)
      if (level.families && level.set <= highest)
        if (const KernelFamily &own = (*level.families)[i]; own.table != baselineFamily.table) {
          best = &own;
          of = level.set;
        }
    visit(baselineFamily, *best, of);
  }
}

} // namespace

std::vector<std::span<const KernelEntry>> kernelFamilies() {
  std::vector<std::span<const KernelEntry>> families;
  forEachKernelTable(instructionSet(), [&](const KernelFamily &, const KernelFamily &best,
                                           InstructionSet) { families.push_back(best.table()); });
  return families;
}

std::string kernelTableSymbol(std::string_view op, InstructionSet level) {
  std::string symbol;
  forEachKernelTable(
      level, [&](const KernelFamily &baselineFamily, const KernelFamily &best, InstructionSet set) {
        std::span<const KernelEntry> table = baselineFamily.table();
        if (std::ranges::find(table, op, &KernelEntry::op) == table.end())
          return;
        std::string_view function = baselineFamily.function;
        symbol = best.table == baselineFamily.table
                     ? str("_ZN7treadle", function.size(), function, "Ev")
                     : str(instructionSetName(set), ".", function);
      });
  return symbol;
}

const KernelRegistry &builtinKernels() {
  static const KernelRegistry *registry = [] {
    auto *all = new KernelRegistry;
    for (std::span<const KernelEntry> family : kernelFamilies())
      all->add(family);
    all->add(tensorFunctionKernels());
    all->add(rowFunctionKernels());
    all->add(datasetFunctionKernels());
    addOpAliases(*all);
    return all;
  }();
  return *registry;
}

} // namespace treadle
