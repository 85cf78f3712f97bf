// Tests every error of a graph's node: one message, which names the node.
#include "treadle/testing/ImportTest.h"

using namespace treadle;

namespace {

/// A graph with a malformed node after two constants, and the expected error.
struct Malformed {
  const char *name;
  const char *nodes;
  const char *message;
};

std::ostream &operator<<(std::ostream &stream, const Malformed &malformed) {
  return stream << malformed.name;
}

class MalformedNode : public ImportTest, public testing::WithParamInterface<Malformed> {};

TEST_P(MalformedNode, IsOneError) {
  std::string graph = R"(
    node { name: 'a' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
      attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
    node { name: 'b' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }
      attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 2 } } } })";
  EXPECT_EQ(errorOf(graph + GetParam().nodes), GetParam().message);
}

#define T_FLOAT "attr { key: 'T' value { type: DT_FLOAT } }"
#define NEXT "op: 'NextIteration' " T_FLOAT

constexpr Malformed names[] = {
    {"EmptyName", "node { op: 'NoOp' }",
     "a node (NoOp) has an empty name, expected every node and argument to have one"},
    {"DuplicateName", "node { name: 'a' op: 'NoOp' }",
     "node 'a': its name is used by another node (Const); names must be unique, rename one of "
     "them"},
    {"NameWithColon", "node { name: 'n:0' op: 'NoOp' }",
     "node 'n:0': its name contains ':' or begins with '^', which inputs use to name outputs and "
     "control dependencies; rename it"},
    {"NameWithCaret", "node { name: '^n' op: 'NoOp' }",
     "node '^n': its name contains ':' or begins with '^', which inputs use to name outputs and "
     "control dependencies; rename it"},
    {"NoOpType", "node { name: 'n' }", "node 'n': its op is '', expected the name of an op"},
    {"OpThatIsNoNode", "node { name: 'n' op: 'graph' }",
     "node 'n': its op is 'graph', expected the name of an op"},
};

constexpr Malformed inputs[] = {
    {"MissingInput", "node { name: 'n' op: 'Identity' input: 'x:1' " T_FLOAT " }",
     "node 'n' (Identity): input 0 is 'x:1', but there is no node 'x'"},
    {"MissingControlInput", "node { name: 'n' op: 'NoOp' input: '^a' input: '^x' }",
     "node 'n' (NoOp): input 1 is '^x', but there is no node 'x'"},
    {"EmptyInput", "node { name: 'n' op: 'Identity' input: '' " T_FLOAT " }",
     "node 'n' (Identity): input 0 is '', which doesn't name a node"},
    {"InputIndexTooLarge", "node { name: 'n' op: 'Identity' input: 'a:1' " T_FLOAT " }",
     "node 'n' (Identity): input 0 is 'a:1', but 'a' (Const) has 1 output"},
    {"InputIndexOfManyDigits",
     "node { name: 'n' op: 'Identity' input: 'a:99999999999999999999' " T_FLOAT " }",
     "node 'n' (Identity): input 0 is 'a:99999999999999999999', whose index is too large"},
    {"InputOfALaterNode",
     "node { name: 'n' op: 'Identity' input: 'z:1' " T_FLOAT " } node { name: 'z' op: 'NoOp' }",
     "node 'n' (Identity): input 0 is 'z:1', but 'z' (NoOp) has 0 outputs"},
    {"NoSuchOutput", "node { name: 'n' op: 'Identity' input: 'a:nope:0' " T_FLOAT " }",
     "node 'n' (Identity): input 0 is 'a:nope', but 'a' (Const) has no output of that name"},
    {"NamedOutputTooLarge", "node { name: 'n' op: 'Identity' input: 'a:output:7' " T_FLOAT " }",
     "node 'n' (Identity): input 0 is 'a:output:7', but output 'output' of 'a' (Const) has 1 "
     "value"},
    {"OutputOfUnknownOpTooLarge",
     "node { name: 'u' op: 'What' } node { name: 'n' op: 'Identity' input: 'u:70000' " T_FLOAT " }",
     "node 'n' (Identity): input 0 is output 70000 of 'u', expected at most 65535"},
    {"NamedOutputOfUnknownOp",
     "node { name: 'u' op: 'What' } node { name: 'n' op: 'Identity' input: 'u:y:0' " T_FLOAT " }",
     "node 'n' (Identity): input 0 is 'u:y', but op What is unknown, so its outputs have no names; "
     "name them by number"},
    {"DataAfterControl", "node { name: 'n' op: 'Identity' input: '^b' input: 'a' " T_FLOAT " }",
     "node 'n' (Identity): input 1 is 'a', a data input after a control input; control inputs "
     "('^...') come last"},
    {"TooFewInputs", "node { name: 'n' op: 'AddV2' input: 'a' " T_FLOAT " }",
     "node 'n' (AddV2): has 1 data input, expected 2"},
    {"TooManyInputs", "node { name: 'n' op: 'Neg' input: 'a' input: 'a' " T_FLOAT " }",
     "node 'n' (Neg): has 2 data inputs, expected 1"},
    {"WrongType", "node { name: 'n' op: 'AddV2' input: 'a' input: 'b' " T_FLOAT " }",
     "node 'n' (AddV2): input 1 comes from 'b' (Const) and has type i32, expected f32"},
    {"WrongTypeFromALaterNode",
     "node { name: 'n' op: 'Neg' input: 'z' " T_FLOAT " } node { name: 'z' op: 'Neg' input: 'b' "
     "attr { key: 'T' value { type: DT_INT32 } } }",
     "node 'n' (Neg): input 0 comes from 'z' (Neg) and has type i32, expected f32"},
    {"ValueForAReference", "node { name: 'n' op: 'Assign' input: 'a' input: 'a' " T_FLOAT " }",
     "node 'n' (Assign): input 0 comes from 'a' (Const) and has type f32, expected "
     "!tf_type.f32ref"},
};

