// Exports a module as a message, bytes or text.
#include "treadle/export/GraphDef.h"

#include "treadle/export/DebugInfo.h"
#include "treadle/export/FunctionDef.h"
#include "treadle/import/Attributes.h"
#include "treadle/import/Keywords.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;

namespace {

/// Exports one module.
class GraphExporter {
public:
  explicit GraphExporter(ModuleOp module) : module(module), state(module.getContext()) {}

  /// Exports everything except the nodes of the graph.
  Expected<void> exportHeader(pb::GraphDef &def) {
    TREADLE_TRY(findGraph());
    for (tfg::FuncOp func : module.getOps<tfg::FuncOp>())
      state.signatures.addFunction(func);
    TREADLE_TRY(exportLibrary(def));
    if (!graph)
      return {};
    tf_type::VersionAttr version = graph.getVersion();
    if (version.getProducer() != 0 || version.getMinConsumer() != 0 ||
        !version.getBadConsumers().empty()) {
      def.mutable_versions()->set_producer(version.getProducer());
      def.mutable_versions()->set_min_consumer(version.getMinConsumer());
      for (int32_t consumer : version.getBadConsumers())
        def.mutable_versions()->add_bad_consumers(consumer);
    }
    TREADLE_TRY(mergeRest(def));
    addToDebugInfo(module, *graph.getBody(), def);
    return {};
  }

  /// Calls `take(node)` for each node; the message's memory is reused.
  template <typename Take> Expected<void> exportNodes(Take take) {
    if (!graph)
      return {};
    NodeExporter nodes(state, *graph.getBody());
    for (Operation &op : *graph.getBody()) {
      if (!tfg::Node::isNode(&op))
        return Unexpected(invalidArgument("found ", op.getName().getStringRef().str(),
                                          " in a tfg.graph, expected only nodes"));
      TREADLE_TRY(take(nodes, tfg::Node(&op)));
    }
    return {};
  }

private:
  Expected<void> findGraph() {
    for (Operation &op : *module.getBody()) {
      if (isa<tfg::FuncOp>(op))
        continue;
      if (isa<ModuleOp>(op) && module->hasAttr(savedModelKey))
        return Unexpected(invalidArgument("found a module of modules, a SavedModel of several meta "
                                          "graphs, expected one graph"));
      auto next = dyn_cast<tfg::GraphOp>(op);
      if (!next)
        return Unexpected(invalidArgument("found ", op.getName().getStringRef().str(),
                                          ", expected tfg.graph and tfg.func; convert it to tfg "
                                          "first"));
      if (graph)
        return Unexpected(invalidArgument("found a second tfg.graph, expected one in a module"));
      graph = next;
    }
    return {};
  }

  Expected<void> exportLibrary(pb::GraphDef &def) {
    for (tfg::FuncOp func : module.getOps<tfg::FuncOp>()) {
      pb::FunctionDefLibrary &library = *def.mutable_library();
      TREADLE_TRY(exportFunctionDef(state, func, *library.add_function()));
      if (std::optional<StringRef> name = func.getGradient()) {
        pb::GradientDef &gradient = *library.add_gradient();
        gradient.set_function_name(func.getSymName().str());
        gradient.set_gradient_func(name->str());
      }
    }
    return {};
  }

  Expected<void> mergeRest(pb::GraphDef &def) {
    Attribute attr = graph->getDiscardableAttr(state.restKey);
    if (!attr)
      return {};
    pb::GraphDef rest;
    TREADLE_TRY(mergeMessage(attr, "GraphDef", rest));
    // A list of gradients that can't be derived from the functions is kept as a whole.
    if (rest.library().gradient_size() != 0)
      def.mutable_library()->clear_gradient();
    def.MergeFrom(rest);
    return {};
  }

  ModuleOp module;
  ExportState state;
  tfg::GraphOp graph;
};

} // namespace

