// A libFuzzer target: for any bytes, the import gives an error or a valid module; the module
// exports to an equal message, also through MLIR's text form.
#include "treadle/dialect/Tfg.h"
#include "treadle/export/GraphDef.h"
#include "treadle/import/Attributes.h"
#include "treadle/import/File.h"
#include "treadle/import/GraphDef.h"
#include "treadle/proto/graph.pb.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <google/protobuf/stubs/logging.h>

using namespace treadle;

namespace {

[[noreturn]] void fail(const std::string &what, mlir::ModuleOp module = {}) {
  llvm::errs() << "import_fuzzer: " << what << '\n';
  if (module)
    llvm::errs() << module << '\n';
  std::abort();
}

void expectEqual(mlir::ModuleOp module, const pb::GraphDef &graph, const std::string &where) {
  auto bytes = exportGraphDefBytes(module);
  if (!bytes)
    fail(where + " can't be exported: " + bytes.error().message, module);
  if (*bytes != graphdef::serialize(graph))
    fail(where + " differs from the message", module);
}

std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

void check(std::string_view bytes) {
  google::protobuf::LogSilencer silencer;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = importGraphDef(context, bytes);
  if (!module) {
    if (module.error().code != Code::InvalidArgument || module.error().message.empty())
      fail("an error without a cause");
    return;
  }
  // If nodes nest as deep as protobuf allows, their graph exceeds that limit by one.
  pb::GraphDef graph;
  if (!graph.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return;
  mlir::ScopedDiagnosticHandler handler(
      &context, [](mlir::Diagnostic &diagnostic) { llvm::errs() << diagnostic.str() << '\n'; });
  if (failed(mlir::verify(**module)))
    fail("an invalid module", **module);
  expectEqual(**module, graph, "the module");
  auto again = importMlirText(context, print(**module));
  if (!again)
    fail("the text can't be parsed: " + again.error().message, **module);
  expectEqual(**again, graph, "the text");
}

} // namespace

// MLIR's libraries aren't instrumented, so memory that they poison isn't meaningful.
extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0"; }

// libFuzzer determines the name. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  check({reinterpret_cast<const char *>(data), size});
  return 0;
}
