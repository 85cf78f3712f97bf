#include "treadle/analysis/conformance/Conformance.h"

#include "treadle/testing/AnalysisTest.h"

namespace treadle::tfg {
namespace {

class ConformanceTest : public AnalysisTest {
protected:
  std::string findings(const std::string &body) {
    parseGraph(body);
    std::string out;
    for (const Finding &finding : checkConformance(*module))
      out += (out.empty() ? "" : "; ") + finding.node.name().str() + ": " + finding.message;
    return out;
  }
};

std::string unary(const std::string &op, const std::string &attrs, const std::string &in = "f32",
                  const std::string &out = "f32") {
  return "%x, %xc = Mystery name(\"x\") : () -> (tensor<" + in + ">)\n%y, %yc = " + op +
         "(%x) name(\"y\") {" + attrs + "} : (tensor<" + in + ">) -> (tensor<" + out + ">)\n";
}

const std::string unknown = "x: op 'Mystery' is neither known nor a function of the graph";

TEST_F(ConformanceTest, WhatIsRightGivesNothing) {
  EXPECT_EQ(findings(variable("v") + constant("c") + read("r", "v") + assign("a", "v", "c")),
            "v: attribute 'shape' (shape) is missing");
  EXPECT_EQ(findings(constant("c")), "");
  EXPECT_EQ(findings(unary("Neg", "T = f32, _note = 1 : i64")), unknown);
}

TEST_F(ConformanceTest, AttributesAreThereAndTheOps) {
  EXPECT_EQ(findings(unary("Neg", "")), unknown + "; y: attribute 'T' (type) is missing");
  EXPECT_EQ(findings(unary("Neg", "T")),
            unknown + "; y: attribute 'T' (type) is missing: it has no value");
  EXPECT_EQ(
      findings(unary("Neg", "T = f32, speed = 1 : i64")),
      unknown +
          "; y: attribute 'speed' isn't one of the op's attributes; those that only mean something "
          "to tools begin with '_'");
}

TEST_F(ConformanceTest, AttributesAreOfTheirKind) {
  EXPECT_EQ(findings(unary("Neg", "T = \"f32\"")),
            unknown + "; y: attribute 'T' is a string, expected type");
  EXPECT_EQ(findings(unary("Neg", "T = [f32]")),
            unknown + "; y: attribute 'T' is a list, expected type");
  EXPECT_EQ(findings(unary("Squeeze", "T = f32, squeeze_dims = 1 : i64")),
            unknown + "; y: attribute 'squeeze_dims' is one int, expected list(int)");
  EXPECT_EQ(findings(unary("Squeeze", "T = f32, squeeze_dims = [1.0 : f32]")),
            unknown + "; y: attribute 'squeeze_dims' is a float, expected list(int)");
}

TEST_F(ConformanceTest, AttributesHaveAllowedValues) {
  EXPECT_EQ(findings(unary("Floor", "T = i32", "i32", "i32")),
            unknown + "; y: attribute 'T' is 'int32', expected one of float32, float64, bfloat16, "
                      "float16");
  EXPECT_EQ(findings("%y, %yc = Pack name(\"y\") {N = 0 : i64, T = f32} : () -> (tensor<f32>)\n"),
            "y: attribute 'N' is 0, expected at least 1");
}

TEST_F(ConformanceTest, InputsAndOutputsAreThoseOfTheOp) {
  EXPECT_EQ(findings(unary("Neg", "T = f32", "i32", "f32")),
            unknown + "; y: input 0 ('x') is int32, expected float32");
  EXPECT_EQ(findings(unary("Neg", "T = f32", "f32", "i32")),
            unknown + "; y: output 0 ('y') is int32, expected float32");
  EXPECT_EQ(findings(unary("AddV2", "T = f32")), unknown + "; y: it has 1 input, expected 2");
}

TEST_F(ConformanceTest, OpsThatWereRemovedAreRefused) {
  EXPECT_EQ(findings(unary("BatchMatrixDiagPart", "T = f32")),
            unknown +
                "; y: the op was removed in graph version 14, and the graph has version 1482");
}

} // namespace
} // namespace treadle::tfg
