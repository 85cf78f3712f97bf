#include "treadle/export/Artifact.h"

#include "treadle/import/bytecode/Bytecode.h"
#include "treadle/testing/ArtifactPairs.h"
#include "treadle/testing/SampleArtifact.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <cstdlib>

using namespace mlir;
using namespace treadle;

namespace {

constexpr const char *versions[] = {"0.9.0", "0.11.0", "0.13.0", "0.14.0", "0.19.0",
                                    "1.0.0", "1.5.0",  "1.15.0", "1.20.0"};

/// Writes and reads the program; returns the error if that fails.
Expected<Module> roundTripped(MLIRContext &context, ModuleOp program, std::string_view version) {
  Module copy = program.clone();
  return artifactVersion(version)
      .and_then([&](llvm::VersionTuple target) { return exportArtifact(*copy, target); })
      .and_then([&](const std::string &bytes) { return readBytecode(context, bytes); });
}

std::string errorOf(const std::string &text, std::string_view version) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  Module program = parse(context, text);
  EXPECT_TRUE(program) << text;
  auto read = roundTripped(context, *program, version);
  return read ? "" : read.error().message;
}

TEST(Artifact, RoundTrips) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  Module program = parse(context, bytecode::sampleText);
  std::string expected = imported(*program, "main");
  for (const char *version : versions) {
    auto read = roundTripped(context, *program, version);
    ASSERT_TRUE(read) << version << ": " << read.error().message;
    EXPECT_EQ(imported(**read, "main"), expected) << version;
    EXPECT_EQ((*read)->getName(), "sample");
  }
}

TEST(Artifact, OnlyKnownVersionsParse) {
  EXPECT_EQ(artifactVersion("1.0")->getAsString(), "1.0.0");
  EXPECT_EQ(artifactVersion("")->getAsString(), "1.20.0");
  for (const char *version : {"0.8.0", "1.21.0", "2.0.0", "one", "1.0.0.0.0"})
    EXPECT_NE(artifactVersion(version).error().message.find("expected one from 0.9.0 to 1.20.0"),
              std::string::npos);
}

TEST(Artifact, NamesWhatAVersionLacks) {
  const std::string tan = R"(func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %y = stablehlo.tan %x : tensor<2xf32> return %y : tensor<2xf32> })";
  EXPECT_EQ(errorOf(tan, "1.4.0"), "");
  EXPECT_EQ(errorOf(tan, "1.3.0"),
            "line 2, column 10: 'stablehlo.tan': stablehlo.tan can't be written for version 1.3.0: "
            "1.4.0 is the first that supports it");
  const std::string accuracy = R"(func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %y = "stablehlo.exponential"(%x) {result_accuracy = {atol = 1.0, rtol = 0.0, ulps = 1 : i64,
      mode = "TOLERANCE"}} : (tensor<2xf32>) -> tensor<2xf32> return %y : tensor<2xf32> })";
  EXPECT_EQ(errorOf(accuracy, "1.9.0"), "");
  EXPECT_NE(errorOf(accuracy, "1.8.0")
                .find("attribute 'result_accuracy' can't be written for version 1.8.0: 1.9.0 is "
                      "the first that supports it"),
            std::string::npos);
  const std::string type = R"(func.func @main(%x: tensor<2xf4E2M1FN>) -> tensor<2xf4E2M1FN> {
    return %x : tensor<2xf4E2M1FN> })";
  EXPECT_EQ(errorOf(type, "1.8.0"), "");
  EXPECT_NE(errorOf(type, "1.7.0")
                .find("type 'f4E2M1FN' can't be written for version 1.7.0: 1.8.0 is the first that "
                      "supports it"),
            std::string::npos);
  const std::string pair = R"(func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %y:2 = "stablehlo.all_gather"(%x, %x) {all_gather_dim = 0 : i64,
      replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2xf32>, tensor<2xf32>) ->
      (tensor<2xf32>, tensor<2xf32>) return %y#0 : tensor<2xf32> })";
  EXPECT_EQ(errorOf(pair, "1.5.0"), "");
  EXPECT_NE(errorOf(pair, "1.4.0").find("it has 2 operands"), std::string::npos);
}

