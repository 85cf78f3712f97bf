// Tests functions of the library: instantiated and generic ones, and all errors.
#include "treadle/testing/ImportTest.h"

using namespace mlir;
using namespace treadle;

namespace {

class FunctionTest : public ImportTest {
protected:
  tfg::FuncOp func(StringRef name) { return module->lookupSymbol<tfg::FuncOp>(name); }
};

constexpr std::string_view twice = R"(
  library { function {
    signature { name: 'Twice' input_arg { name: 'x' type: DT_FLOAT }
                output_arg { name: 'y' type: DT_FLOAT } control_output: 'done' }
    node_def { name: 'sum' op: 'AddV2' input: 'x' input: 'x' input: '^x'
               attr { key: 'T' value { type: DT_FLOAT } } }
    ret { key: 'y' value: 'sum:z:0' }
    control_ret { key: 'done' value: 'sum' }
    attr { key: '_noinline' value { b: true } }
    arg_attr { key: 0 value { attr { key: '_user' value { s: 'me' } } } } } })";

TEST_F(FunctionTest, AFunctionOfKnownTypes) {
  import(twice);
  ASSERT_TRUE(module) << message;
  tfg::FuncOp twice = func("Twice");
  ASSERT_TRUE(twice);
  EXPECT_FALSE(twice.getGeneric());
  tfg::Node sum = nodes["sum"];
  EXPECT_EQ(sum.data()[0], twice.getDataArgument(0));
  EXPECT_EQ(sum.control()[0], tfg::controlTokenOf(twice.getDataArgument(0)));
  Operation &result = twice.getEntry().back();
  ASSERT_TRUE(isa<tfg::ReturnOp>(result));
  EXPECT_EQ(result.getOperand(0), sum.results()[0]);
  EXPECT_EQ(result.getOperand(1), sum.controlResult());
}

TEST_F(FunctionTest, AGenericFunctionPicksOutputsByName) {
  import(R"(
    library { function {
      signature { name: 'Pair' input_arg { name: 'x' type_attr: 'T' }
                  output_arg { name: 'y' type_attr: 'T' } attr { name: 'T' type: 'type' } }
      node_def { name: 'u' op: 'Unpack' input: 'x' attr { key: 'T' value { placeholder: 'T' } } }
      node_def { name: 'n' op: 'Neg' input: 'u:output:1'
                 attr { key: 'T' value { placeholder: 'T' } } }
      ret { key: 'y' value: 'n:y:0' } } })");
  ASSERT_TRUE(module) << message;
  ASSERT_TRUE(func("Pair"));
  EXPECT_TRUE(func("Pair").getGeneric());
  auto picked = nodes["n"].data()[0].getDefiningOp<tfg::GetResultOp>();
  ASSERT_TRUE(picked);
  EXPECT_EQ(picked.getName(), "output");
  EXPECT_EQ(picked.getNumber(), 1u);
  EXPECT_EQ(picked->getOperand(0), nodes["u"]->getResult(0));
}

TEST_F(FunctionTest, ACallHasTheTypesOfItsFunction) {
  import(std::string(twice) + R"(
    node { name: 'a' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'call' op: 'Twice' input: 'a' })");
  ASSERT_TRUE(module) << message;
  EXPECT_EQ(nodes["call"].results().size(), 1u);
  EXPECT_EQ(nodes["call"].results()[0].getType(), nodes["a"].results()[0].getType());
}

TEST_F(FunctionTest, AGradientIsAnAttributeOfItsFunction) {
  std::string text(twice);
  text.insert(text.rfind('}'), "gradient { function_name: 'Twice' gradient_func: 'TwiceGrad' }");
  import(text);
  ASSERT_TRUE(module) << message;
  EXPECT_EQ(func("Twice").getGradient(), "TwiceGrad");
}

// A function's nodes may use named outputs of an unknown op.
TEST_F(FunctionTest, AnUnknownOpHasTheOutputsThatAreNamed) {
  import(R"(
    library { function {
      signature { name: 'F' output_arg { name: 'y' type: DT_FLOAT } }
      node_def { name: 'u' op: 'NobodyKnows' }
      node_def { name: 'n' op: 'AddV2' input: 'u:right:0' input: 'u:left:3'
                 attr { key: 'T' value { type: DT_FLOAT } } }
      ret { key: 'y' value: 'n:z:0' } } })");
  ASSERT_TRUE(module) << message;
  EXPECT_EQ(nodes["u"].results().size(), 2u);
  EXPECT_NE(nodes["n"].data()[0], nodes["n"].data()[1]);
}

//===----------------------------------------------------------------------===//
// Malformed functions
//===----------------------------------------------------------------------===//

/// The rest of a function 'F' with one float argument 'x', and the expected error.
struct Malformed {
  const char *name;
  const char *signature, *rest;
  const char *message;
};

