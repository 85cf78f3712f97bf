// Functions as an object file and a C header, for programs without the compiler.
#pragma once

#include "treadle/codegen/Cluster.h"

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

/// Compiles the functions for this machine's CPU, or the level that is asked for. The object refers
/// to libtreadle_runtime (see Program.h), and to the C and math libraries.
Expected<std::string> objectFile(std::vector<ObjectFunction> functions);

/// Declares the functions for C and C++. `name`: of the model; `guard`: an identifier.
std::string headerText(const std::vector<ObjectFunction> &functions, const std::string &name,
                       const std::string &guard);

} // namespace treadle::codegen
