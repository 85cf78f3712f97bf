// Imports GraphDefs in binary and text form.
#include "treadle/import/GraphDef.h"

#include "treadle/import/FunctionDef.h"
#include "treadle/import/Keywords.h"
#include "treadle/import/NodeErrorCollector.h"
#include "treadle/import/TextForm.h"
#include "treadle/import/UnknownFields.h"
#include "treadle/import/WireFields.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

#include <google/protobuf/stubs/logging.h>

#include <memory>
#include <vector>

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;

namespace {

using ImportedModule = Expected<OwningOpRef<ModuleOp>>;

/// Imports one GraphDef: first the other fields, then the nodes one by one.
class GraphImporter {
public:
  GraphImporter(MLIRContext &context, const pb::GraphDef &header)
      : state(&context), header(header), debugInfo(&context, header.debug_info()),
        module(ModuleOp::create(state.location)) {
    state.debugInfo = &debugInfo;
    const pb::VersionDef &versions = header.versions();
    SmallVector<int32_t> bad(versions.bad_consumers().begin(), versions.bad_consumers().end());
    OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
    graph = tfg::GraphOp::create(
        builder, state.location,
        tf_type::VersionAttr::get(&context, versions.producer(), versions.min_consumer(), bad));
    nodes = std::make_unique<NodeImporter>(state, *graph.getBody(), Scope::Graph);
  }

  Expected<void> begin(const pb::OpList &ops) {
    for (const pb::OpDef &op : ops.op())
      if (!lookupOp(op.name()))
        state.signatures.addOp(op);
    for (const pb::FunctionDef &function : header.library().function()) {
      if (!functionNames.insert(function.signature().name()).second)
        return Unexpected(invalidArgument("function '", function.signature().name(),
                                          "' is given twice in the library; names must be unique, "
                                          "rename one of them"));
      state.signatures.addFunction(function.signature());
    }
    return {};
  }

  void reserve(size_t numNodes) { nodes->reserve(numNodes); }
  Expected<void> addNode(const pb::NodeDef &node) { return nodes->addNode(node); }

  ImportedModule end() {
    Expected<void> outcome = nodes->finish();
    nodes.reset();
    for (const pb::FunctionDef &function : header.library().function()) {
      if (!outcome && !NodeErrorCollector::note(outcome.error()))
        break;
      Expected<tfg::FuncOp> func = importFunctionDef(state, *module, function);
      if (func)
        functions[function.signature().name()] = *func;
      else if (outcome)
        outcome = Unexpected(std::move(func.error()));
    }
    TREADLE_TRY(std::move(outcome));
    convertRest(setGradients());
    return std::move(module);
  }

private:
  /// Sets the gradients of functions. Returns false if the list can't be reconstructed from them.
  bool setGradients() {
    const auto &gradients = header.library().gradient();
    std::vector<std::pair<StringRef, StringRef>> listed, derived;
    for (const pb::GradientDef &gradient : gradients) {
      if (hasUnknownFields(gradient))
        return false;
      listed.emplace_back(gradient.function_name(), gradient.gradient_func());
      tfg::FuncOp func = functions.lookup(gradient.function_name());
      if (func && !func.getGradientAttr() && !gradient.gradient_func().empty())
        func.setGradientAttr(FlatSymbolRefAttr::get(state.context, gradient.gradient_func()));
    }
    for (tfg::FuncOp func : module->getOps<tfg::FuncOp>())
      if (std::optional<StringRef> gradient = func.getGradient())
        derived.emplace_back(func.getSymName(), *gradient);
    return listed == derived;
  }