std::ostream &operator<<(std::ostream &stream, const Malformed &malformed) {
  return stream << malformed.name;
}

class MalformedFunction : public ImportTest, public testing::WithParamInterface<Malformed> {};

TEST_P(MalformedFunction, IsOneError) {
  std::string function =
      str("library { function { signature { name: 'F' input_arg { name: 'x' type: DT_FLOAT } ",
          GetParam().signature, "} ", GetParam().rest, "} }");
  EXPECT_EQ(errorOf(function), GetParam().message);
}

#define NEG "op: 'Neg' attr { key: 'T' value { type: DT_FLOAT } }"

constexpr Malformed functions[] = {
    {"NodeNamedAsAnArgument", "", "node_def { name: 'x' op: 'NoOp' }",
     "function 'F': node 'x': its name is used by an argument of the function; names must be "
     "unique, rename one of them"},
    {"ArgumentOfUnknownType", "input_arg { name: 'z' type: 77 }", "",
     "function 'F': 'z' has dtype 77, expected a known dtype, or an attribute that holds it"},
    {"ArgumentWithoutType", "input_arg { name: 'z' }", "",
     "function 'F': 'z' has dtype 0, expected a known dtype, or an attribute that holds it"},
    {"ArgumentWithoutName", "input_arg { type: DT_FLOAT }", "",
     "function 'F': an argument has an empty name, expected every node and argument to have one"},
    {"ResultTwice",
     "output_arg { name: 'y' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT }", "",
     "function 'F': result 'y' is given twice in the signature; names must be unique, rename one "
     "of "
     "them"},
    {"ControlResultTwice", "control_output: 'c' control_output: 'c'", "",
     "function 'F': control result 'c' is given twice in the signature; names must be unique, "
     "rename "
     "one of them"},
    {"ResultWithoutValue", "output_arg { name: 'y' type: DT_FLOAT }", "",
     "function 'F': result 'y' has no entry in 'ret', expected one"},
    {"ValueWithoutResult", "", "ret { key: 'y' value: 'x' }",
     "function 'F': 'ret' has an entry for result 'y', which is not in the signature"},
    {"ControlResultWithoutValue", "control_output: 'c'", "",
     "function 'F': control result 'c' has no entry in 'control_ret', expected one"},
    {"ResultOfAMissingNode", "output_arg { name: 'y' type: DT_FLOAT }",
     "ret { key: 'y' value: 'n:y:0' }",
     "function 'F': result 0 is 'n:y:0', but there is no node 'n'"},
    {"ResultOfAnotherType", "output_arg { name: 'y' type: DT_INT32 }",
     "ret { key: 'y' value: 'x' }",
     "function 'F': result 0 comes from an argument and has type f32, expected i32"},
    {"ControlResultOfAMissingNode", "", "control_ret { key: 'c' value: 'n' }",
     "function 'F': control result 0 is '^n', but there is no node 'n'"},
    {"OutputOfAnArgument", "", "node_def { name: 'n' input: 'x:y:0' " NEG " }",
     "function 'F': node 'n' (Neg): input 0 refers to an output of 'x', but that is an argument of "
     "the function, which is a single value"},
    {"NoSuchOutput", "",
     "node_def { name: 'n' input: 'x' " NEG " } node_def { name: 'm' input: 'n:z:0' " NEG " }",
     "function 'F': node 'm' (Neg): input 0 is 'n:z', but 'n' (Neg) has no output of that name"},
    {"NodeWithAnError", "", "node_def { name: 'n' input: 'q' " NEG " }",
     "function 'F': node 'n' (Neg): input 0 is 'q', but there is no node 'q'"},
    {"Cycle", "", "node_def { name: 'n' input: 'n:y:0' " NEG " }",
     "function 'F': node 'n' (Neg): it depends on itself, through its own input; a cycle must "
     "be a loop: only the edge from a NextIteration to a Merge may close it"},
    {"AttributeWithoutName", "", "attr { key: '' value { i: 1 } }",
     "function 'F': an attribute has an empty name, expected every attribute to have one"},
    {"ArgumentAttributeWithoutName", "",
     "arg_attr { key: 0 value { attr { key: '' value { i: 1 } } } }",
     "function 'F': argument 'x': an attribute has an empty name, expected every attribute to have "
     "one"},
};

std::string nameOf(const testing::TestParamInfo<Malformed> &info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Functions, MalformedFunction, testing::ValuesIn(functions), nameOf);

TEST_F(FunctionTest, DuplicateFunctionNames) {
  EXPECT_EQ(errorOf("library { function { signature { name: 'F' } } "
                    "function { signature { name: 'F' } } }"),
            "function 'F' is given twice in the library; names must be unique, rename one of them");
}

TEST_F(FunctionTest, AFunctionWithoutName) {
  EXPECT_EQ(errorOf("library { function { signature { } } }"),
            "a function of the library has an empty name, expected every function to have one");
}

} // namespace