Expected<pb::GraphDef> treadle::exportGraphDef(ModuleOp module) {
  google::protobuf::LogSilencer silencer;
  pb::GraphDef def;
  GraphExporter exporter(module);
  Expected<void> ok = exporter.exportHeader(def);
  if (ok)
    ok = exporter.exportNodes([&](NodeExporter &nodes, tfg::Node node) {
      return nodes.exportNode(node, *def.add_node());
    });
  if (!ok)
    return Unexpected(ok.error());
  return def;
}

Expected<void> treadle::exportGraphDefByNode(ModuleOp module,
                                             llvm::function_ref<void(pb::NodeDef &)> take,
                                             pb::GraphDef &rest) {
  google::protobuf::LogSilencer silencer;
  GraphExporter exporter(module);
  TREADLE_TRY(exporter.exportHeader(rest));
  pb::NodeDef def;
  return exporter.exportNodes([&](NodeExporter &nodes, tfg::Node node) {
    def.Clear();
    Expected<void> exported = nodes.exportNode(node, def);
    if (exported)
      take(def);
    return exported;
  });
}

static Error tooLarge() {
  return resourceExhausted("the graph takes more than 2 GiB, the limit of protobuf messages; write "
                           "it in chunks (.cpb) or as MLIR text (.mlir)");
}

/// Needs memory for one node at a time.
static Expected<void> writeGraphDef(ModuleOp module,
                                    google::protobuf::io::ZeroCopyOutputStream &stream) {
  google::protobuf::LogSilencer silencer;
  pb::GraphDef header;
  GraphExporter exporter(module);
  TREADLE_TRY(exporter.exportHeader(header));
  google::protobuf::Arena arena;
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  constexpr uint32_t nodeTag = pb::GraphDef::kNodeFieldNumber << 3 | 2;
  constexpr size_t arenaSize = 1 << 16;
  // The length of a message and of each field must be below this.
  constexpr size_t limit = INT32_MAX;
  size_t size = header.ByteSizeLong(), held = 0; // bytes in strings, which the arena doesn't count
  TREADLE_TRY(exporter.exportNodes([&](NodeExporter &nodes, tfg::Node node) {
    auto *def = google::protobuf::Arena::CreateMessage<pb::NodeDef>(&arena);
    Expected<void> exported = nodes.exportNode(node, *def);
    constexpr size_t maxOverhead = 6;
    size += def->ByteSizeLong() + maxOverhead;
    if (size > limit)
      return Expected<void>(Unexpected(tooLarge()));
    coded.WriteTag(nodeTag);
    coded.WriteVarint32(static_cast<uint32_t>(def->ByteSizeLong()));
    def->SerializeWithCachedSizes(&coded);
    held += def->ByteSizeLong();
    if (held + arena.SpaceUsed() > arenaSize) {
      arena.Reset();
      held = 0;
    }
    return exported;
  }));
  coded.WriteString(serialize(header));
  return {};
}

Expected<std::string> treadle::exportGraphDefBytes(ModuleOp module) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  return writeGraphDef(module, stream).map([&] { return std::move(bytes); });
}

Expected<void> treadle::exportGraphDefBytes(ModuleOp module, llvm::raw_ostream &out) {
  class Bytes : public google::protobuf::io::CopyingOutputStream {
  public:
    explicit Bytes(llvm::raw_ostream &out) : out(out) {}
    bool Write(const void *bytes, int size) override {
      out.write(static_cast<const char *>(bytes), static_cast<size_t>(size));
      return true;
    }

  private:
    llvm::raw_ostream &out;
  } bytes(out);
  google::protobuf::io::CopyingOutputStreamAdaptor stream(&bytes);
  return writeGraphDef(module, stream);
}

Expected<std::string> treadle::exportGraphDefText(ModuleOp module) {
  pb::GraphDef def = TREADLE_TRY(exportGraphDef(module));
  std::string text;
  google::protobuf::TextFormat::Printer printer;
  printer.PrintToString(def, &text);
  return text;
}
