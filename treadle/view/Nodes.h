// Internal to the view: the nodes and edges of bodies, as columns.
#pragma once

#include "treadle/analysis/effects/Effects.h"
#include "treadle/analysis/races/FrameGraph.h"
#include "treadle/transforms/shape_inference/ShapeAnalysis.h"
#include "treadle/view/AttributeText.h"
#include "treadle/view/Columns.h"
#include "treadle/view/Scene.h"

#include "llvm/ADT/DenseMap.h"

namespace treadle::view {

struct SceneFrame {
  int32_t body;
  std::string name;
  int32_t parent;
  int64_t parallelIterations;
};

/// The body of a graph, of a function, or of a graph in its flat form.
struct Body {
  std::string name;
  std::string kind;
  uint32_t first, end;
};

/// Numbers the nodes of all bodies.
class Nodes {
public:
  Nodes() { outBegin.push_back(0), inBegin.push_back(0); }

  /// Sets the shape analysis, which has run, of bodies that are added from now on. Null: shapes
  /// come from types.
  void setShapes(tfg::ShapeAnalysis *analysis) { shapes = analysis; }
  /// `needed` are the nodes to show; null for all. Arguments and results of a function become
  /// nodes.
  void addBody(mlir::Block &block, Body body, const std::set<mlir::Operation *> *needed = nullptr,
               tfg::FuncOp function = {});
  void addFunction(tfg::FuncOp function);
  /// Adds calls between bodies. Call it once all bodies were added.
  void connectCalls();
  void addEffects(const tfg::EffectAnalysis &effects, mlir::ModuleOp module);

  /// Returns -1 if the node doesn't exist; `where` is its function.
  int32_t find(llvm::StringRef where, llvm::StringRef name);
  int32_t find(mlir::Operation *op) const;
  int32_t frame(llvm::StringRef where, llvm::StringRef name) const;
  size_t size() const { return nodeName.size(); }
  template <typename Visit> void forEach(Visit visit) const {
    for (auto [number, op] : llvm::enumerate(operations))
      if (op && tfg::Node::isNode(op))
        visit(static_cast<uint32_t>(number), tfg::Node(op));
  }

  void addColumns(ColumnFile &file) const;

  std::string_view name(uint32_t node) const { return strings[nodeName[node]]; }
  std::string_view op(uint32_t node) const { return strings[nodeOp[node]]; }
  /// Returns the loop that the node is drawn in, or -1.
  int32_t frameOf(uint32_t node) const { return nodeFrame[node]; }
  /// Calls `visit(from, type, kind)` for each input of a node; `type` may be empty.
  template <typename Visit> void forEachInput(uint32_t node, Visit visit) const {
    for (uint32_t edge = inBegin[node]; edge < inBegin[node + 1]; ++edge) {
      uint32_t from = edgeFrom[edge], type = outBegin[from] + static_cast<uint32_t>(edgePort[edge]);
      bool isKnown = edgePort[edge] >= 0 && type < outBegin[from + 1];
      visit(from, isKnown ? strings[outType[type]] : std::string_view(),
            static_cast<EdgeKind>(edgeKind[edge]));
    }
  }

  Strings strings;
  std::vector<Body> bodies;
  std::vector<SceneFrame> frames;
  std::vector<std::string> resources;
  // Facts of an explanation, by node.
  std::vector<int32_t> nodeCluster;
  std::vector<uint32_t> nodeWhy;

private:
  uint32_t addNode(mlir::Operation *op, llvm::StringRef name, llvm::StringRef type);
  void addArguments(tfg::FuncOp function);
  void addResults(tfg::ReturnOp end);
  void describe(uint32_t number, tfg::Node node);
  void addOutputs(mlir::ValueRange values);
  void addEdges(mlir::Operation *op, const llvm::StringMap<uint32_t> &names);
  void addEdge(mlir::Value value);
  void addFrames(mlir::Block &block, uint32_t first);
  void findChains(mlir::Block &block);
  uint32_t resource(const std::string &text);
  void addCall(uint32_t node, llvm::StringRef function, llvm::StringRef role);

  uint32_t typeOf(mlir::Value value);

  tfg::ShapeAnalysis *shapes = nullptr;
  tfg::ValueShapes known; // of the current body
  AttributeTexts attributes;
  llvm::DenseMap<mlir::Type, uint32_t> types; // strings
  std::vector<mlir::Operation *> operations;  // null for an argument or result of a function
  llvm::DenseMap<mlir::Operation *, uint32_t> numbers;
  llvm::DenseMap<mlir::Value, uint32_t> arguments; // of functions, and their tokens
  llvm::DenseSet<mlir::Value> chains;
  llvm::StringMap<uint32_t> functions; // bodies
  llvm::StringMap<uint32_t> resourceNumbers;
  llvm::StringMap<llvm::StringMap<uint32_t>> byName; // by body; created on first use
  std::vector<uint32_t> nodeName, nodeOp, nodeDevice, nodeLine, nodeAttrs;
  std::vector<int32_t> nodeFrame;
  std::vector<uint32_t> outBegin, outType, inBegin, edgeFrom;
  std::vector<int32_t> edgePort;
  std::vector<uint8_t> edgeKind;
  std::vector<uint32_t> effectNode, effectResource, callNode, callBody, callRole;
  std::vector<uint8_t> effectWrites;
};

} // namespace treadle::view
