// Shape analysis of all values of a module.
#pragma once

#include "treadle/rewriting/Rewriting.h"
#include "treadle/shapes/ShapeFunctions.h"
#include "treadle/transforms/shape_inference/FunctionCalls.h"

#include "llvm/ADT/DenseSet.h"

#include <map>
#include <memory>
#include <vector>

namespace treadle::tfg {

/// A node with inputs of incompatible shapes.
struct ShapeConflict {
  Node node;
  std::string message;
};

using ValueShapes = llvm::DenseMap<mlir::Value, KnownValue>;

/// Propagates shapes through the nodes of bodies and the calls between them, and through loops
/// until nothing changes. Arguments of a function get the shape that all of its calls agree on, if
/// all of them are known.
class ShapeAnalysis {
public:
  explicit ShapeAnalysis(mlir::ModuleOp module);

  /// Declares that only the type of this value is known.
  void setFed(mlir::Value value) { fed.insert(value); }
  void run();

  /// Returns the shapes in the body of a graph or function. Call it after the run.
  ValueShapes shapesOf(mlir::Block &body);

  /// Returns the nodes that fail whenever they run, in the order of the bodies. Call it after the
  /// run.
  std::vector<ShapeConflict> findConflicts();

private:
  struct CallState {
    std::optional<std::vector<KnownValue>> arguments; // nullopt if the function isn't called
    std::vector<std::pair<std::vector<KnownValue>, std::vector<KnownValue>>> known;
    bool isRunning = false;
    bool isOpen = false; // may have unknown callers
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
  std::map<mlir::Operation *, CallState> called;
  std::map<mlir::Block *, std::vector<mlir::Operation *>> orders;
  llvm::DenseSet<mlir::Value> fed;
  std::map<mlir::Operation *, std::string> conflicts;
  int depth = 0;
};

} // namespace treadle::tfg
