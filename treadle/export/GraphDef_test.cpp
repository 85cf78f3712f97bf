// Tests that export round-trips imported messages, and that it rejects what a GraphDef can't
// represent.
#include "treadle/export/File.h"
#include "treadle/export/GraphDef.h"
#include "treadle/import/Attributes.h"
#include "treadle/import/File.h"
#include "treadle/testing/ImportTest.h"

#include <google/protobuf/text_format.h>

#include <bit>
#include <filesystem>
#include <unistd.h>

using namespace mlir;
using namespace treadle;

namespace {

class ExportTest : public ImportTest {
protected:
  /// Imports, exports and compares, also through MLIR's text form.
  void roundTrip(const pb::GraphDef &graph) {
    take(importGraphDef(context, graph.SerializeAsString()));
    ASSERT_TRUE(module) << message;
    EXPECT_TRUE(succeeded(verify(*module)));
    expectEqual(*module, graph);
    auto again = importMlirText(context, print());
    ASSERT_TRUE(again) << again.error().message << print();
    expectEqual(**again, graph);
  }

  void expectEqual(ModuleOp module, const pb::GraphDef &graph) {
    auto bytes = exportGraphDefBytes(module);
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_EQ(*bytes, graphdef::serialize(graph)) << print();
    auto message = exportGraphDef(module);
    ASSERT_TRUE(message) << message.error().message;
    EXPECT_EQ(graphdef::serialize(*message), graphdef::serialize(graph));
  }

  static pb::GraphDef parse(const std::string &text) {
    pb::GraphDef graph;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &graph)) << text;
    return graph;
  }

  /// Returns the error of exporting a module in MLIR's text form.
  std::string exportError(std::string_view text) {
    auto parsed = importMlirText(context, text);
    if (!parsed)
      return "import: " + parsed.error().message;
    auto bytes = exportGraphDefBytes(**parsed);
    return bytes ? "" : bytes.error().message;
  }
};

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class AttributeRoundTrip : public ExportTest, public testing::WithParamInterface<const char *> {};

TEST_P(AttributeRoundTrip, IsEqual) {
  roundTrip(parse(
      str("node { name: 'n' op: 'NobodyKnows' attr { key: 'k' value {", GetParam(), "} } }")));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, AttributeRoundTrip,
    testing::Values("", "s: ''", "s: 'text'", "s: '\\000\\377\"'", "i: 0",
                    "i: -9223372036854775808", "f: 1.5", "f: -0.0", "f: inf", "b: false", "b: true",
                    "type: DT_INT32", "type: DT_INT32_REF", "type: DT_INVALID", "type: 1234",
                    "placeholder: 'T'", "placeholder: ''", "shape { }",
                    "shape { unknown_rank: true }", "shape { dim { size: 2 } dim { size: -1 } }",
                    "shape { dim { size: -7 } }", "shape { dim { size: 2 name: 'rows' } }",
                    "shape { unknown_rank: true dim { size: 1 } }"));

INSTANTIATE_TEST_SUITE_P(
    Lists, AttributeRoundTrip,
    testing::Values("list { }", "list { s: '' s: 'x' }", "list { i: 1 i: -1 }",
                    "list { f: 1 f: -0.0 f: nan }", "list { b: true b: false }",
                    "list { type: DT_INT32 type: DT_FLOAT }", "list { type: 1234 }",
                    "list { shape { } }", "list { shape { unknown_rank: true } shape { dim { } } }",
                    "list { func { name: 'f' } func { } }", "list { tensor { dtype: DT_FLOAT } }",
                    "list { i: 1 s: 'mixed' }"));

INSTANTIATE_TEST_SUITE_P(
    Functions, AttributeRoundTrip,
    testing::Values("func { }", "func { name: 'f' }",
                    "func { name: 'f' attr { key: 'T' value { type: DT_INT32 } } }",
                    "func { name: 'a b/c' attr { key: 'g' value { func { name: 'g' } } } }"));

