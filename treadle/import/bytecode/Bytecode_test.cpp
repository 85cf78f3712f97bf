#include "treadle/import/bytecode/Bytecode.h"

#include "treadle/import/File.h"
#include "treadle/testing/ArtifactPairs.h"
#include "treadle/testing/SampleArtifact.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <cstdlib>

using namespace mlir;
using namespace treadle;

namespace {

//===----------------------------------------------------------------------===//
// Artifacts of our own
//===----------------------------------------------------------------------===//

using bytecode::Artifact;
using bytecode::sampleArtifact;
using bytecode::varint;
using bytecode::varints;

/// Imports bytes or a text; returns the result or the error.
std::string graphOf(std::string_view content) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  Expected<Module> module = importBytes(context, content);
  return module ? printModule(**module)
                : str(errorClass(module.error().code), ": ", module.error().message);
}

class FormatVersions : public testing::TestWithParam<uint64_t> {};

TEST_P(FormatVersions, AreReadAsTheText) {
  EXPECT_EQ(graphOf(sampleArtifact(GetParam())), graphOf(bytecode::sampleText));
}

INSTANTIATE_TEST_SUITE_P(Bytecode, FormatVersions, testing::Range<uint64_t>(0, 7));

TEST(Bytecode, TruncatedFilesAreErrors) {
  for (uint64_t version : {0, 6}) {
    std::string whole = sampleArtifact(version);
    for (size_t size = 4; size < whole.size(); ++size) {
      std::string found = graphOf(std::string_view(whole).substr(0, size));
      EXPECT_TRUE(StringRef(found).starts_with("InvalidArgumentError: the bytecode is corrupted"))
          << size << ": " << found;
    }
  }
}

TEST(Bytecode, NewerFormatsAreErrors) {
  Artifact file(7);
  EXPECT_EQ(graphOf(file.bytes()),
            "UnimplementedError: the MLIR bytecode has version 7, expected at most 6");
}

/// Returns a module of one op without operands or results.
std::string artifactOf(Artifact &file, const std::string &dialect, const std::string &name) {
  uint64_t unknown = file.addAttribute("builtin", varint(15));
  std::string op = varint(file.addOp(dialect, name)) + '\0' + varint(unknown);
  std::string body = varints({1, 0, 1 << 1}) + op;
  file.ir = varint(1 << 1) + varint(file.addOp("builtin", "module")) + '\x10' + varint(unknown) +
            varint(1 << 1 | 1) + '\x04' + varint(body.size()) + body;
  return file.bytes();
}

TEST(Bytecode, UnknownOpsAreNamed) {
  Artifact known, newer, other;
  EXPECT_EQ(graphOf(artifactOf(known, "vhlo", "add_v99")),
            "UnimplementedError: vhlo.add_v99, in an artifact of VHLO 1.20.0");
  newer.producer = "StableHLO_v2.3.0";
  EXPECT_EQ(
      graphOf(artifactOf(newer, "vhlo", "twist_v1")),
      "UnimplementedError: vhlo.twist_v1, in an artifact of VHLO 2.3.0; versions up to 1.20.0 "
      "are supported; export it for one of them");
  other.producer = "MLIR22";
  EXPECT_EQ(graphOf(artifactOf(other, "arith", "addf")),
            "UnimplementedError: arith.addf in bytecode, expected a portable artifact (VHLO), in "
            "bytecode of MLIR22");
}

/// Returns a module whose first op has the given location.
std::string withLocation(Artifact &file, uint64_t location) {
  uint64_t unknown = file.addAttribute("builtin", varint(15));
  std::string body =
      varints({1, 0, 1 << 1}) + varint(file.addOp("vhlo", "iota_v1")) + '\0' + varint(location);
  file.ir = varint(1 << 1) + varint(file.addOp("builtin", "module")) + '\x10' + varint(unknown) +
            varint(1 << 1 | 1) + '\x04' + varint(body.size()) + body;
  return file.bytes();
}

TEST(Bytecode, SelfContainingAttributesAreErrors) {
  Artifact file;
  file.addAttribute("builtin", varints({12, 1, 0})); // a list that contains itself
  EXPECT_NE(graphOf(withLocation(file, 0)).find("an attribute or type contains itself"),
            std::string::npos);
}

