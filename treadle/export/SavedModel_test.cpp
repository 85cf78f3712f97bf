// Tests that SavedModels round-trip, as messages and as folders.
#include "treadle/export/File.h"
#include "treadle/export/SavedModel.h"
#include "treadle/import/Attributes.h"
#include "treadle/import/File.h"
#include "treadle/import/SavedModel.h"
#include "treadle/testing/ImportTest.h"

#include <google/protobuf/text_format.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace mlir;
using namespace treadle;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view oneMetaGraph = R"(
  saved_model_schema_version: 1
  meta_graphs {
    meta_info_def { tags: "serve" tensorflow_version: "2.21.0" }
    graph_def {
      node {
        name: "x" op: "Placeholder"
        attr { key: "dtype" value { type: DT_FLOAT } }
      }
      versions { producer: 2200 }
    }
    signature_def {
      key: "serving_default"
      value {
        inputs {
          key: "x"
          value { name: "x:0" dtype: DT_FLOAT tensor_shape { dim { size: -1 } dim { size: 4 } } }
        }
        outputs { key: "y" value { name: "x:0" dtype: DT_FLOAT tensor_shape { unknown_rank: true } } }
        method_name: "tensorflow/serving/predict"
      }
    }
    object_graph_def { nodes { user_object { identifier: "trackable" } } }
  })";

class SavedModelTest : public ImportTest {
protected:
  SavedModelTest() : folder(fs::path(testing::TempDir()) / str("saved_model_test_", ::getpid())) {
    fs::create_directories(folder);
  }
  ~SavedModelTest() override { fs::remove_all(folder); }

  static pb::SavedModel parse(std::string_view text) {
    pb::SavedModel model;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(std::string(text), &model));
    return model;
  }

  /// Compares the message before and after, also through MLIR's text form.
  void roundTrip(const pb::SavedModel &model) {
    take(importSavedModel(context, model.SerializeAsString()));
    ASSERT_TRUE(module) << message;
    EXPECT_TRUE(succeeded(verify(*module)));
    expectEqual(*module, model);
    auto again = importMlirText(context, print());
    ASSERT_TRUE(again) << again.error().message << print();
    expectEqual(**again, model);
  }

  static void expectEqual(ModuleOp module, const pb::SavedModel &model) {
    auto exported = exportSavedModel(module);
    ASSERT_TRUE(exported) << exported.error().message;
    EXPECT_EQ(graphdef::serialize(*exported), graphdef::serialize(model));
  }

  fs::path write(const fs::path &name, const std::string &content) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << content;
    return folder / name;
  }

  static std::string read(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder;
};

TEST_F(SavedModelTest, OneMetaGraphIsTheModuleItself) {
  roundTrip(parse(oneMetaGraph));
  EXPECT_EQ(metaGraphs(*module).size(), 1u);
  EXPECT_EQ(metaGraphs(*module)[0], *module);
  std::string text = print();
  EXPECT_NE(text.find("tfg.signatures = {serving_default = {inputs = {x = {name = \"x:0\", type = "
                      "tensor<?x4xf32>}}, method = \"tensorflow/serving/predict\", outputs = {y = "
                      "{name = \"x:0\", type = tensor<*xf32>}}}}"),
            std::string::npos)
      << text;
}

TEST_F(SavedModelTest, SeveralMetaGraphsAreModulesInAModule) {
  pb::SavedModel model = parse(oneMetaGraph);
  *model.add_meta_graphs() = model.meta_graphs(0);
  model.mutable_meta_graphs(1)->mutable_meta_info_def()->add_tags("train");
  roundTrip(model);
  EXPECT_EQ(metaGraphs(*module).size(), 2u);
}

TEST_F(SavedModelTest, NoMetaGraph) {
  roundTrip(parse("saved_model_schema_version: 1"));
  roundTrip(parse(""));
}

TEST_F(SavedModelTest, WithoutAGraph) { roundTrip(parse("meta_graphs { meta_info_def { } }")); }

TEST_F(SavedModelTest, AnEmptyGraphIsAGraph) { roundTrip(parse("meta_graphs { graph_def { } }")); }

