#include "treadle/runtime/InstructionSet.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace treadle {
namespace {

struct Level {
  std::string_view name;
  InstructionSet set;
  bool (*isSupported)();
};

constexpr Level levels[] = {
#ifdef __x86_64__
    {"x86-64-v2", InstructionSet::X86_64_V2, [] { return true; }},
    {"x86-64-v3", InstructionSet::X86_64_V3,
     [] { return __builtin_cpu_supports("x86-64-v3") != 0; }},
    {"x86-64-v4", InstructionSet::X86_64_V4,
     [] { return __builtin_cpu_supports("x86-64-v4") != 0; }},
#else
    {"baseline", InstructionSet::X86_64_V2, [] { return true; }},
#endif
};

InstructionSet findHighest() {
  InstructionSet highest = levels[0].set;
  for (const Level &level : levels)
    if (level.isSupported())
      highest = level.set;
  return highest;
}

std::string namesUpTo(InstructionSet highest) {
  std::string names;
  for (const Level &level : levels)
    if (level.set <= highest)
      names += (names.empty() ? "" : ", ") + std::string(level.name);
  return names;
}

Expected<std::optional<InstructionSet>> readRequest() {
  const char *text = std::getenv("TREADLE_CPU");
  if (!text || !*text)
    return std::nullopt;
  return findInstructionSet(text, processorInstructionSet()).transform([](InstructionSet set) {
    return std::optional(set);
  });
}

} // namespace

std::optional<InstructionSet> instructionSetOf(std::string_view name) {
  const Level *found = std::ranges::find(levels, name, &Level::name);
  return found == std::end(levels) ? std::nullopt : std::optional(found->set);
}

std::string instructionSetNames() { return namesUpTo(std::rbegin(levels)->set); }

Expected<InstructionSet> findInstructionSet(std::string_view name, InstructionSet highest) {
  if (auto found = instructionSetOf(name); found && *found <= highest)
    return *found;
  return Unexpected(invalidArgument("TREADLE_CPU is '", name, "', but this processor has ",
                                    instructionSetName(highest), "; expected one of ",
                                    namesUpTo(highest)));
}

std::string_view instructionSetName(InstructionSet set) {
  return std::ranges::find(levels, set, &Level::set)->name;
}

InstructionSet processorInstructionSet() {
  static const InstructionSet highest = findHighest();
  return highest;
}

const Expected<std::optional<InstructionSet>> &requestedInstructionSet() {
  static const Expected<std::optional<InstructionSet>> request = readRequest();
  return request;
}

InstructionSet instructionSet() {
  const auto &request = requestedInstructionSet();
  return request && *request ? **request : processorInstructionSet();
}

} // namespace treadle
