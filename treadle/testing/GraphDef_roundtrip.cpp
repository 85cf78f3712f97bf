// A test program: imports each GraphDef among its arguments (files, or folders that are searched
// for *.pb and *.pbtxt), exports it and compares the messages; exits with 1 if any differs or
// fails.
//
//   graphdef_roundtrip [--verify] [--text] PATH...
//
// --verify also runs the verifier, --text also round-trips through MLIR's text form.
#include "treadle/export/GraphDef.h"
#include "treadle/import/Attributes.h"
#include "treadle/import/GraphDef.h"

#include "treadle/dialect/Tfg.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <google/protobuf/text_format.h>
#include <iterator>
#include <string>
#include <vector>

using namespace treadle;
namespace fs = std::filesystem;

namespace {

struct Options {
  bool verify = false, text = false;
};

std::string read(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> findGraphs(const fs::path &root) {
  if (!fs::is_directory(root))
    return {root};
  std::vector<fs::path> found;
  for (const auto &entry : fs::recursive_directory_iterator(root))
    if (entry.path().extension() == ".pb" || entry.path().extension() == ".pbtxt")
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

/// Returns what is wrong with the round trip of one module; empty if nothing is.
std::string compare(mlir::ModuleOp module, const pb::GraphDef &expected) {
  auto bytes = exportGraphDefBytes(module);
  if (!bytes)
    return "export: " + bytes.error().message;
  pb::GraphDef exported;
  if (!exported.ParseFromString(*bytes))
    return "the exported bytes don't parse";
  if (graphdef::serialize(exported) != graphdef::serialize(expected))
    return "the exported message differs";
  return "";
}

std::string throughText(mlir::MLIRContext &context, mlir::ModuleOp module,
                        const pb::GraphDef &expected) {
  std::string text, message;
  llvm::raw_string_ostream(text) << module;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diag) { message = diag.str(); });
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!parsed)
    return "its MLIR text does not parse: " + message;
  std::string wrong = compare(*parsed, expected);
  return wrong.empty() ? "" : "through MLIR text: " + wrong;
}

std::string check(const fs::path &path, const Options &options) {
  std::string content = read(path);
  bool isText = path.extension() == ".pbtxt";
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = isText ? importGraphDefText(context, content) : importGraphDef(context, content);
  if (!module)
    return "import: " + module.error().message;
  pb::GraphDef expected;
  if (isText ? !google::protobuf::TextFormat::ParseFromString(content, &expected)
             : !expected.ParseFromString(content))
    return "protobuf itself can't parse it";
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diag) { message = diag.str(); });
  if (options.verify && failed(mlir::verify(**module)))
    return "verifier: " + message;
  std::string wrong = compare(**module, expected);
  if (wrong.empty() && options.text)
    wrong = throughText(context, **module, expected);
  return wrong;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  int total = 0, bad = 0;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument == "--verify") {
      options.verify = true;
    } else if (argument == "--text") {
      options.text = true;
    } else {
      for (const fs::path &path : findGraphs(argument)) {
        std::string wrong = check(path, options);
        ++total;
        bad += !wrong.empty();
        if (!wrong.empty())
          std::printf("%s: %s\n", path.c_str(), wrong.c_str());
      }
    }
  }
  std::printf("%d graphs, %d of them wrong\n", total, bad);
  return bad != 0;
}
