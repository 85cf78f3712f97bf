// Readers of graphs and programs.
#include "fuzz/readers/Readers.h"

#include "treadle/export/Chunks.h"
#include "treadle/export/GraphDef.h"
#include "treadle/import/Chunks.h"
#include "treadle/import/File.h"
#include "treadle/import/GraphDef.h"
#include "treadle/import/SavedModel.h"
#include "treadle/proto/chunk.pb.h"
#include "treadle/proto/saved_model.pb.h"
#include "treadle/riegeli/RecordReader.h"
#include "treadle/riegeli/RecordWriter.h"
#include "treadle/tensor/Wire.h"
#include "treadle/testing/SampleArtifact.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <cstdlib>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>

namespace treadle::fuzz {
namespace {

constexpr const char *graphText = R"(
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 2 } dim { size: -1 } } } } }
node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
       attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 3 } }
                                            tensor_content: "\001\000\000\000\002\000\000\000\003\000\000\000" } } } }
node { name: "s" op: "Sum" input: "x" input: "c" input: "^x"
       attr { key: "T" value { type: DT_FLOAT } } attr { key: "Tidx" value { type: DT_INT32 } }
       attr { key: "keep_dims" value { b: true } } }
node { name: "f" op: "F" input: "s" attr { key: "l" value { list { i: 1 i: -1 s: "a" } } } }
library { function { signature { name: "F" input_arg { name: "a" type: DT_FLOAT }
                                 output_arg { name: "r" type: DT_FLOAT } }
                     node_def { name: "n" op: "Neg" input: "a" attr { key: "T" value { type: DT_FLOAT } } }
                     ret { key: "r" value: "n:y:0" } } }
versions { producer: 1987 }
)";

pb::GraphDef graphSeed() {
  pb::GraphDef graph;
  google::protobuf::TextFormat::ParseFromString(graphText, &graph);
  return graph;
}

pb::SavedModel modelSeed() {
  pb::SavedModel model;
  model.set_saved_model_schema_version(1);
  pb::MetaGraphDef &meta = *model.add_meta_graphs();
  *meta.mutable_graph_def() = graphSeed();
  meta.mutable_meta_info_def()->add_tags("serve");
  auto &signature = (*meta.mutable_signature_def())["serving_default"];
  (*signature.mutable_inputs())["x"].set_name("x:0");
  (*signature.mutable_outputs())["y"].set_name("f:0");
  auto &object = *meta.mutable_object_graph_def()->add_nodes();
  object.add_children()->set_local_name("a");
  return model;
}

/// An imported module must be valid and exportable.
void checkModule(Expected<mlir::OwningOpRef<mlir::ModuleOp>> module) {
  if (!module)
    return;
  if (failed(mlir::verify(**module)))
    std::abort();
  (void)exportGraphDefBytes(**module);
}

template <typename Import> void readGraph(std::string_view bytes, Import import) {
  google::protobuf::LogSilencer silencer;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &) {});
  checkModule(import(context, bytes));
}

void readAnyGraph(std::string_view bytes) {
  readGraph(bytes, [](mlir::MLIRContext &context, std::string_view content) {
    return importBytes(context, content);
  });
}
void readText(std::string_view bytes) { readGraph(bytes, importGraphDefText); }
void readMlir(std::string_view bytes) {
  readGraph(bytes, [](mlir::MLIRContext &context, std::string_view text) {
    return importMlirText(context, text);
  });
}
void readModel(std::string_view bytes) {
  readGraph(bytes, [](mlir::MLIRContext &context, std::string_view message) {
    return importSavedModel(context, message);
  });
}

std::vector<std::string> graphSeeds() { return {graphSeed().SerializeAsString()}; }
std::vector<std::string> textSeeds() { return {graphText}; }
std::vector<std::string> modelSeeds() { return {modelSeed().SerializeAsString()}; }

// --- chunks ------------------------------------------------------------------------------------

void readChunks(std::string_view bytes) {
  pb::SavedModel model;
  (void)graphdef::mergeChunks(bytes, model);
}

std::string recordFile(const std::vector<std::string_view> &records) {
  std::string file;
  riegeli::RecordWriter writer([&](std::string_view part) { return file.append(part), true; });
  for (std::string_view record : records)
    writer.write({record});
  return file;
}

/// The last part describes how to merge the others; their positions in the file are filled in.
void readChunkParts(std::string_view bytes) {
  std::vector<std::string_view> parts = partsOf(bytes);
  pb::ChunkMetadata metadata;
  if (parts.empty() ||
      !metadata.ParsePartialFromArray(parts.back().data(), static_cast<int>(parts.back().size())))
    return;
  std::string file;
  riegeli::RecordWriter writer([&](std::string_view part) { return file.append(part), true; });
  metadata.clear_chunks();
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    pb::ChunkInfo &info = *metadata.add_chunks();
    info.set_offset(writer.write({parts[i]}));
    info.set_size(parts[i].size());
  }
  writer.write({metadata.SerializePartialAsString()});
  readChunks(file);
}

