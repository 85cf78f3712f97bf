// Writes the C header of an object file.
#include "treadle/codegen/ObjectFile.h"
#include "treadle/codegen/Program.h"

namespace treadle::codegen {
namespace {

/// Declarations common to all such headers. A program may include several of them, and treadle/c.h,
/// which defines the same dtypes.
constexpr const char *common =
#include "treadle/codegen/Dtypes.inc"
    R"(
#ifndef TREADLE_TENSOR_DEFINED
#define TREADLE_TENSOR_DEFINED
#define TREADLE_MAX_RANK 8

/* Elements are in row-major order. Inputs: the caller owns `data`, which is only read, and only
   during the call; `owner` is ignored. Outputs: the library owns `data` until the outputs are
   freed; the caller may overwrite it until then. */
typedef struct treadle_tensor {
  void *data;
  int64_t dims[TREADLE_MAX_RANK]; /* the first `rank` are used */
  int32_t rank;
  int32_t dtype; /* enum treadle_dtype */
  void *owner;
} treadle_tensor;

/* gRPC status codes: 3 invalid argument, 8 out of memory, 12 not implemented. */
typedef struct treadle_error {
  int32_t code; /* 0: no error */
  char message[508];
} treadle_error;

#ifdef __cplusplus
extern "C" {
#endif
void treadle_free_outputs(treadle_tensor *outputs, uint64_t count);
#ifdef __cplusplus
}
#endif
#endif
)";

/// Escapes text for a comment.
std::string inComment(std::string text) {
  for (char &c : text)
    if (c == '*' || c == '\\' || static_cast<unsigned char>(c) < ' ')
      c = '_';
  return text;
}

std::string structText(const ObjectFunction &function, const char *kind,
                       const std::vector<ObjectValue> &values) {
  std::string text = str("typedef struct ", function.symbol, "_", kind, " {\n");
  for (const ObjectValue &value : values)
    text += str("  treadle_tensor ", value.member, "; /* ", inComment(value.name), ": ",
                dtypeName(value.dtype), value.shape.hasRank ? value.shape.text() : " of any shape",
                " */\n");
  if (values.empty())
    text += "  char none;\n";
  return text + str("} ", function.symbol, "_", kind, ";\n\n");
}

constexpr std::string_view linkWithLibrary =
    "Link with -LDIR -Wl,-rpath,DIR -ltreadle_runtime -lm,\n"
    "   where DIR is the folder of libtreadle_runtime.so. With the Python package, DIR is the\n"
    "   folder of the package, and -l:libtreadle.so.0 replaces -ltreadle_runtime.";
constexpr std::string_view linkWithArchive =
    "Link with DIR/libtreadle_runtime.a -l:libstdc++.a -lm\n"
    "   -Wl,--gc-sections -static-libgcc. './dev build', 'cmake --install' and the package\n"
    "   libtreadle-dev provide the archive; the Python package doesn't.";

std::string functionText(const ObjectFunction &function) {
  const std::string &symbol = function.symbol;
  std::string text = structText(function, "inputs", function.inputs);
  text += structText(function, "outputs", function.outputs);
  text += str("/* ", function.title,
              ". Returns 0, and outputs that the caller must free; or an error code without\n"
              "   outputs, and a message in `error`, unless it is null. Thread-safe. */\n");
  text += str("int32_t ", symbol, "(const ", symbol, "_inputs *inputs, ", symbol,
              "_outputs *outputs,\n                treadle_error *error);\n\n");
  text += str("static inline void ", symbol, "_free(", symbol, "_outputs *outputs) {\n",
              "  treadle_free_outputs((treadle_tensor *)outputs, ", function.outputs.size(),
              ");\n}\n\n");
  return text;
}

} // namespace

std::string headerText(const std::vector<ObjectFunction> &functions, const std::string &name,
                       const std::string &guard, bool isStatic) {
  std::string text =
      str("/* ", name, ", compiled by Treadle. ", isStatic ? linkWithArchive : linkWithLibrary,
          " */\n#ifndef ", guard, "\n#define ", guard, "\n\n#include <stdint.h>\n\n", common,
          "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
  for (const ObjectFunction &function : functions)
    text += functionText(function);
  return text + "#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

} // namespace treadle::codegen