// The encodings of one tensor are all different messages.
INSTANTIATE_TEST_SUITE_P(
    Tensors, AttributeRoundTrip,
    testing::Values(
        "tensor { }", "tensor { dtype: DT_FLOAT }", "tensor { dtype: DT_FLOAT tensor_shape { } }",
        "tensor { dtype: DT_FLOAT tensor_shape { } float_val: -0.0 }",
        "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 float_val: 2 }",
        "tensor { dtype: DT_FLOAT tensor_shape { } tensor_content: '\\000\\000\\200\\077' }",
        "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: 1 }",
        "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: 1 float_val: 2 }",
        "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 1 float_val: 1 }",
        "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 0 } } }",
        "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 0 } } float_val: 1 }",
        "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1 } } int_val: 1 }",
        "tensor { dtype: DT_FLOAT tensor_shape { unknown_rank: true } float_val: 1 }",
        "tensor { dtype: DT_FLOAT tensor_shape { dim { size: -1 } } float_val: 1 }",
        "tensor { dtype: DT_INT8 tensor_shape { dim { size: 2 } } tensor_content: '\\001\\002' }",
        "tensor { dtype: DT_INT8 tensor_shape { dim { size: 2 } } tensor_content: '\\001\\001' }",
        "tensor { dtype: DT_INT8 tensor_shape { dim { size: 2 } } tensor_content: '\\001' }",
        "tensor { dtype: DT_INT8 tensor_shape { } int_val: 300 }",
        "tensor { dtype: DT_UINT64 tensor_shape { } uint64_val: 18446744073709551615 }",
        "tensor { dtype: DT_HALF tensor_shape { } half_val: 15360 }",
        "tensor { dtype: DT_BOOL tensor_shape { } bool_val: true }",
        "tensor { dtype: DT_BOOL tensor_shape { dim { size: 2 } } tensor_content: '\\001\\000' }",
        "tensor { dtype: DT_BOOL tensor_shape { dim { size: 2 } } tensor_content: '\\002\\000' }",
        "tensor { dtype: DT_COMPLEX64 tensor_shape { } scomplex_val: 1 scomplex_val: -0.0 }",
        "tensor { dtype: DT_STRING tensor_shape { } string_val: '\\000\\377' }",
        "tensor { dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: 'a' "
        "string_val: 'b' }",
        "tensor { dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: 'a' "
        "string_val: 'a' }",
        "tensor { dtype: DT_STRING tensor_shape { dim { size: 0 } } }",
        "tensor { dtype: DT_FLOAT8_E5M2 tensor_shape { } float8_val: '\\001' }",
        "tensor { dtype: DT_INT4 tensor_shape { } int_val: 7 }",
        "tensor { dtype: DT_VARIANT tensor_shape { } variant_val { type_name: 'x' } }",
        "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 version_number: 3 }",
        "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 4611686018427387904 } "
        "dim { size: 4611686018427387904 } } float_val: 1 }"));

