// Tests files of chunks: messages are equal after splitting and merging for all sizes of chunks.
#include "treadle/export/Chunks.h"
#include "treadle/export/File.h"
#include "treadle/export/GraphDef.h"
#include "treadle/export/SavedModel.h"
#include "treadle/import/Attributes.h"
#include "treadle/import/Chunks.h"
#include "treadle/import/File.h"
#include "treadle/import/SavedModel.h"
#include "treadle/proto/chunk.pb.h"
#include "treadle/riegeli/RecordWriter.h"
#include "treadle/testing/ImportTest.h"

#include <google/protobuf/text_format.h>

#include <filesystem>
#include <unistd.h>

using namespace mlir;
using namespace treadle;

namespace {

/// Constants of several sizes, in the graph and in a function.
pb::GraphDef makeGraph() {
  pb::GraphDef graph;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(versions { producer: 21 }
         library { function { signature { name: "f" } } function { signature { name: "g" } } })",
      &graph));
  auto fill = [](pb::NodeDef &node, int size) {
    node.set_name("c" + std::to_string(size));
    node.set_op("Const");
    (*node.mutable_attr())["dtype"].set_type(pb::DT_UINT8);
    pb::TensorProto &tensor = *(*node.mutable_attr())["value"].mutable_tensor();
    tensor.set_dtype(pb::DT_UINT8);
    tensor.mutable_tensor_shape()->add_dim()->set_size(size);
    for (int i = 0; i < size; ++i)
      tensor.mutable_tensor_content()->push_back(static_cast<char>(i));
  };
  for (int size : {2, 10, 100, 1000, 70'000, 3, 2000}) {
    fill(*graph.add_node(), size);
    fill(*graph.mutable_library()->mutable_function(1)->add_node_def(), size);
  }
  return graph;
}

class ChunksTest : public ImportTest, public testing::WithParamInterface<ChunkLimits> {
protected:
  std::string bytes;
  ByteSink sink = [this](std::string_view part) { return bytes.append(part), true; };
};

TEST_P(ChunksTest, AGraph) {
  pb::GraphDef graph = makeGraph(), merged;
  take(importGraphDef(context, graph));
  ASSERT_TRUE(module) << message;
  auto done = exportGraphDefChunks(*module, sink, GetParam());
  ASSERT_TRUE(done) << done.error().message;
  auto ok = graphdef::mergeChunks(bytes, merged);
  ASSERT_TRUE(ok) << ok.error().message;
  EXPECT_EQ(graphdef::serialize(merged), graphdef::serialize(graph));
}

TEST_P(ChunksTest, ASavedModel) {
  pb::SavedModel model, merged;
  model.set_saved_model_schema_version(1);
  *model.add_meta_graphs()->mutable_graph_def() = makeGraph();
  model.add_meta_graphs()->mutable_meta_info_def()->add_tags("train");
  *model.add_meta_graphs()->mutable_graph_def() = makeGraph();
  take(importSavedModel(context, pb::SavedModel(model)));
  ASSERT_TRUE(module) << message;
  auto done = exportSavedModelChunks(*module, sink, GetParam());
  ASSERT_TRUE(done) << done.error().message;
  auto ok = graphdef::mergeChunks(bytes, merged);
  ASSERT_TRUE(ok) << ok.error().message;
  EXPECT_EQ(graphdef::serialize(merged), graphdef::serialize(model));
}

INSTANTIATE_TEST_SUITE_P(Limits, ChunksTest,
                         testing::Values(ChunkLimits{}, ChunkLimits{1, 1}, ChunkLimits{1, 1 << 20},
                                         ChunkLimits{300, 100}, ChunkLimits{1 << 20, 50}));

using ChunkFileTest = ImportTest;

TEST_F(ChunkFileTest, FilesAndFolders) {
  namespace fs = std::filesystem;
  fs::path folder = fs::path(testing::TempDir()) / str("chunks_test_", ::getpid());
  fs::create_directories(folder);
  pb::GraphDef graph = makeGraph();
  take(importGraphDef(context, graph));
  auto done = exportFile(*module, folder / "graph.cpb");
  ASSERT_TRUE(done) << done.error().message;
  auto again = importFile(context, folder / "graph.cpb");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(graphdef::serialize(*exportGraphDef(**again)), graphdef::serialize(graph));

  pb::SavedModel model;
  *model.add_meta_graphs()->mutable_graph_def() = graph;
  take(importSavedModel(context, pb::SavedModel(model)));
  done = exportFile(*module, folder / "model/saved_model.cpb");
  ASSERT_TRUE(done) << done.error().message;
  again = importFile(context, folder / "model");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(graphdef::serialize(*exportSavedModel(**again)), graphdef::serialize(model));
  fs::remove_all(folder);
}

TEST_F(ChunkFileTest, ASinkThatFails) {
  take(importGraphDef(context, makeGraph()));
  auto done = exportGraphDefChunks(*module, [](std::string_view) { return false; });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::Unavailable);
}

/// Returns the error of merging a file with these chunks and this metadata, in text form.
Error mergeError(const std::vector<std::string> &chunks, const std::string &message) {
  std::string bytes;
  riegeli::RecordWriter writer([&](std::string_view part) { return bytes.append(part), true; });
  pb::ChunkMetadata metadata;
  for (const std::string &chunk : chunks)
    metadata.add_chunks()->set_offset(writer.write({chunk}));
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(message, metadata.mutable_message()));
  writer.write({graphdef::serialize(metadata)});
  pb::GraphDef graph;
  Expected<void> merged = graphdef::mergeChunks(bytes, graph);
  return merged ? Error{Code::Ok, ""} : merged.error();
}

struct BadChunks {
  const char *name, *message, *error;
  Code code = Code::InvalidArgument;
};

class BadChunksTest : public testing::TestWithParam<BadChunks> {};

TEST_P(BadChunksTest, IsAnError) {
  Error error = mergeError({"\x0a", ""}, GetParam().message);
  EXPECT_EQ(error.code, GetParam().code);
  EXPECT_EQ(error.message, str("the file of chunks can't be read: ", GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    Errors, BadChunksTest,
    testing::Values(
        BadChunks{"NoSuchChunk", "chunk_index: 7",
                  "chunk 7 is out of range: the file has 2 chunks"},
        BadChunks{"NoMessage", "chunk_index: 0", "chunk 0 isn't a GraphDef"},
        BadChunks{"NoSuchField", "chunked_fields { field_tag { field: 99 } }",
                  "field 99 doesn't exist in a GraphDef"},
        BadChunks{
            "FarElement", "chunked_fields { field_tag { field: 1 } field_tag { index: 9 } }",
            "element 9 of treadle.pb.GraphDef.node is out of range: the field has 0 elements"},
        BadChunks{"WholeList", "chunked_fields { field_tag { field: 1 } }",
                  "chunks of treadle.pb.GraphDef.node as a whole can't be merged",
                  Code::Unimplemented},
        BadChunks{"Number", "chunked_fields { field_tag { field: 3 } message { chunk_index: 1 } }",
                  "a chunk of treadle.pb.GraphDef.version can't be merged", Code::Unimplemented}),
    [](const auto &info) { return info.param.name; });

} // namespace
