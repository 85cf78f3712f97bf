// The C header of an object file.
#include "treadle/codegen/ObjectFile.h"
#include "treadle/codegen/Program.h"

namespace treadle::codegen {
namespace {

/// What all such headers declare: a program may include several, and treadle/c.h, whose dtypes
/// these are.
constexpr const char *common =
#include "treadle/codegen/Dtypes.inc"
    R"(
#ifndef TREADLE_TENSOR_DEFINED
#define TREADLE_TENSOR_DEFINED
#define TREADLE_MAX_RANK 8

/* Elements stand row by row, the last dimension closest together. Of an input all belongs to the
   caller: `data` is only read, and only during the call; `owner` is ignored. Of an output `data`
   belongs to the library until the outputs are freed, and may be overwritten until then. */
typedef struct treadle_tensor {
  void *data;
  int64_t dims[TREADLE_MAX_RANK]; /* `rank` of them */
  int32_t rank;
  int32_t dtype; /* enum treadle_dtype */
  void *owner;
} treadle_tensor;

/* Codes as in gRPC: 3 a wrong argument, 8 no memory, 12 not implemented. */
typedef struct treadle_error {
  int32_t code; /* 0: none */
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

/// As part of a comment.
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
    "   DIR being the folder of libtreadle_runtime.so. The Python package has libtreadle.so.0\n"
    "   instead: DIR is then the folder of the package, and -l:libtreadle.so.0 links it.";
constexpr std::string_view linkWithArchive =
    "Link with DIR/libtreadle_runtime.a -l:libstdc++.a -lm\n"
    "   -Wl,--gc-sections -static-libgcc. './dev build', 'cmake --install' and the package\n"
    "   libtreadle-dev bring the archive; the Python package has none.";

std::string functionText(const ObjectFunction &function) {
  const std::string &symbol = function.symbol;
  std::string text = structText(function, "inputs", function.inputs);
  text += structText(function, "outputs", function.outputs);
  text +=
      str("/* ", function.title,
          ". Gives 0, and outputs to be freed; or the code of an error, without outputs:\n"
          "   then `error` says what is wrong, unless it is null. Any number of threads may call"
          " it at a\n   time. */\n");
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