constexpr Malformed attributes[] = {
    {"MissingAttribute", "node { name: 'n' op: 'Neg' input: 'a' }",
     "node 'n' (Neg): attribute 'T' is missing, expected type"},
    {"AttributeOfWrongKind",
     "node { name: 'n' op: 'Neg' input: 'a' attr { key: 'T' value { i: 1 } } }",
     "node 'n' (Neg): attribute 'T' has kind int, expected type"},
    {"AttributeOfWrongListKind",
     "node { name: 'n' op: 'Squeeze' input: 'a' " T_FLOAT
     " attr { key: 'squeeze_dims' value { list { s: 'x' } } } }",
     "node 'n' (Squeeze): attribute 'squeeze_dims' has kind list(string), expected list(int)"},
    {"PlaceholderInAGraph",
     "node { name: 'n' op: 'Neg' input: 'a' attr { key: 'T' value { placeholder: 'T' } } }",
     "node 'n' (Neg): attribute 'T' is a placeholder outside a generic function, expected type"},
    {"TypeThatIsNotAllowed",
     "node { name: 'n' op: 'Neg' input: 'a' attr { key: 'T' value { type: DT_STRING } } }",
     "node 'n' (Neg): attribute 'T' is string, expected one of float32, float64, int32, int16, "
     "int8, complex64, int64, bfloat16, complex128, float16"},
    {"TypeThatNoTensorHas",
     "node { name: 'n' op: 'Neg' input: 'a' attr { key: 'T' value { type: DT_FLOAT4_E2M1FN } } }",
     "node 'n' (Neg): attribute 'T' is f4E2M1FN, expected one of float32, float64, int32, int16, "
     "int8, complex64, int64, bfloat16, complex128, float16"},
    {"StringThatIsNotAllowed",
     "node { name: 'n' op: 'Conv2D' input: 'a' input: 'a' " T_FLOAT
     " attr { key: 'strides' value { list { i: 1 } } }"
     " attr { key: 'padding' value { s: 'MAYBE' } } }",
     "node 'n' (Conv2D): attribute 'padding' is \"MAYBE\", expected one of SAME, VALID, EXPLICIT"},
    {"NumberTooSmall", "node { name: 'n' op: 'AddN' " T_FLOAT " attr { key: 'N' value { i: 0 } } }",
     "node 'n' (AddN): attribute 'N' is 0, expected at least 1"},
    {"NegativeNumber",
     "node { name: 'n' op: 'Unpack' input: 'a' " T_FLOAT " attr { key: 'num' value { i: -1 } } }",
     "node 'n' (Unpack): attribute 'num' is -1, expected at least 0"},
    {"HugeNumber",
     "node { name: 'n' op: 'Unpack' input: 'a' " T_FLOAT
     " attr { key: 'num' value { i: 999999999999 } } }",
     "node 'n' (Unpack): attribute 'num' is 999999999999, expected a number of values from 0 to "
     "65536"},
    {"EmptyAttributeName", "node { name: 'n' op: 'NoOp' attr { key: '' value { i: 1 } } }",
     "node 'n' (NoOp): an attribute has an empty name, expected every attribute to have one"},
};

constexpr Malformed cycles[] = {
    {"NodeThatUsesItself", "node { name: 'n' op: 'Neg' input: 'n' " T_FLOAT " }",
     "node 'n' (Neg): it depends on itself, through its own input; a cycle must be a loop: "
     "only the edge from a NextIteration to a Merge may close it"},
    {"CycleOfData",
     "node { name: 'p' op: 'Neg' input: 'q' " T_FLOAT
     " } node { name: 'q' op: 'Abs' input: 'p' " T_FLOAT " }",
     "node 'p' (Neg): it depends on itself, through 'q'; a cycle must be a loop: only the edge "
     "from "
     "a NextIteration to a Merge may close it"},
    {"CycleOfControl",
     "node { name: 'p' op: 'NoOp' input: '^q' } node { name: 'q' op: 'NoOp' input: '^p' }",
     "node 'p' (NoOp): it depends on itself, through 'q'; a cycle must be a loop: only the edge "
     "from a NextIteration to a Merge may close it"},
    {"LoopWithoutMerge",
     "node { name: 'p' op: 'Neg' input: 'q' " T_FLOAT " } node { name: 'q' input: 'p' " NEXT " }",
     "node 'p' (Neg): it depends on itself, through 'q'; a cycle must be a loop: only the edge "
     "from "
     "a NextIteration to a Merge may close it"},
};

std::string nameOf(const testing::TestParamInfo<Malformed> &info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Names, MalformedNode, testing::ValuesIn(names), nameOf);
INSTANTIATE_TEST_SUITE_P(Inputs, MalformedNode, testing::ValuesIn(inputs), nameOf);
INSTANTIATE_TEST_SUITE_P(Attributes, MalformedNode, testing::ValuesIn(attributes), nameOf);
INSTANTIATE_TEST_SUITE_P(Cycles, MalformedNode, testing::ValuesIn(cycles), nameOf);

} // namespace
