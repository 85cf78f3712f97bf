// Functions as an object file and a C header, for programs without the compiler.
#pragma once

#include "treadle/codegen/Cluster.h"
#include "treadle/runtime/InstructionSet.h"

#include <utility>

namespace treadle::codegen {

/// An input or output of a function.
struct ObjectValue {
  std::string name;   // as messages say it
  std::string member; // of the C structure
  DType dtype = DType::Invalid;
  PartialShape shape;
};

/// The code for a class of shapes: good where these dimensions (an input, a dimension of it) are 1.
struct ObjectVariant {
  TensorProgram program;
  std::vector<std::pair<uint32_t, uint32_t>> ones;
};

struct ObjectFunction {
  std::string symbol; // in C
  std::string title;  // as comments and messages say it
  std::vector<ObjectValue> inputs, outputs;
  std::vector<ObjectVariant> variants; // in the order in which they are to be tried
};

/// For which processor: this one, the level that is asked for, or any of AArch64; and whether the
/// object names the kernels that it calls, so that a program may be linked with these alone.
struct ObjectTarget {
  std::optional<InstructionSet> level = std::nullopt;
  bool isAArch64 = false;
  bool isStatic = false;
};

/// Compiles the functions. The object refers to libtreadle_runtime (see Program.h), and to the C
/// and math libraries.
Expected<std::string> objectFile(std::vector<ObjectFunction> functions, const ObjectTarget &target);

/// Declares the functions for C and C++. `name`: of the model; `guard`: an identifier; `isStatic`:
/// of an object that is linked with the archive.
std::string headerText(const std::vector<ObjectFunction> &functions, const std::string &name,
                       const std::string &guard, bool isStatic);

} // namespace treadle::codegen
