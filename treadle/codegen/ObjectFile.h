// Compiles functions to an object file and a C header, for programs without the compiler.
#pragma once

#include "treadle/codegen/Cluster.h"
#include "treadle/runtime/Denormals.h"
#include "treadle/runtime/InstructionSet.h"

#include <utility>

namespace treadle::codegen {

/// An input or output of a function.
struct ObjectValue {
  std::string name;   // as used in messages
  std::string member; // in the C structure
  DType dtype = DType::Invalid;
  PartialShape shape;
};

/// The code for a class of shapes: valid if these dimensions (an input and one of its dimensions)
/// are 1.
struct ObjectVariant {
  TensorProgram program;
  std::vector<std::pair<uint32_t, uint32_t>> ones;
};

struct ObjectFunction {
  std::string symbol; // in C
  std::string title;  // as used in comments and messages
  std::vector<ObjectValue> inputs, outputs;
  std::vector<ObjectVariant> variants; // in the order in which they are tried
};

/// The target processor: this one, a requested level, or any AArch64. Also tells whether the object
/// names the kernels that it calls, so that a program can be linked statically with only these, and
/// how its functions treat denormal numbers.
struct ObjectTarget {
  std::optional<InstructionSet> level = std::nullopt;
  bool isAArch64 = false;
  bool isStatic = false;
  Denormals denormals = Denormals::Flush;
};

/// Compiles the functions. The object depends on libtreadle_runtime (see Program.h), and on the C
/// and math libraries.
Expected<std::string> objectFile(std::vector<ObjectFunction> functions, const ObjectTarget &target);

/// Declares the functions for C and C++. `name`: of the model; `guard`: an identifier; `isStatic`:
/// the object is to be linked with the archive.
std::string headerText(const std::vector<ObjectFunction> &functions, const std::string &name,
                       const std::string &guard, bool isStatic);

} // namespace treadle::codegen
