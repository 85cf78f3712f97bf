// Tests the import of small graphs: nodes, edges, versions, corrupted bytes.
#include "treadle/proto/graph.pb.h"
#include "treadle/testing/ImportTest.h"

using namespace mlir;
using namespace treadle;

namespace {

constexpr std::string_view constants = R"(
  node { name: 'a' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
         attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
  node { name: 'b' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }
         attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 2 } } } }
)";

std::string withConstants(std::string_view rest) {
  return std::string(constants) + std::string(rest);
}

TEST_F(ImportTest, ANodeBecomesAnOperation) {
  import(withConstants(R"(
    node { name: 's' op: 'AddV2' input: 'a' input: 'a' input: '^b' device: '/CPU:0'
           attr { key: 'T' value { type: DT_FLOAT } } }
    versions { producer: 1482 min_consumer: 12 bad_consumers: 7 })"));
  ASSERT_TRUE(module) << message;
  EXPECT_EQ(print(), R"(module {
  tfg.graph #tf_type.version<producer = 1482, min_consumer = 12, bad_consumers = [7]> {
    %Const, %ctl = Const name("a") {dtype = f32, value = dense<1.000000e+00> : tensor<f32>} : () -> (tensor<*xf32>)
    %Const_0, %ctl_1 = Const name("b") {dtype = i32, value = dense<2> : tensor<i32>} : () -> (tensor<*xi32>)
    %AddV2, %ctl_2 = AddV2(%Const, %Const) [%ctl_1] device("/CPU:0") name("s") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  }
})");
}

TEST_F(ImportTest, ANodeMayUseLaterOnes) {
  import(R"(
    node { name: 's' op: 'AddV2' input: 'a' input: 'a' input: '^a'
           attr { key: 'T' value { type: DT_FLOAT } } })" +
         std::string(constants));
  ASSERT_TRUE(module) << message;
  EXPECT_EQ(nodes["s"].data()[1], nodes["a"].results()[0]);
  EXPECT_EQ(nodes["s"].control()[0], nodes["a"].controlResult());
}