TEST_F(SavedModelTest, SignaturesThatADictionaryCantRepresent) {
  roundTrip(parse(R"(
    meta_graphs {
      signature_def {
        key: "defaults"
        value { defaults { key: "x" value { dtype: DT_FLOAT float_val: 1 } } }
      }
      signature_def {
        key: "sparse"
        value { inputs { key: "x" value { coo_sparse { values_tensor_name: "v:0" } } } }
      }
      signature_def { key: "no shape" value { inputs { key: "x" value { name: "v:0" } } } }
      signature_def { key: "plain" value { } }
      signature_def { key: "" value { method_name: "m" } }
    })"));
}

TEST_F(SavedModelTest, UnknownFields) {
  pb::SavedModel model = parse(oneMetaGraph);
  model.GetReflection()->MutableUnknownFields(&model)->AddVarint(99, 5);
  auto &meta = *model.mutable_meta_graphs(0);
  meta.GetReflection()->MutableUnknownFields(&meta)->AddVarint(99, 6);
  auto &signature = meta.mutable_signature_def()->at("serving_default");
  signature.GetReflection()->MutableUnknownFields(&signature)->AddVarint(99, 7);
  roundTrip(model);
}

TEST_F(SavedModelTest, ErrorsNameTheTagsOfTheirMetaGraph) {
  pb::SavedModel model = parse(R"(
    meta_graphs { meta_info_def { tags: "serve" tags: "gpu" } graph_def { node { name: "n" } } }
    meta_graphs { })");
  take(importSavedModel(context, std::move(model)));
  EXPECT_EQ(message, "meta graph {serve,gpu}: node 'n': its op is '', expected the name of an op");
}

TEST_F(SavedModelTest, DamagedBytes) {
  take(importSavedModel(context, std::string_view("\x12\x7f", 2)));
  EXPECT_EQ(message.find("the bytes don't parse as a SavedModel: "), 0u) << message;
}

TEST_F(SavedModelTest, ADamagedNode) {
  take(importSavedModel(context, std::string_view("\x12\x07\x12\x05\x0a\x03\x0a\x7fz", 9)));
  EXPECT_EQ(message.find("the bytes don't parse as a GraphDef: node 0 ('') is malformed"), 0u)
      << message;
}

TEST_F(SavedModelTest, AGraphInSeveralFieldsIsOne) {
  std::string first = parse(R"(meta_graphs { graph_def { node { name: "n" op: "NoOp" } } })")
                          .meta_graphs(0)
                          .SerializeAsString();
  std::string second =
      parse(R"(meta_graphs { graph_def { node { name: "m" op: "NoOp" input: "^n" } } })")
          .meta_graphs(0)
          .SerializeAsString();
  std::string both = first + second, bytes = "\x12";
  bytes += static_cast<char>(both.size());
  pb::SavedModel model;
  ASSERT_TRUE(model.ParseFromString(bytes + both));
  take(importSavedModel(context, bytes + both));
  ASSERT_TRUE(module) << message;
  expectEqual(*module, model);
}

TEST_F(SavedModelTest, FoldersIncludeTheirFiles) {
  pb::SavedModel model = parse(oneMetaGraph);
  write("in/saved_model.pb", model.SerializeAsString());
  write("in/variables/variables.index", "index");
  write("in/assets.extra/deep/notes", "notes");
  write("in/fingerprint.pb", "print");
  auto module = importFile(context, folder / "in");
  ASSERT_TRUE(module) << module.error().message;
  auto done = exportFile(**module, folder / "out");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(read(folder / "out/variables/variables.index"), "index");
  EXPECT_EQ(read(folder / "out/assets.extra/deep/notes"), "notes");
  EXPECT_EQ(read(folder / "out/fingerprint.pb"), "print");
  EXPECT_EQ(read(folder / "out/saved_model.pb"), graphdef::serialize(model));
}

TEST_F(SavedModelTest, ThroughTheTextForms) {
  pb::SavedModel model = parse(oneMetaGraph);
  write("in/saved_model.pb", model.SerializeAsString());
  write("in/variables/variables.index", "index");
  for (auto [from, to] : {std::pair("in", "a.mlir"), std::pair("a.mlir", "b/saved_model.pbtxt"),
                          std::pair("b", "c/saved_model.pb")}) {
    auto module = importFile(context, folder / from);
    ASSERT_TRUE(module) << module.error().message;
    auto done = exportFile(**module, folder / to);
    ASSERT_TRUE(done) << done.error().message;
  }
  EXPECT_FALSE(fs::exists(folder / "c/saved_model.pbtxt"));
  EXPECT_EQ(read(folder / "c/variables/variables.index"), "index");
  EXPECT_EQ(read(folder / "c/saved_model.pb"), graphdef::serialize(model));
}

TEST_F(SavedModelTest, InvalidTargets) {
  write("in/saved_model.pb", parse(oneMetaGraph).SerializeAsString());
  auto module = importFile(context, folder / "in/saved_model.pb");
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(exportFile(**module, folder / "in").error().code, Code::AlreadyExists);
  EXPECT_EQ(exportFile(**module, folder / "in/out").error().code, Code::InvalidArgument);
  fs::remove_all(folder / "in");
  EXPECT_EQ(exportFile(**module, folder / "out").error().code, Code::NotFound);
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(SavedModelTest, AGraphIsNotASavedModel) {
  import("node { name: 'n' op: 'NoOp' }");
  auto done = exportFile(*module, folder / "out/saved_model.pb");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message.find("the module isn't a SavedModel"), 0u);
}

} // namespace