TEST(Artifact, NamesWhatAllVersionsLack) {
  EXPECT_NE(errorOf(R"(func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %y = "chlo.erf"(%x) : (tensor<f32>) -> tensor<f32> return %y : tensor<f32> })",
                    "")
                .find("'chlo.erf': it isn't an op of portable artifacts"),
            std::string::npos);
  EXPECT_NE(errorOf(R"(func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %y = "stablehlo.abs"(%x) {speed = 1 : i64} : (tensor<f32>) -> tensor<f32>
      return %y : tensor<f32> })",
                    "")
                .find("attribute 'speed' isn't one of the op's attributes"),
            std::string::npos);
}

TEST(Artifact, KeepsAttributesOfCustomCalls) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  Module program = parse(context, R"(func.func @main(%n: tensor<i32>, %ok: tensor<i1>) {
      "stablehlo.custom_call"(%ok, %n) {call_target_name = "shape_assertion", has_side_effect = true,
        error_message = "found {0}"} : (tensor<i1>, tensor<i32>) -> () return })");
  for (const char *version : versions) {
    auto read = roundTripped(context, *program, version);
    ASSERT_TRUE(read) << version << ": " << read.error().message;
    std::string text;
    llvm::raw_string_ostream(text) << **read;
    EXPECT_NE(text.find("error_message = \"found {0}\""), std::string::npos) << text;
  }
}

TEST(Artifact, MeshesAreUnimplemented) {
  EXPECT_NE(errorOf(R"(func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %y = "stablehlo.all_reduce"(%x) ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          "stablehlo.return"(%a) : (tensor<f32>) -> ()
      }) {replica_groups = {mesh = "m", axes = []}} : (tensor<f32>) -> tensor<f32>
      return %y : tensor<f32> })",
                    "")
                .find("'replica_groups': "),
            std::string::npos);
}

struct Tally {
  unsigned equal = 0, unwritten = 0;
  std::map<std::string, unsigned> why;
};

/// Compares each function of a text, written in the version of its artifact.
void compare(StringRef path, Tally &tally) {
  auto text = llvm::MemoryBuffer::getFile(path.drop_back(3));
  ASSERT_TRUE(text) << path.str();
  std::string version = path.rsplit("to_vhlo.").second.drop_back(8).str();
  std::replace(version.begin(), version.end(), '_', '.');
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  std::map<std::string, std::string> functions = functionsOf((*text)->getBuffer());
  for (const auto &[name, body] : functions) {
    Module program = parse(context, withCallees(functions, name));
    if (!program || !program->lookupSymbol(name))
      continue;
    auto read = roundTripped(context, *program, version);
    if (!read) {
      ++tally.unwritten;
      ++tally.why[read.error().message.substr(0, 120)];
      continue;
    }
    EXPECT_TRUE(succeeded(verify(**read))) << path.str() << " @" << name;
    std::string found = imported(**read, name), expected = imported(*program, name);
    EXPECT_EQ(found, expected) << path.str() << " @" << name;
    tally.equal += found == expected;
  }
}

TEST(Artifact, TextsOfAllVersionsAreWritten) {
  const char *folder = std::getenv(artifactsVariable);
  if (!folder)
    GTEST_SKIP() << artifactsVariable << " isn't set to StableHLO's folder tests/vhlo";
  Tally tally;
  unsigned files = forEachArtifact(folder, [&](StringRef path) { compare(path, tally); });
  EXPECT_NE(files, 0u);
  llvm::errs() << files << " texts: " << tally.equal << " functions are equal, " << tally.unwritten
               << " can't be written\n";
  for (const auto &[why, count] : tally.why)
    llvm::errs() << "  " << count << " x " << why << "\n";
}

} // namespace