std::string chunkParts() {
  pb::SavedModel model = modelSeed(), rest = model;
  rest.mutable_meta_graphs(0)->mutable_graph_def()->clear_node();
  pb::ChunkMetadata metadata;
  std::vector<std::string> parts = {rest.SerializeAsString()};
  pb::ChunkedMessage &whole = *metadata.mutable_message();
  whole.set_chunk_index(0);
  for (int i = 0; i < 2; ++i) {
    parts.push_back(model.meta_graphs(0).graph_def().node(i).SerializeAsString());
    pb::ChunkedField &field = *whole.add_chunked_fields();
    field.mutable_message()->set_chunk_index(static_cast<uint64_t>(i) + 1);
    field.add_field_tag()->set_field(2); // meta_graphs
    field.add_field_tag()->set_index(0);
    field.add_field_tag()->set_field(2); // graph_def
    field.add_field_tag()->set_field(1); // node
    field.add_field_tag()->set_index(static_cast<uint64_t>(i));
  }
  parts.push_back(metadata.SerializeAsString());
  return joinParts(parts);
}

std::vector<std::string> chunkFileSeeds() {
  std::string record = modelSeed().SerializeAsString();
  pb::ChunkMetadata metadata;
  metadata.mutable_message()->set_chunk_index(0);
  constexpr uint64_t firstRecord = 64; // after the signature
  metadata.add_chunks()->set_offset(firstRecord);
  metadata.mutable_chunks(0)->set_size(record.size());
  return {recordFile({record, metadata.SerializeAsString()})};
}

void readRecordFile(std::string_view bytes) {
  auto reader = riegeli::RecordReader::open(bytes);
  if (!reader)
    return;
  (void)reader->readLast();
  for (uint64_t position : {0, 64, 65, 200})
    (void)reader->read(position);
}

std::vector<std::string> recordFileSeeds() {
  return {recordFile({"", "abc", std::string(300, 'x')})};
}

// --- MLIR --------------------------------------------------------------------------------------

std::vector<std::string> mlirSeeds() {
  return {R"(module attributes {tfg.versions = #tfg.versions<producer = 1987>} {
  %a, %c = Placeholder() {name = "a", dtype = f32, shape = #tf_type.shape<2x?>} : () -> tensor<2x?xf32>
})",
          R"(#map = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.add %a, %0 : tensor<2x3xf32>
  %2 = "stablehlo.reduce"(%1, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<2x3xf32>
})",
          R"(module {
  func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
    %c = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
    %0 = stablehlo.slice %a [0:4:1] : (tensor<4xi32>) -> tensor<4xi32>
    %1 = stablehlo.concatenate %0, %c, dim = 0 : (tensor<4xi32>, tensor<4xi32>) -> tensor<8xi32>
    %2 = stablehlo.dynamic_slice %1, %i, sizes = [4] : (tensor<8xi32>, tensor<i32>) -> tensor<4xi32>
    %3 = stablehlo.iota dim = 0 : tensor<4xi32>
    %4 = stablehlo.gather %a, %3 : tensor<4xi32>
    return %3 : tensor<4xi32>
  }
})",
          R"(func.func @main(%a: tensor<4xf32>) -> tensor<f32> {
  %z = arith.constant dense<0.0> : tensor<f32>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %z) -> (tensor<f32>) {
    %e = tensor.extract %a[%i] : tensor<4xf32>
    %t = tensor.from_elements %e : tensor<f32>
    scf.yield %t : tensor<f32>
  }
  return %r : tensor<f32>
})",
          R"(#a = {x = 1 : i32}
"tf.A"() {b = [#a, #a], c = dense<1> : tensor<2xi8>} : () -> ())"};
}

/// The prefix makes the bytes bytecode; without it they would be another format.
void readBytecode(std::string_view bytes) { readAnyGraph("ML\xefR" + std::string(bytes)); }

std::vector<std::string> bytecodeSeeds() {
  constexpr size_t magic = 4;
  return {bytecode::sampleArtifact(0).substr(magic), bytecode::sampleArtifact().substr(magic)};
}

constexpr Reader readers[] = {
    {"bytecode", readBytecode, bytecodeSeeds},
    {"chunk_file", readChunks, chunkFileSeeds},
    {"chunks", readChunkParts, [] { return std::vector{chunkParts()}; }},
    {"graph", readAnyGraph, graphSeeds},
    {"graph_text", readText, textSeeds},
    {"mlir", readMlir, mlirSeeds},
    {"riegeli", readRecordFile, recordFileSeeds},
    {"saved_model", readModel, modelSeeds},
};

} // namespace

std::span<const Reader> graphReaders() { return readers; }

} // namespace treadle::fuzz