  void convertRest(bool hasDerivedGradients) {
    pb::GraphDef rest = header;
    if (rest.has_library()) {
      bool hadFunctions = rest.library().function_size() != 0;
      rest.mutable_library()->clear_function();
      if (hasDerivedGradients)
        rest.mutable_library()->clear_gradient();
      // The functions alone bring the library back, except for an empty library, which is a field
      // too.
      if ((hadFunctions || header.library().gradient_size() != 0) &&
          rest.library().ByteSizeLong() == 0)
        rest.clear_library();
    }
    if (rest.has_versions() && !hasUnknownFields(rest.versions()) &&
        rest.versions().ByteSizeLong() != 0)
      rest.clear_versions();
    if (rest.has_versions()) {
      rest.mutable_versions()->clear_producer();
      rest.mutable_versions()->clear_min_consumer();
      rest.mutable_versions()->clear_bad_consumers();
    }
    if (rest.ByteSizeLong() != 0)
      graph->setDiscardableAttr(state.restKey, state.attributes.message("GraphDef", rest));
  }

  ImportState state;
  const pb::GraphDef &header;
  DebugInfo debugInfo;
  OwningOpRef<ModuleOp> module;
  tfg::GraphOp graph;
  std::unique_ptr<NodeImporter> nodes;
  llvm::StringSet<> functionNames;
  llvm::StringMap<tfg::FuncOp> functions;
};

/// The fields of a serialized GraphDef; nodes remain serialized.
struct SplitGraphDef {
  std::vector<std::string_view> nodes;
  pb::GraphDef header;
};

Unexpected malformedGraphDef(std::string_view what) {
  return Unexpected(invalidArgument("the bytes don't parse as a GraphDef: ", what,
                                    "; expected a serialized GraphDef, whole and not compressed"));
}

/// Parses all fields except the nodes, whose bytes it collects.
Expected<void> split(std::string_view bytes, SplitGraphDef &parts) {
  Expected<WireFields> fields = splitFields(bytes, pb::GraphDef::kNodeFieldNumber);
  if (!fields)
    return malformedGraphDef(fields.error().message);
  parts.nodes = std::move(fields->taken);
  if (!parts.header.ParseFromString(fields->rest))
    return malformedGraphDef("its library, versions or debug info are malformed");
  return {};
}

ImportedModule importParts(MLIRContext &context, const SplitGraphDef &parts,
                           const pb::OpList &ops) {
  GraphImporter importer(context, parts.header);
  TREADLE_TRY(importer.begin(ops));
  importer.reserve(parts.nodes.size());
  // One message is reused for all nodes, so that it keeps its memory.
  pb::NodeDef node;
  for (size_t i = 0; i < parts.nodes.size(); ++i) {
    if (!node.ParseFromArray(parts.nodes[i].data(), static_cast<int>(parts.nodes[i].size())))
      return malformedGraphDef(str("node ", i, " ('", node.name(), "') is malformed"));
    TREADLE_TRY(importer.addNode(node));
  }
  return importer.end();
}

} // namespace

ImportedModule treadle::importGraphDef(MLIRContext &context, std::string_view bytes,
                                       const pb::OpList &ops) {
  google::protobuf::LogSilencer silencer;
  SplitGraphDef parts;
  TREADLE_TRY(split(bytes, parts));
  return importParts(context, parts, ops);
}

ImportedModule treadle::importGraphDef(MLIRContext &context, const pb::GraphDef &graph) {
  return importGraphDef(context, pb::GraphDef(graph));
}

ImportedModule treadle::importGraphDef(MLIRContext &context, pb::GraphDef &&graph,
                                       const pb::OpList &ops) {
  google::protobuf::LogSilencer silencer;
  google::protobuf::RepeatedPtrField<pb::NodeDef> nodes;
  nodes.Swap(graph.mutable_node());
  GraphImporter importer(context, graph);
  TREADLE_TRY(importer.begin(ops));
  importer.reserve(nodes.size());
  for (pb::NodeDef &node : nodes) {
    TREADLE_TRY(importer.addNode(node));
    pb::NodeDef().Swap(&node);
  }
  return importer.end();
}

ImportedModule treadle::importGraphDefText(MLIRContext &context, std::string_view text) {
  google::protobuf::LogSilencer silencer;
  pb::GraphDef graph;
  TREADLE_TRY(parseTextForm(text, "GraphDef", ".pbtxt", graph));
  return importGraphDef(context, std::move(graph));
}
