// Tests only: StableHLO's own artifacts of all versions, next to the texts that they were generated
// from.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/dialect/stablehlo/StableHlo.h"
#include "treadle/import/stablehlo/Import.h"
#include "treadle/import/stablehlo/Scf.h"
#include "treadle/import/stablehlo/Structure.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Regex.h"

#include <map>
#include <set>

namespace treadle {

/// The environment variable with the path of StableHLO's folder tests/vhlo.
inline constexpr const char *artifactsVariable = "TREADLE_STABLEHLO_ARTIFACTS";

using Module = mlir::OwningOpRef<mlir::ModuleOp>;

inline void loadDialects(mlir::MLIRContext &context) {
  context.loadDialect<mlir::func::FuncDialect, tfg::TfgDialect>();
  stablehlo::loadDialects(context);
  hlo::loadBranches(context);
  hlo::loadStandardDialects(context);
  context.allowUnregisteredDialects();
}

inline std::string printModule(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

/// Keeps only one function and those that it refers to, and makes it public.
inline void isolateFunction(mlir::ModuleOp module, llvm::StringRef name) {
  std::set<std::string> found = {name.str()}, open = found;
  while (!open.empty()) {
    auto function = module.lookupSymbol<mlir::func::FuncOp>(*open.begin());
    open.erase(open.begin());
    if (!function)
      continue;
    function.walk([&](mlir::Operation *op) {
      op->getAttrDictionary().walk([&](mlir::FlatSymbolRefAttr used) {
        if (found.insert(used.getValue().str()).second)
          open.insert(used.getValue().str());
      });
    });
  }
  for (auto function : llvm::make_early_inc_range(module.getOps<mlir::func::FuncOp>())) {
    function.setVisibility(function.getName() == name ? mlir::SymbolTable::Visibility::Public
                                                      : mlir::SymbolTable::Visibility::Private);
    if (!found.contains(function.getName().str()))
      function.erase();
  }
}

/// Imports one function; returns the result or the error.
inline std::string imported(mlir::ModuleOp whole, llvm::StringRef name) {
  Module module = whole.clone();
  module->setSymName(std::nullopt);
  isolateFunction(*module, name);
  std::string why;
  mlir::ScopedDiagnosticHandler handler(whole.getContext(), [&](mlir::Diagnostic &found) {
    if (why.empty())
      why = "error: " + found.str();
  });
  return mlir::succeeded(importStableHlo(*module)) ? printModule(*module) : why;
}

/// Returns the functions of a text, by name.
inline std::map<std::string, std::string> functionsOf(llvm::StringRef text) {
  std::map<std::string, std::string> found;
  llvm::Regex start("^func.func (private )?@(\"?)([A-Za-z0-9_.-]+)");
  std::string *last = nullptr;
  for (llvm::StringRef rest = text; !rest.empty();) {
    auto [line, after] = rest.split('\n');
    rest = after;
    llvm::SmallVector<llvm::StringRef> parts;
    if (start.match(line, &parts))
      last = &found[parts[3].str()];
    if (last && !line.starts_with("//"))
      *last += line.str() + "\n";
    if (line.starts_with("}"))
      last = nullptr;
  }
  return found;
}

/// Returns a module with a function and those that it refers to.
inline std::string withCallees(const std::map<std::string, std::string> &functions,
                               const std::string &name) {
  std::set<std::string> done, open = {name};
  std::string text;
  while (!open.empty()) {
    std::string next = *open.begin();
    open.erase(open.begin());
    auto it = functions.find(next);
    if (!done.insert(next).second || it == functions.end())
      continue;
    text += it->second;
    for (const auto &[other, body] : functions)
      if (llvm::StringRef(it->second).contains("@" + other))
        open.insert(other);
  }
  return text;
}

inline Module parse(mlir::MLIRContext &context, const std::string &text) {
  mlir::ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &) {});
  return mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
}

/// Calls `visit` with each artifact of StableHLO's tests that has a text; returns their number.
inline unsigned forEachArtifact(const char *folder,
                                llvm::function_ref<void(llvm::StringRef path)> visit) {
  std::error_code error;
  unsigned files = 0;
  for (llvm::sys::fs::directory_iterator it(folder, error), end; it != end && !error;
       it.increment(error)) {
    llvm::StringRef path = it->path();
    if (!path.contains("stablehlo_legalize_to_vhlo.") || !path.ends_with(".mlir.bc"))
      continue;
    visit(path);
    ++files;
  }
  return files;
}

} // namespace treadle