TEST_F(ImportTest, AnInputMayNameAnyOutput) {
  import(withConstants(R"(
    node { name: 'u' op: 'Unpack' input: 'a' attr { key: 'num' value { i: 3 } }
           attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 's' op: 'AddV2' input: 'u:2' input: 'u'
           attr { key: 'T' value { type: DT_FLOAT } } })"));
  ASSERT_TRUE(module) << message;
  EXPECT_EQ(nodes["u"].results().size(), 3u);
  EXPECT_EQ(nodes["s"].data()[0], nodes["u"].results()[2]);
  EXPECT_EQ(nodes["s"].data()[1], nodes["u"].results()[0]);
}

TEST_F(ImportTest, DefaultsAreNotFilledIn) {
  import(withConstants(R"(
    node { name: 'm' op: 'MatMul' input: 'a' input: 'a'
           attr { key: 'T' value { type: DT_FLOAT } } })"));
  ASSERT_TRUE(module) << message;
  EXPECT_TRUE(attr("m", "T"));
  EXPECT_FALSE(attr("m", "transpose_a"));
}

TEST_F(ImportTest, AReferenceMayServeAsAValue) {
  import(R"(
    node { name: 'v' op: 'VariableV2' attr { key: 'dtype' value { type: DT_FLOAT } }
           attr { key: 'shape' value { shape {} } } }
    node { name: 'i' op: 'Identity' input: 'v' attr { key: 'T' value { type: DT_FLOAT } } })");
  ASSERT_TRUE(module) << message;
  EXPECT_NE(nodes["v"].results()[0].getType(), nodes["i"].results()[0].getType());
}

// An unknown op's outputs aren't declared: it has as many as are used.
TEST_F(ImportTest, AnUnknownOpHasTheOutputsThatAreUsed) {
  import(withConstants(R"(
    node { name: 'early' op: 'Identity' input: 'u:2' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'u' op: 'NobodyKnows' input: 'a' }
    node { name: 'late' op: 'NobodyKnows' input: 'u' input: '^u' })"));
  ASSERT_TRUE(module) << message;
  EXPECT_EQ(nodes["u"].results().size(), 3u);
  EXPECT_EQ(nodes["late"].results().size(), 0u);
  EXPECT_EQ(nodes["late"].control()[0], nodes["u"].controlResult());
}

TEST_F(ImportTest, ALoopMayCloseThroughNextIteration) {
  import(withConstants(R"(
    node { name: 'e' op: 'Enter' input: 'a' attr { key: 'T' value { type: DT_FLOAT } }
           attr { key: 'frame_name' value { s: 'f' } } }
    node { name: 'm' op: 'Merge' input: 'e' input: 'n' attr { key: 'T' value { type: DT_FLOAT } }
           attr { key: 'N' value { i: 2 } } }
    node { name: 'n' op: 'NextIteration' input: 'm'
           attr { key: 'T' value { type: DT_FLOAT } } })"));
  ASSERT_TRUE(module) << message;
  EXPECT_EQ(nodes["m"].data()[1], nodes["n"].results()[0]);
}

TEST_F(ImportTest, AnEmptyGraphIsAGraph) {
  take(importGraphDef(context, std::string_view()));
  ASSERT_TRUE(module) << message;
  EXPECT_TRUE(isa<tfg::GraphOp>(module->getBody()->front()));
}

TEST_F(ImportTest, AMessageInMemoryImportsAsItsBytes) {
  pb::GraphDef graph;
  graph.add_node()->set_name("n");
  graph.mutable_node(0)->set_op("NoOp");
  graph.mutable_versions()->set_producer(3);
  take(importGraphDef(context, graph));
  ASSERT_TRUE(module) << message;
  std::string fromMessage = print();
  take(importGraphDef(context, graph.SerializeAsString()));
  EXPECT_EQ(print(), fromMessage);
}

//===----------------------------------------------------------------------===//
// Bytes that don't parse as a GraphDef
//===----------------------------------------------------------------------===//

class DamagedGraph : public ImportTest {
protected:
  std::string errorOfBytes(std::string_view bytes) {
    take(importGraphDef(context, bytes));
    return message;
  }
};

TEST_F(DamagedGraph, TruncatedBytes) {
  pb::GraphDef graph;
  graph.add_node()->set_name("a name of some length");
  std::string bytes = graph.SerializeAsString();
  bytes.pop_back();
  EXPECT_EQ(errorOfBytes(bytes),
            "the bytes don't parse as a GraphDef: the field at byte 0 is truncated or corrupted; "
            "expected a serialized GraphDef, whole and not compressed");
}

TEST_F(DamagedGraph, CompressedBytes) {
  EXPECT_NE(errorOfBytes(std::string_view("\x1f\x8b\x08\x00\x00\x00\x00\x00", 8))
                .find("the bytes don't parse as a GraphDef"),
            std::string::npos);
}

TEST_F(DamagedGraph, AMalformedNode) {
  EXPECT_EQ(errorOfBytes(std::string_view("\x0a\x03\x0a\x7fz", 5)),
            "the bytes don't parse as a GraphDef: node 0 ('') is malformed; expected a serialized "
            "GraphDef"
            ", whole and not compressed");
}

TEST_F(DamagedGraph, AMalformedLibrary) {
  EXPECT_EQ(
      errorOfBytes(std::string_view("\x12\x03\x0a\x7fz", 5)),
      "the bytes don't parse as a GraphDef: its library, versions or debug info are malformed; "
      "expected "
      "a serialized GraphDef, whole and not compressed");
}

TEST_F(DamagedGraph, TextWithAnErrorOfSyntax) {
  EXPECT_EQ(errorOf("node {\n  name: 'a' opp: 'NoOp'\n}"),
            "the text doesn't parse as a GraphDef: line 2, column 16: Message type "
            "\"treadle.pb.NodeDef\" has "
            "no field named \"opp\".; expected a GraphDef in protobuf's text form (.pbtxt)");
}

// Attributes may contain functions with attributes, and so on.
TEST_F(DamagedGraph, MessagesNestedTooDeep) {
  pb::AttrValue value;
  for (int i = 0; i < 200; ++i) {
    pb::AttrValue outer;
    outer.mutable_func()->set_name("f");
    (*outer.mutable_func()->mutable_attr())["f"].Swap(&value);
    value.Swap(&outer);
  }
  pb::GraphDef graph;
  graph.add_node()->set_op("NoOp");
  (*graph.mutable_node(0)->mutable_attr())["f"].Swap(&value);
  EXPECT_NE(errorOfBytes(graph.SerializeAsString()).find("node 0 ('') is malformed"),
            std::string::npos)
      << message;
}

} // namespace
