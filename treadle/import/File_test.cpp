// Tests format detection, and the errors for files that can't be read.
#include "treadle/import/File.h"
#include "treadle/proto/graph.pb.h"
#include "treadle/testing/ImportTest.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace treadle;
namespace fs = std::filesystem;

namespace {

class FileTest : public ImportTest {
protected:
  FileTest() : folder(fs::path(testing::TempDir()) / str("file_test_", ::getpid())) {
    fs::create_directories(folder);
  }
  ~FileTest() override { fs::remove_all(folder); }

  std::string write(std::string_view name, std::string_view content) {
    std::string path = folder / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  std::string graphBytes() {
    pb::GraphDef graph;
    graph.add_node()->set_name("n");
    graph.mutable_node(0)->set_op("NoOp");
    return graph.SerializeAsString();
  }

  /// Whether the file contains a graph with the single node 'n'.
  bool holdsGraph(const std::string &path) {
    auto read = importFile(context, path);
    EXPECT_TRUE(read) << read.error().message;
    return read && countNodes(**read) == 1;
  }

  int countNodes(mlir::ModuleOp module) {
    int count = 0;
    module.walk([&](mlir::Operation *op) { count += tfg::Node::isNode(op); });
    return count;
  }

  fs::path folder;
};

constexpr std::string_view text = "# a comment\nnode { name: 'n' op: 'NoOp' }\n";
constexpr std::string_view mlirText = R"(// a comment
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %ctl = NoOp name("n")
})";

TEST_F(FileTest, AFileIsReadAsItsNameSays) {
  EXPECT_TRUE(holdsGraph(write("graph.pb", graphBytes())));
  EXPECT_TRUE(holdsGraph(write("graph.pbtxt", text)));
  EXPECT_TRUE(holdsGraph(write("graph.mlir", mlirText)));
}

TEST_F(FileTest, AFileOfAnotherNameIsReadAsItLooks) {
  EXPECT_TRUE(holdsGraph(write("graph", graphBytes())));
  EXPECT_TRUE(holdsGraph(write("graph.txt", text)));
  EXPECT_TRUE(holdsGraph(write("graph.tfg", mlirText)));
}

TEST_F(FileTest, TextInAFileCalledPbIsReadAsText) {
  EXPECT_TRUE(holdsGraph(write("graph.pb", text)));
}

TEST_F(FileTest, FormatOfContent) {
  EXPECT_EQ(formatOfContent(""), GraphFormat::Binary);
  EXPECT_EQ(formatOfContent(graphBytes()), GraphFormat::Binary);
  EXPECT_EQ(formatOfContent(text), GraphFormat::Text);
  EXPECT_EQ(formatOfContent("versions { producer: 3 }"), GraphFormat::Text);
  EXPECT_EQ(formatOfContent(mlirText), GraphFormat::Mlir);
  EXPECT_EQ(formatOfContent("module { }"), GraphFormat::Mlir);
}

TEST_F(FileTest, AMissingFile) {
  std::string path = folder / "none.pb";
  auto read = importFile(context, path);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::NotFound);
  EXPECT_EQ(read.error().message, "there is no file '" + path + "'");
}

TEST_F(FileTest, AnEmptyFile) {
  EXPECT_TRUE(importFile(context, write("none.pb", ""))); // a graph without nodes
  for (const char *name : {"none.jax", "none.mlir"}) {
    std::string path = write(name, "");
    auto read = importFile(context, path);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Code::InvalidArgument);
    EXPECT_EQ(read.error().message, path + ": the file is empty; expected a model");
  }
}

TEST_F(FileTest, AFolderWithoutAModel) {
  auto read = importFile(context, folder);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::NotFound);
  EXPECT_EQ(read.error().message, "'" + folder.string() +
                                      "' is a folder with neither saved_model.pb nor "
                                      "saved_model.pbtxt nor saved_model.cpb nor graph.pb");
}

TEST_F(FileTest, AFolderWithAGraph) {
  write("graph.pb", "node { name: 'n' op: 'NoOp' }");
  auto read = importFile(context, folder);
  EXPECT_TRUE(read) << read.error().message;
}

TEST_F(FileTest, AnErrorBeginsWithThePath) {
  std::string path = write("bad.pbtxt", "node { name: 'n' }");
  auto read = importFile(context, path);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::InvalidArgument);
  EXPECT_EQ(read.error().message, path + ": node 'n': its op is '', expected the name of an op");
}

// MLIR reads the byte after a text; a mapped file that fills its last page has none.
TEST_F(FileTest, MlirTextThatFillsItsLastPage) {
  constexpr std::string_view texts[] = {"module {}", "#a = {x", "module attributes {a = \"b",
                                        "module {} // c"};
  for (std::string_view text : texts) {
    std::vector<char> bytes(text.begin(), text.end());
    auto read = importMlirText(context, {bytes.data(), bytes.size()});
    EXPECT_EQ(read.has_value(), text.starts_with("module {}")) << text;
  }
}

TEST_F(FileTest, MlirTextWithAnErrorOfSyntax) {
  auto read = importMlirText(context, "module {\n  what\n}");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::InvalidArgument);
  EXPECT_EQ(
      read.error().message.find(
          "the text isn't MLIR of the tfg, tf_executor or stablehlo dialect: line 2, column 3: "),
      0u)
      << read.error().message;
}

} // namespace