TEST(Bytecode, AttributesThatNestTooDeepAreErrors) {
  Artifact file;
  for (uint64_t i = 0; i < 600; ++i)
    file.addAttribute("builtin", varints({10, i + 1, i + 1}));
  EXPECT_NE(graphOf(withLocation(file, 0)).find("attributes nest more than 512 deep"),
            std::string::npos);
}

TEST(Bytecode, AttributesThatExpandTooFarAreErrors) {
  Artifact file;
  file.addAttribute("builtin", varint(15));
  for (uint64_t i = 0; i < 40; ++i)
    file.addAttribute("builtin", varints({10, i, i})); // contains the previous one twice
  EXPECT_NE(graphOf(withLocation(file, 40)).find("consists of more than"), std::string::npos);
}

TEST(Bytecode, CountsBeyondTheFileAreErrors) {
  Artifact file;
  uint64_t many = uint64_t{1} << 60;
  file.addAttribute("builtin", varints({0, many}));
  EXPECT_NE(
      graphOf(withLocation(file, 0)).find("a list declares 1152921504606846976 entries in 0 bytes"),
      std::string::npos);
}

TEST(Bytecode, IsFoundInAFileOfJax) {
  // A flatbuffer: the offset of its table; a vtable; the table; a byte vector.
  constexpr char head[] = "\x24\0\0\0"
                          "\x20\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0"
                          "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x04\0"
                          "\x20\0\0\0\x04\0\0\0";
  std::string artifact = sampleArtifact(), file(head, 44);
  for (unsigned i = 0; i < 4; ++i)
    file += static_cast<char>(artifact.size() >> 8 * i);
  file += artifact;
  // All other fields are missing, so the convention version is 0.
  EXPECT_NE(graphOf(file).find("calling convention has version 0"), std::string::npos);
  file.pop_back(); // the vector is longer than the file
  EXPECT_EQ(formatOfContent(file), GraphFormat::JaxExport);
  EXPECT_NE(graphOf(file).find("its artifact is longer than what is left of it"),
            std::string::npos);
}

TEST(Bytecode, IsFoundByContent) {
  EXPECT_EQ(formatOfContent(sampleArtifact()), GraphFormat::Artifact);
  EXPECT_NE(graphOf("jax" + sampleArtifact()).find("but doesn't begin with it"), std::string::npos);
}

//===----------------------------------------------------------------------===//
// StableHLO's own artifacts
//===----------------------------------------------------------------------===//

struct Tally {
  unsigned equal = 0, equalErrors = 0, unreadable = 0, different = 0;
};

void compare(StringRef path, Tally &tally) {
  auto bytes = llvm::MemoryBuffer::getFile(path),
       text = llvm::MemoryBuffer::getFile(path.drop_back(3));
  ASSERT_TRUE(bytes && text) << path.str();
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  Expected<Module> module = readBytecode(context, (*bytes)->getBuffer());
  ASSERT_TRUE(module) << path.str() << ": " << module.error().message;
  EXPECT_TRUE(succeeded(verify(**module))) << path.str();
  std::map<std::string, std::string> functions = functionsOf((*text)->getBuffer());
  for (auto function : (*module)->getOps<func::FuncOp>()) {
    std::string name = function.getName().str();
    Module written = parse(context, withCallees(functions, name));
    if (!written || !written->lookupSymbol(name)) {
      ++tally.unreadable;
      continue;
    }
    std::string fromBytes = imported(**module, name), fromText = imported(*written, name);
    bool isEqual = fromBytes == fromText;
    ++(!isEqual                                   ? tally.different
       : StringRef(fromText).starts_with("error") ? tally.equalErrors
                                                  : tally.equal);
    EXPECT_TRUE(isEqual) << path.str() << " @" << name << "\nbytecode: " << fromBytes
                         << "\ntext: " << fromText;
  }
}

TEST(Bytecode, ArtifactsOfAllVersionsEqualTheirTexts) {
  const char *folder = std::getenv(artifactsVariable);
  if (!folder)
    GTEST_SKIP() << artifactsVariable << " isn't set to StableHLO's folder tests/vhlo";
  Tally tally;
  unsigned files = forEachArtifact(folder, [&](StringRef path) { compare(path, tally); });
  EXPECT_NE(files, 0u);
  llvm::errs() << files << " artifacts: " << tally.equal << " functions are equal, "
               << tally.equalErrors << " with equal errors, " << tally.different << " different, "
               << tally.unreadable << " not read as text\n";
}

} // namespace