TEST_F(ExportTest, NaNPayloadsArePreserved) {
  pb::GraphDef graph = parse("node { name: 'n' op: 'NobodyKnows' }");
  auto &attrs = *graph.mutable_node(0)->mutable_attr();
  float value = std::bit_cast<float>(0xffc12345u);
  attrs["f"].set_f(value);
  attrs["l"].mutable_list()->add_f(value);
  pb::TensorProto &tensor = *attrs["t"].mutable_tensor();
  tensor.set_dtype(pb::DT_FLOAT);
  tensor.mutable_tensor_shape();
  tensor.add_float_val(value);
  roundTrip(graph);
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

struct Graph {
  const char *name, *text;
};

std::ostream &operator<<(std::ostream &stream, const Graph &graph) { return stream << graph.name; }

class GraphRoundTrip : public ExportTest, public testing::WithParamInterface<Graph> {};

TEST_P(GraphRoundTrip, IsEqual) { roundTrip(parse(GetParam().text)); }

#define X "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }"
#define T "attr { key: 'T' value { type: DT_FLOAT } }"

constexpr Graph graphs[] = {
    {"Empty", ""},
    {"Versions", "versions { producer: 1482 min_consumer: 12 bad_consumers: 7 bad_consumers: 7 }"},
    {"EmptyVersions", "versions { }"},
    {"OldVersion", "version: 21"},
    {"EmptyLibrary", "library { }"},
    {"NodesInReverse", "node { name: 'n' op: 'Neg' input: 'x' input: '^x' " T " }" X},
    {"RedundantIndex", X "node { name: 'n' op: 'Neg' input: 'x:0' " T " }"},
    {"IndexWithLeadingZeros", X "node { name: 'n' op: 'Neg' input: 'x:00' " T " }"},
    {"NamedOutputInAGraph", X "node { name: 'n' op: 'Neg' input: 'x:output:0' " T " }"},
    {"ControlInputTwice", X "node { name: 'n' op: 'NoOp' input: '^x' input: '^x' }"},
    {"Device", "node { name: 'n' op: 'NoOp' device: '/job:a/device:CPU:0' }"},
    {"ReservedAttribute",
     "node { name: 'n' op: 'NoOp' attr { key: '_mlir_name' value { s: 'other' } } }"},
    {"AttributeNamedLikeANote",
     "node { name: 'n' op: 'NoOp' attr { key: 'tfg.problem' value { s: 'none' } } }"},
    {"DebugInfo", "node { name: 'n' op: 'NoOp' experimental_debug_info { original_node_names: 'o' "
                  "original_func_names: 'f' } }"},
    {"EmptyDebugInfo", "node { name: 'n' op: 'NoOp' experimental_debug_info { } }"},
    {"Traces",
     X "debug_info { files: 'a.py' traces { key: 'x@' value { file_line_cols { line: 3 "
       "file_index: 0 func: 'f' code: 'x = 1' } file_line_cols { file_index: 9 line: -1 } } "
       "} traces { key: 'y@g' value { } } }"},
    {"TracesByNumber",
     X "debug_info { files: 'a.py' frames_by_id { key: 7 value { file_index: 0 line: 3 col: 4 } } "
       "traces_by_id { key: 1 value { frame_id: 7 frame_id: 8 } } name_to_trace_id { key: 'x@' "
       "value: 1 } name_to_trace_id { key: 'z@' value: 5 } }"},
    {"EmptyTraces", X "debug_info { }"},
    {"FullType", "node { name: 'n' op: 'NoOp' experimental_type { type_id: TFT_PRODUCT args { "
                 "type_id: TFT_TENSOR args { type_id: TFT_FLOAT } } args { s: 'T' } } }"},
    {"EmptyFullType", "node { name: 'n' op: 'NoOp' experimental_type { } }"},
    {"UnknownOp", "node { name: 'n' op: 'Neg' input: 'u:2' " T " }"
                  "node { name: 'u' op: 'What' input: 'u2:1' } node { name: 'u2' op: 'What' }"},
    {"OddNames", "node { name: 'a b/c.d-\\\\' op: 'NoOp' }"
                 "node { name: '\\303\\244' op: 'NoOp' input: '^a b/c.d-\\\\' }"},
};

constexpr Graph functions[] = {
    {"EmptyFunction", "library { function { signature { name: 'F' } } }"},
    {"Instantiated", "library { function { signature { name: 'F' description: 'd' is_stateful: true"
                     "  input_arg { name: 'x' type: DT_FLOAT description: 'first' is_ref: true }"
                     "  output_arg { name: 'y' type: DT_FLOAT } control_output: 'c' }"
                     " node_def { name: 'n' op: 'Neg' input: 'x' input: '^x' " T " }"
                     " ret { key: 'y' value: 'n:y:0' } control_ret { key: 'c' value: 'n' }"
                     " attr { key: '_a' value { b: true } } arg_attr { key: 0 value { attr { key: "
                     "'_b' value { i: 3 "
                     "} } } } resource_arg_unique_id { key: 0 value: 9 } } }"},
    {"Generic",
     "library { function { signature { name: 'F' attr { name: 'T' type: 'type' allowed_values { "
     "list { type: DT_FLOAT } } default_value { type: DT_FLOAT } } attr { name: 'N' type: 'int' "
     "has_minimum: true minimum: 1 } input_arg { name: 'x' type_attr: 'T' number_attr: 'N' }"
     "  output_arg { name: 'y' type_attr: 'T' } }"
     " node_def { name: 'n' op: 'AddN' input: 'x' attr { key: 'T' value { placeholder: 'T' } }"
     "  attr { key: 'N' value { placeholder: 'N' } } }"
     " ret { key: 'y' value: 'n:sum:0' } } }"},
    {"ControlResultsThatTheSignatureLacks",
     "library { function { signature { name: 'F' } node_def { name: 'n' op: 'NoOp' }"
     " control_ret { key: 'b' value: 'n' } control_ret { key: 'a' value: 'n' } } }"},
    {"HandleData",
     "library { function { signature { name: 'F' input_arg { name: 'x' type: DT_RESOURCE"
     " handle_data { dtype: DT_FLOAT shape { dim { size: 2 } dim { size: -1 } } }"
     " handle_data { dtype: DT_INT32 shape { unknown_rank: true } } } } } }"},
    {"ArgumentAttributesBeyondTheArguments",
     "library { function { signature { name: 'F' } arg_attr { key: 4 value { } } } }"},
    {"Order", "library { function { signature { name: 'B' } } function { signature { name: 'A' } }"
              " }"},
    {"Gradients", "library { function { signature { name: 'A' } } function { signature { name: 'B' "
                  "} } gradient { function_name: 'A' gradient_func: 'B' } }"},
    {"GradientsInAnotherOrder",
     "library { function { signature { name: 'A' } } function { signature { name: 'B' } }"
     " gradient { function_name: 'B' gradient_func: 'A' }"
     " gradient { function_name: 'A' gradient_func: 'B' } }"},
    {"GradientOfNoFunction", "library { gradient { function_name: 'A' gradient_func: 'B' } }"},
    {"UnknownOpInAFunction",
     "library { function { signature { name: 'F' output_arg { name: 'y' type: DT_FLOAT } }"
     " node_def { name: 'u' op: 'What' } ret { key: 'y' value: 'u:out:3' } } }"},
};

std::string nameOf(const testing::TestParamInfo<Graph> &info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Graphs, GraphRoundTrip, testing::ValuesIn(graphs), nameOf);
INSTANTIATE_TEST_SUITE_P(Functions, GraphRoundTrip, testing::ValuesIn(functions), nameOf);

// Newer versions of the format have fields that this one doesn't know.
TEST_F(ExportTest, UnknownFieldsArePreserved) {
  pb::GraphDef graph = parse("node { name: 'n' op: 'NoOp' attr { key: 'k' value { i: 1 } } }"
                             "library { function { signature { name: 'F' } } } versions { }");
  auto addTo = [](google::protobuf::Message &message) {
    message.GetReflection()->MutableUnknownFields(&message)->AddVarint(1999, 7);
  };
  pb::FunctionDef &function = *graph.mutable_library()->mutable_function(0);
  addTo(graph), addTo(*graph.mutable_versions()), addTo(*graph.mutable_library());
  addTo(function), addTo(*function.mutable_signature());
  addTo(*graph.mutable_node(0)), addTo((*graph.mutable_node(0)->mutable_attr())["k"]);
  roundTrip(graph);
}

//===----------------------------------------------------------------------===//
// Modified or newly built modules
//===----------------------------------------------------------------------===//

TEST_F(ExportTest, ChangesAreExported) {
  import("node { name: 'a' op: 'NoOp' } node { name: 'b' op: 'NoOp' input: '^a' }");
  ASSERT_TRUE(module) << message;
  nodes["a"].setName("c");
  auto text = exportGraphDefText(*module);
  ASSERT_TRUE(text) << text.error().message;
  pb::GraphDef expected =
      parse("node { name: 'c' op: 'NoOp' } node { name: 'b' op: 'NoOp' input: '^c' }");
  EXPECT_EQ(graphdef::serialize(parse(*text)), graphdef::serialize(expected));
}

TEST_F(ExportTest, TwoGraphs) {
  EXPECT_EQ(exportError("tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {}\n"
                        "tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {}"),
            "found a second tfg.graph, expected one in a module");
}

TEST_F(ExportTest, AnOperationOfAnotherDialect) {
  EXPECT_EQ(exportError("module { module { } }"),
            "found builtin.module, expected tfg.graph and tfg.func; convert it to tfg first");
}

TEST_F(ExportTest, AnAttributeThatAGraphDefCantRepresent) {
  EXPECT_EQ(exportError("tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {\n"
                        "  %ctl = NoOp name(\"n\") {k = affine_map<() -> ()>}\n}"),
            "node 'n' (NoOp): attribute 'k': attribute affine_map<() -> ()> can't be stored in a "
            "GraphDef, expected a string, i64, f32, bool, type, shape, tensor, function, "
            "placeholder, or a list of one of them");
}

TEST_F(ExportTest, AnUnknownExtension) {
  import("");
  auto written = exportFile(*module, "graph.txt");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message,
            "'graph.txt' has no known extension (did you mean '.pbtxt'?); end it "
            "in .pb, .pbtxt, .cpb or .mlir (a "
            "folder is for SavedModels)");
}

TEST_F(ExportTest, AMissingFolder) {
  import("");
  auto written = exportFile(*module, testing::TempDir() + "no/such/folder/graph.pb");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::Unavailable);
}

TEST_F(ExportTest, FilesOfAllFormatsHoldTheSameGraph) {
  pb::GraphDef graph = parse("node { name: 'n' op: 'NoOp' } versions { producer: 5 }");
  take(importGraphDef(context, graph));
  ASSERT_TRUE(module) << message;
  for (const char *extension : {".pb", ".pbtxt", ".mlir"}) {
    std::string path = str(testing::TempDir(), "export_test_", ::getpid(), extension);
    auto written = exportFile(*module, path);
    ASSERT_TRUE(written) << written.error().message;
    auto read = importFile(context, path);
    ASSERT_TRUE(read) << read.error().message;
    expectEqual(**read, graph);
    std::filesystem::remove(path);
  }
}

} // namespace
