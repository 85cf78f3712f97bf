// The vector functions of glibc's libmvec, with an error of at most 4 units in the last place.
// Names follow the vector function ABI: _ZGV, the instruction set (b: SSE4, d: AVX2, e: AVX-512), N
// for unmasked, the number of elements, a `v` for each argument, and the scalar function.
#include "treadle/codegen/VectorMath.h"
#include "treadle/runtime/InstructionSet.h"
#include "treadle/runtime/SharedLibrary.h"

#include <deque>
#include <string>

namespace treadle::codegen {
namespace {

struct MathFunction {
  const char *name;      // for doubles; the name for floats has an `f` appended
  const char *intrinsic; // the LLVM intrinsic; null if there is none
  const char *arguments = "v";
};

constexpr MathFunction functions[] = {
    {"exp", "llvm.exp"},
    {"log", "llvm.log"},
    {"sin", "llvm.sin"},
    {"cos", "llvm.cos"},
    {"tan", "llvm.tan"},
    {"tanh", "llvm.tanh"},
    {"sinh", "llvm.sinh"},
    {"cosh", "llvm.cosh"},
    {"expm1", nullptr},
    {"log1p", nullptr},
    {"erf", nullptr},
    {"erfc", nullptr},
    {"asin", "llvm.asin"},
    {"acos", "llvm.acos"},
    {"atan", "llvm.atan"},
    {"asinh", nullptr},
    {"acosh", nullptr},
    {"atanh", nullptr},
    {"atan2", "llvm.atan2", "vv"},
    {"pow", "llvm.pow", "vv"},
};

struct Variant {
  const char *letter;
  InstructionSet set;
  unsigned doubles; // number of elements; twice as many for floats
};
constexpr Variant variants[] = {{"b", InstructionSet::X86_64_V2, 2},
                                {"d", InstructionSet::X86_64_V3, 4},
                                {"e", InstructionSet::X86_64_V4, 8}};

struct Library {
  std::vector<std::pair<InstructionSet, llvm::VecDesc>> descriptions;
  std::vector<RuntimeFunction> found;

  Library() {
    library = openSharedLibrary("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return;
    for (const MathFunction &function : functions)
      for (const Variant &variant : variants)
        if (variant.set <= instructionSet())
          for (bool isFloat : {false, true})
            add(function, variant, isFloat);
  }

private:
  void *library;
  std::deque<std::string> names; // a deque: addresses must be stable

  const std::string &keep(std::string name) { return names.emplace_back(std::move(name)); }

  void add(const MathFunction &function, const Variant &variant, bool isFloat) {
    unsigned elements = isFloat ? 2 * variant.doubles : variant.doubles;
    const std::string &scalar = keep(std::string(function.name) + (isFloat ? "f" : ""));
    std::string prefix =
        std::string("_ZGV") + variant.letter + "N" + std::to_string(elements) + function.arguments;
    const std::string &vector = keep(prefix + "_" + scalar);
    void *address = dlsym(library, vector.c_str());
    if (!address)
      return;
    found.push_back({vector.c_str(), address});
    const std::string &abi = keep("_ZGV_LLVM_N" + std::to_string(elements) + function.arguments);
    auto count = llvm::ElementCount::getFixed(elements);
    descriptions.emplace_back(variant.set,
                              llvm::VecDesc(scalar, vector, count, false, abi, std::nullopt));
    if (function.intrinsic)
      descriptions.emplace_back(
          variant.set,
          llvm::VecDesc(keep(std::string(function.intrinsic) + (isFloat ? ".f32" : ".f64")), vector,
                        count, false, abi, std::nullopt));
  }
};

const Library &library() {
  static const Library loaded;
  return loaded;
}

} // namespace

std::vector<llvm::VecDesc> vectorMathDescriptions(InstructionSet level) {
  std::vector<llvm::VecDesc> descriptions;
  for (const auto &[set, description] : library().descriptions)
    if (set <= level)
      descriptions.push_back(description);
  return descriptions;
}
std::vector<RuntimeFunction> vectorMathFunctions() { return library().found; }

} // namespace treadle::codegen
