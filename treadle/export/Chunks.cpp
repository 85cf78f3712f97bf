// Large tensors are chunks of their own; the other nodes are grouped into chunks, each of which is
// a GraphDef. The last record describes how to merge them.
#include "treadle/export/Chunks.h"

#include "treadle/export/GraphDef.h"
#include "treadle/export/SavedModel.h"
#include "treadle/import/Attributes.h"
#include "treadle/import/Keywords.h"
#include "treadle/import/SavedModel.h"
#include "treadle/proto/chunk.pb.h"
#include "treadle/riegeli/RecordWriter.h"

#include "treadle/dialect/Tfg.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

using namespace mlir;
using namespace treadle;

namespace {

/// The path from the root of the message to a field.
class Path {
public:
  Path field(int number) const {
    Path path = *this;
    path.tag.Add()->set_field(static_cast<uint32_t>(number));
    return path;
  }
  Path element(uint64_t index) const {
    Path path = *this;
    path.tag.Add()->set_index(index);
    return path;
  }
  Path entry(const std::string &key) const {
    Path path = *this;
    path.tag.Add()->mutable_map_key()->set_s(key);
    return path;
  }

  google::protobuf::RepeatedPtrField<pb::FieldIndex> tag;
};

class ChunkWriter {
public:
  ChunkWriter(const ByteSink &sink, ChunkLimits limits) : records(sink), limits(limits) {}

  void writeRoot(const google::protobuf::Message &root) {
    metadata.mutable_message()->set_chunk_index(
        write(pb::ChunkInfo::MESSAGE, graphdef::serialize(root)));
  }

  /// Writes the module's graph, which is at `path`.
  Expected<void> writeGraph(ModuleOp module, const Path &path) {
    std::string nodes;
    uint64_t numNodes = 0;
    pb::GraphDef rest;
    Expected<void> ok = exportGraphDefByNode(
        module,
        [&](pb::NodeDef &node) {
          takeTensors(node, path.field(pb::GraphDef::kNodeFieldNumber).element(numNodes++));
          appendNode(node, nodes);
          if (nodes.size() >= limits.chunk)
            flush(nodes, path);
        },
        rest);
    if (!ok)
      return ok;
    flush(nodes, path);
    Path library = path.field(pb::GraphDef::kLibraryFieldNumber);
    for (int i = 0; i < rest.library().function_size(); ++i) {
      pb::FunctionDef &function = *rest.mutable_library()->mutable_function(i);
      Path at = library.field(pb::FunctionDefLibrary::kFunctionFieldNumber).element(i);
      for (int j = 0; j < function.node_def_size(); ++j)
        takeTensors(*function.mutable_node_def(j),
                    at.field(pb::FunctionDef::kNodeDefFieldNumber).element(j));
    }
    addField(path, write(pb::ChunkInfo::MESSAGE, graphdef::serialize(rest)));
    for (auto &[tag, index] : tensors)
      addField(tag, index);
    tensors.clear();
    return {};
  }

  Expected<void> finish() {
    records.write({graphdef::serialize(metadata)});
    return records.ok() ? Expected<void>()
                        : Unexpected(unavailable("the chunked message can't be written"));
  }

private:
  uint64_t write(pb::ChunkInfo::Type type, std::string_view bytes) {
    pb::ChunkInfo &info = *metadata.add_chunks();
    info.set_type(type);
    info.set_size(bytes.size());
    info.set_offset(records.write({bytes}));
    return static_cast<uint64_t>(metadata.chunks_size()) - 1;
  }

  void addField(const Path &path, uint64_t index) {
    pb::ChunkedField &field = *metadata.mutable_message()->add_chunked_fields();
    *field.mutable_field_tag() = path.tag;
    field.mutable_message()->set_chunk_index(index);
  }

  /// Moves large contents out of a node.
  void takeTensors(pb::NodeDef &node, const Path &path) {
    for (auto &[key, value] : *node.mutable_attr()) {
      if (!value.has_tensor() || value.tensor().tensor_content().size() < limits.tensor)
        continue;
      Path at = path.field(pb::NodeDef::kAttrFieldNumber)
                    .entry(key)
                    .field(pb::AttrValue::kTensorFieldNumber)
                    .field(pb::TensorProto::kTensorContentFieldNumber);
      tensors.emplace_back(std::move(at),
                           write(pb::ChunkInfo::BYTES, value.tensor().tensor_content()));
      value.mutable_tensor()->clear_tensor_content();
    }
  }

  static void appendNode(const pb::NodeDef &node, std::string &nodes) {
    constexpr uint32_t nodeTag = pb::GraphDef::kNodeFieldNumber << 3 | 2;
    std::string bytes = graphdef::serialize(node);
    google::protobuf::io::StringOutputStream stream(&nodes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.WriteTag(nodeTag);
    coded.WriteVarint32(static_cast<uint32_t>(bytes.size()));
    coded.WriteRaw(bytes.data(), static_cast<int>(bytes.size()));
  }

  void flush(std::string &nodes, const Path &path) {
    if (!nodes.empty())
      addField(path, write(pb::ChunkInfo::MESSAGE, nodes));
    nodes.clear();
  }

  riegeli::RecordWriter records;
  ChunkLimits limits;
  pb::ChunkMetadata metadata;
  std::vector<std::pair<Path, uint64_t>> tensors;
};

} // namespace

Expected<void> treadle::exportGraphDefChunks(ModuleOp module, const ByteSink &sink,
                                             ChunkLimits limits) {
  google::protobuf::LogSilencer silencer;
  ChunkWriter writer(sink, limits);
  writer.writeRoot(pb::GraphDef());
  TREADLE_TRY(writer.writeGraph(module, Path()));
  return writer.finish();
}

Expected<void> treadle::exportSavedModelChunks(ModuleOp module, const ByteSink &sink,
                                               ChunkLimits limits) {
  google::protobuf::LogSilencer silencer;
  pb::SavedModel root = TREADLE_TRY(exportSavedModelHeader(module));
  ChunkWriter writer(sink, limits);
  writer.writeRoot(root);
  for (auto [index, meta] : llvm::enumerate(metaGraphs(module))) {
    if (!root.meta_graphs(static_cast<int>(index)).has_graph_def())
      continue;
    Path path = Path()
                    .field(pb::SavedModel::kMetaGraphsFieldNumber)
                    .element(index)
                    .field(pb::MetaGraphDef::kGraphDefFieldNumber);
    TREADLE_TRY(writer.writeGraph(meta, path));
  }
  return writer.finish();
}

bool treadle::needsChunks(ModuleOp module) {
  // All data other than tensors fits between this limit and 2 GiB.
  constexpr size_t limit = 1900 << 20;
  size_t size = 0;
  module->walk([&](Operation *op) {
    if (!tfg::Node::isNode(op))
      return;
    for (NamedAttribute attr : tfg::Node(op).attrs()) {
      if (auto dense = dyn_cast<DenseIntOrFPElementsAttr>(attr.getValue()))
        size += dense.getRawData().size();
      else if (auto encoded = dyn_cast<tf_type::TensorProtoAttr>(attr.getValue()))
        size += encoded.getValue().size();
    }
  });
  return size > limit;
}
