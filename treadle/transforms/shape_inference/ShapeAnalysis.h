// What is known of the shapes of all values of a module.
#pragma once

#include "treadle/rewriting/Rewriting.h"
#include "treadle/shapes/ShapeFunctions.h"
#include "treadle/transforms/shape_inference/FunctionCalls.h"

#include "llvm/ADT/DenseSet.h"

#include <map>
#include <memory>
#include <vector>

namespace treadle::tfg {

/// A node whose inputs are of shapes that it can't take.
struct ShapeConflict {
  Node node;
  std::string message;
};

using ValueShapes = llvm::DenseMap<mlir::Value, KnownValue>;

/// Follows shapes through the nodes of bodies and the calls between them, loops until nothing
/// changes. The arguments of a function are what all calls of it have in common, where all its
/// calls are known.
class ShapeAnalysis {
public:
  explicit ShapeAnalysis(mlir::ModuleOp module);

  /// Nothing is known of this value but its type.
  void setFed(mlir::Value value) { fed.insert(value); }
  void run();

  /// After the run: of a graph's or a function's body.
  ValueShapes shapesOf(mlir::Block &body);

  /// After the run: nodes that fail whenever they run, in the order of the bodies.
  std::vector<ShapeConflict> findConflicts();

private:
  struct Called {
    std::optional<std::vector<KnownValue>> arguments; // nothing: it isn't called
    std::vector<std::pair<std::vector<KnownValue>, std::vector<KnownValue>>> known;
    bool isRunning = false;
    bool isOpen = false; // called from who knows where
  };

  void findOpenFunctions();
  std::vector<KnownValue> declaredArguments(FuncOp function);
  std::vector<KnownValue> call(FuncOp function, std::vector<KnownValue> arguments);
  ValueShapes runBody(mlir::Block &body, llvm::ArrayRef<KnownValue> arguments);
  bool visit(Node node, ValueShapes &values, unsigned round);
  void note(Node node, std::string conflict);
  ShapeResults resultsOf(Node node, llvm::ArrayRef<const KnownValue *> inputs);
  void evaluateInto(Node node, llvm::ArrayRef<const KnownValue *> inputs, ShapeResults &results);
  ShapeResults callResults(Node node, const CallInfo &info,
                           llvm::ArrayRef<const KnownValue *> inputs);
  std::vector<KnownValue> loopResults(const CallInfo &info, std::vector<KnownValue> values);
  const std::vector<mlir::Operation *> &orderOf(mlir::Block &body);

  mlir::ModuleOp module;
  Effects effects;
  FunctionMap functions;
  std::map<mlir::Operation *, Called> called;
  std::map<mlir::Block *, std::vector<mlir::Operation *>> orders;
  llvm::DenseSet<mlir::Value> fed;
  std::map<mlir::Operation *, std::string> conflicts;
  int depth = 0;
};

} // namespace treadle::tfg
