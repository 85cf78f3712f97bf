// `treadle compile`: compiles a model to an object file and a C header.
#include "treadle/tools/cli/Compile.h"
#include "treadle/Compile.h"
#include "treadle/tools/cli/Progress.h"
#include "treadle/tools/cli/Request.h"

#include <cctype>
#include <filesystem>
#include <fstream>

namespace treadle::cli {
namespace {

/// Returns the C name for a file: my_net for `models/my-net.o`.
std::string nameOf(const std::filesystem::path &file) {
  std::string name = file.stem().string();
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ? "model_" + name : name;
}

Expected<void> write(const std::filesystem::path &path, const std::string &text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    return Unexpected(unavailable("'", path.string(), "' can't be written"));
  return {};
}

int compile(const Arguments &args) {
  std::optional<std::string_view> out = args.value("-o");
  if (!out || out->empty())
    return report(UsageError{"option '-o' is missing, expected the object file to write"});
  std::filesystem::path object(*out), header = object;
  header.replace_extension(".h");
  // Don't overwrite a file with another extension.
  if (object.has_extension() && object.extension() != ".o" && object.extension() != ".obj")
    return report(UsageError{str("option '-o' is '", *out, "', expected an object file: '",
                                 std::filesystem::path(object).replace_extension(".o").string(),
                                 "'; the C header (.h) is written to the same folder")});
  Graph graph = TREADLE_OR_REPORT(openModel(args.positional[0]));
  ObjectOptions options;
  options.name = args.value("--name") ? std::string(*args.value("--name")) : nameOf(object);
  options.signatures = args.list("--signature");
  options.feeds = args.list("--feed");
  options.fetches = args.list("--fetch");
  options.fastMath = args.has("--fast-math");
  Parsed<Denormals> denormals = parseDenormalsOption(args);
  if (!denormals)
    return report(denormals.error());
  options.denormals = *denormals;
  options.isStatic = args.has("--static");
  options.target = args.value("--target").value_or("");
  if (!options.signatures.empty() && !options.fetches.empty())
    return report(UsageError{"options '--signature' and '--fetch' can't be used together: a "
                             "signature returns all of its outputs"});
  Expected<ObjectCode> code = [&] {
    Progress progress(str("compiling ", args.positional[0]));
    return compileToObject(graph, options);
  }();
  if (!code)
    return report(code.error());
  Expected<void> done =
      write(object, code->object).and_then([&] { return write(header, code->header); });
  return done ? 0 : report(done.error());
}

constexpr OptionRow options[] = {
    {"-o", "FILE", "the object file to write; the C header (.h) is written to the same folder"},
    {"--signature", "S,...", "signatures to compile to functions; default: all"},
    {"--fetch", "T,...", "outputs of the function, for a graph"},
    {"--feed", "T,...",
     "inputs of the function, for a graph; default: the placeholders that it needs"},
    {"--fast-math", "", fastMathHelp},
    denormalsOption,
    {"--static", "",
     "for programs that link libtreadle_runtime.a (not in the wheel): link only the kernels that "
     "the model uses"},
    {"--target", "PROCESSOR",
     "minimum processor for the code: x86-64-v2, x86-64-v3, x86-64-v4 or aarch64; default: this "
     "one"},
    {"--name", "NAME", "prefix of all C names; default: the name of FILE"},
};

} // namespace

const Command compileCommand = {
    "compile",
    "compile a model ahead of time to an object file and a C header",
    "MODEL",
    1,
    options,
    "  treadle compile examples/countdown.pbtxt --fetch count:0 -o countdown.o\n"
    "  cc program.c countdown.o -Lbuild/release/lib -Wl,-rpath,$PWD/build/release/lib \\\n"
    "     -ltreadle_runtime -lm\n\n"
    "libtreadle_runtime.so is in build/release/lib of a checkout after ./dev build, and in the\n"
    "folder that pkg-config --variable=libdir treadle prints if the library is installed. The\n"
    "wheel has libtreadle.so.0 instead: use -l:libtreadle.so.0 instead of -ltreadle_runtime. It\n"
    "is in the folder that this prints:\n"
    "  python -c \"import treadle; print(treadle.__path__[0])\"\n",
    compile,
};

} // namespace treadle::cli
