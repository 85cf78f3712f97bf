// Tests the pages of small graphs by parsing them.
#include "treadle/testing/NodeText.h"
#include "treadle/testing/SceneReader.h"
#include "treadle/treadle.h"

namespace treadle {
namespace {

using Texts = std::vector<std::string>;

const std::string i32 = typed("T", "DT_INT32");

std::string enter(std::string_view name, std::string_view input, bool isConstant) {
  return node(name, "Enter", {std::string(input)},
              i32 + " attr { key: 'frame_name' value { s: 'loop' } }" +
                  " attr { key: 'parallel_iterations' value { i: 3 } }" +
                  (isConstant ? " attr { key: 'is_constant' value { b: true } }" : ""));
}

/// Returns a loop that counts from 0 to 2.
std::string countingLoop() {
  return constant("zero", 0) + constant("one", 1) + constant("two", 2) +
         enter("enter", "zero", false) + enter("enter_one", "one", true) +
         enter("enter_two", "two", true) +
         node("merge", "Merge", {"enter", "next"}, i32 + " attr { key: 'N' value { i: 2 } }") +
         node("less", "Less", {"merge", "enter_two"}) + node("cond", "LoopCond", {"less"}, "") +
         node("switch", "Switch", {"merge", "cond"}) + node("i", "Identity", {"switch:1"}) +
         node("add", "AddV2", {"i", "enter_one"}) + node("next", "NextIteration", {"add"}) +
         node("exit", "Exit", {"switch"});
}

std::map<std::string, std::string> partsOf(const std::string &pbtxt, ViewRequest request = {}) {
  Expected<Graph> graph = Graph::fromBytes(pbtxt);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
  Expected<std::map<std::string, std::string>> parts = viewParts(*graph, request);
  EXPECT_TRUE(parts) << (parts ? "" : parts.error().message);
  return parts ? *parts : std::map<std::string, std::string>();
}

view::SceneReader sceneOf(const std::string &pbtxt, ViewRequest request = {}) {
  return view::SceneReader(partsOf(pbtxt, std::move(request)).at("scene"));
}

TEST(View, NodesHaveTheirEdgesAndTypes) {
  view::SceneReader scene =
      sceneOf(placeholder("x", "DT_FLOAT", "dim { size: 3 }") +
              node("y", "Neg", {"x"}, typed("T", "DT_FLOAT")) + node("z", "NoOp", {"^y"}, ""));
  EXPECT_EQ(scene.texts("nodeName"), (Texts{"x", "y", "z"}));
  EXPECT_EQ(scene.texts("nodeOp"), (Texts{"Placeholder", "Neg", "NoOp"}));
  EXPECT_EQ(scene.texts("outType"), (Texts{"float32[3]", "float32[3]"})) << "y's is inferred";
  EXPECT_EQ(scene.edgesInto("y"), (Texts{"x data"}));
  EXPECT_EQ(scene.edgesInto("z"), (Texts{"y control"}));
  EXPECT_EQ(scene.column("outBegin"), (std::vector<uint32_t>{0, 1, 2, 2}));
}

TEST(View, AttributesAreAsGraphsHaveThem) {
  view::SceneReader scene = sceneOf(
      node("x", "Placeholder", {},
           typed("dtype", "DT_INT64") + " attr { key: 'shape' value { shape { dim { size: "
                                        "-1 } dim { size: 64 } } } }") +
      node("y", "Squeeze", {"x"},
           typed("T", "DT_INT64") + " attr { key: 'squeeze_dims' value { list { i: 0 i: 1 } } }") +
      constant("c", 3));
  EXPECT_EQ(scene.texts("nodeAttrs"),
            (Texts{"dtype = int64\nshape = [?,64]", "T = int64\nsqueeze_dims = [0, 1]",
                   "dtype = int32\nvalue = int32[] = 3"}));
}

TEST(View, LoopsOfVersion1AreFramesWithEdgesThatGoBack) {
  view::SceneReader scene = sceneOf(countingLoop());
  EXPECT_EQ(scene.edgesInto("merge"), (Texts{"enter data", "next back"}));
  const llvm::json::Object &frame = *(*scene.header.getArray("frames"))[0].getAsObject();
  EXPECT_EQ(frame.getString("name"), "loop");
  EXPECT_EQ(frame.getInteger("parallelIterations"), 3);
  auto frames = scene.column("nodeFrame");
  for (const char *inside : {"enter", "enter_two", "merge", "cond", "exit"})
    EXPECT_EQ(frames[scene.node(inside)], 0u) << inside;
  EXPECT_EQ(static_cast<int32_t>(frames[scene.node("zero")]), -1);
  const llvm::json::Object &loop = *(*scene.header.getArray("loops"))[0].getAsObject();
  EXPECT_EQ(loop.getInteger("frame"), 0);
  EXPECT_FALSE(loop.getString("why")->empty());
}

TEST(View, StepsAreFiringsOfTheFlatGraph) {
  ViewRequest request;
  request.steps = {{"exit"}, {}, {}, {}, 100};
  auto parts = partsOf(countingLoop(), request);
  view::SceneReader scene(parts.at("scene"));
  auto steps = llvm::json::parse(parts.at("steps"));
  ASSERT_TRUE(bool(steps));
  const llvm::json::Object &all = *steps->getAsObject();
  int64_t body = *all.getInteger("body");
  const llvm::json::Object &flat = *(*scene.header.getArray("bodies"))[body].getAsObject();
  EXPECT_EQ(flat.getString("kind"), "flat");
  auto names = scene.texts("nodeName");
  Texts merged;
  for (const llvm::json::Value &value : *all.getArray("firings")) {
    const llvm::json::Object &firing = *value.getAsObject();
    int64_t node = *firing.getInteger("node");
    EXPECT_GE(node, *flat.getInteger("first"));
    if (names[static_cast<size_t>(node)] == "merge")
      merged.push_back((*firing.getArray("outputs"))[0].getAsObject()->getString("text")->str());
  }
  EXPECT_EQ(merged, (Texts{"int32[] = 0", "int32[] = 1", "int32[] = 2"}));
  EXPECT_EQ((*all.getArray("results"))[0].getAsObject()->getString("text"), "int32[] = 2");
  EXPECT_EQ(all.getObject("schedules")->getInteger("number"), 1);
}

TEST(View, EffectsAndRacesAreToldByResource) {
  std::string shared = " attr { key: 'shared_name' value { s: 'v' } }";
  std::string dtype = typed("dtype", "DT_INT32");
  view::SceneReader scene = sceneOf(
      constant("one", 1) +
      node("v", "VarHandleOp", {}, dtype + " attr { key: 'shape' value { shape {} } }" + shared) +
      node("a", "AssignVariableOp", {"v", "one"}, dtype) +
      node("r", "ReadVariableOp", {"v"}, dtype) + node("out", "NoOp", {"^a", "^r"}, ""));
  EXPECT_EQ((*scene.header.getArray("resources"))[0].getAsObject()->getString("name"),
            "variable 'v'");
  EXPECT_EQ(scene.column("effectNode"), (std::vector<uint32_t>{scene.node("a"), scene.node("r")}));
  EXPECT_EQ(scene.column("effectWrites"), (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(scene.header.getArray("races")->size(), 1u);
}

TEST(View, WeightsAreCounted) {
  std::string values;
  for (int i = 0; i < 20; ++i)
    values += str(" float_val: ", i == 7 ? "nan" : std::to_string(i));
  view::SceneReader scene =
      sceneOf(str("node { name: 'w' op: 'Const'", typed("dtype", "DT_FLOAT"),
                  " attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { "
                  "size: 20 } }",
                  values, " } } } }"));
  const llvm::json::Object &weight = *(*scene.header.getArray("weights"))[0].getAsObject();
  EXPECT_EQ(weight.getInteger("count"), 20);
  EXPECT_EQ(weight.getInteger("nans"), 1);
  EXPECT_EQ(weight.getInteger("zeros"), 1);
  EXPECT_EQ(weight.getNumber("max"), 19.0);
  int64_t sum = 0;
  for (const llvm::json::Value &bin : *weight.getArray("bins"))
    sum += *bin.getAsInteger();
  EXPECT_EQ(sum, 19);
}

TEST(View, ConstantsThatAreNotWhatTheySayAreShown) {
  // Shape inference evaluates constants; kernels must not mistake numbers for strings.
  std::string number =
      "node { name: 'c' op: 'Const'" + typed("dtype", "DT_STRING") +
      " attr { key: 'value' value { tensor { dtype: DT_BFLOAT16 tensor_shape { dim "
      "{ size: 1 } } string_val: 'aaa' } } } }\n";
  std::string hash =
      node("h", "StringToHashBucketFast", {"c"}, " attr { key: 'num_buckets' value { i: 8 } }");
  EXPECT_EQ(sceneOf(number + hash).texts("nodeName"), (Texts{"c", "h"}));
  // A byte that isn't a valid boolean.
  view::SceneReader scene = sceneOf(
      "node { name: 'b' op: 'Const'" + typed("dtype", "DT_BOOL") +
      " attr { key: 'value' value { tensor { dtype: DT_BOOL tensor_shape { dim { size: 20 } } "
      "tensor_content: '\\002\\000\\001\\377" +
      std::string(16, 'x') + "' } } } }");
  const llvm::json::Object &weight = *(*scene.header.getArray("weights"))[0].getAsObject();
  EXPECT_EQ(weight.getInteger("count"), 20);
}

TEST(View, NamesThatAreNoUtf8StayReadable) {
  view::SceneReader scene = sceneOf(R"(node { name: "a\377<b>" op: "NoOp" })");
  EXPECT_EQ(scene.texts("nodeName")[0], "a\uFFFD<b>");
}

TEST(View, ComparisonsHaveBothGraphs) {
  ViewRequest request;
  request.other = *Graph::fromBytes(constant("a", 2) + constant("c", 3));
  auto parts = partsOf(constant("a", 1) + constant("b", 1), request);
  EXPECT_EQ(view::SceneReader(parts.at("other")).texts("nodeName"), (Texts{"a", "c"}));
  auto differences = llvm::json::parse(parts.at("differences"));
  ASSERT_TRUE(bool(differences));
  EXPECT_EQ(differences->getAsArray()->size(), 3u);
}

TEST(View, WhatIsNoTraceIsSaid) {
  ViewRequest request;
  request.trace = "{}";
  Expected<std::map<std::string, std::string>> parts =
      viewParts(*Graph::fromBytes(constant("a", 1)), request);
  ASSERT_FALSE(parts);
  EXPECT_EQ(parts.error().message, "the file is not a trace, expected JSON with traceEvents, as "
                                   "written by 'treadle run --trace'");
}

TEST(View, PagesHoldTheirPartsOrAskForThem) {
  std::map<std::string, std::string> parts = {{"scene", "bytes"}};
  std::string whole = viewPage(parts), served = viewPage(parts, "section/", "secret");
  EXPECT_NE(whole.find("{\"scene\":\"H4sI"), std::string::npos) << "gzip in base64";
  EXPECT_NE(served.find(R"({"from":"section/","token":"secret","names":["scene"]})"),
            std::string::npos);
}

// ---- drawings

TEST(Drawing, ALoopIsABoxWithAnEdgeThatGoesBack) {
  Graph graph = *Graph::fromBytes(countingLoop());
  Expected<std::string> svg = drawSvg(graph);
  ASSERT_TRUE(svg) << svg.error().message;
  EXPECT_NE(svg->find("class=\"loop\""), std::string::npos);
  EXPECT_NE(svg->find("class=\"back\""), std::string::npos);
  EXPECT_NE(svg->find("parallel_iterations 3"), std::string::npos);
  Expected<std::string> dot = drawDot(graph);
  ASSERT_TRUE(dot);
  EXPECT_NE(dot->find("subgraph cluster_0"), std::string::npos);
}

TEST(Drawing, OneLoopOfAGraphStandsAlone) {
  Graph graph = *Graph::fromBytes(countingLoop() + constant("elsewhere", 1));
  std::string svg = *drawSvg(graph, {"", "", "loop"});
  EXPECT_EQ(svg.find("elsewhere"), std::string::npos);
  Expected<std::string> wrong = drawSvg(graph, {"", "", "lop"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "there is no v1 loop 'lop' (did you mean 'loop'?)");
}

TEST(Drawing, NamesAreNoMarkup) {
  Graph graph = *Graph::fromBytes(R"(node { name: "<script>\001" op: "NoOp" })");
  std::string svg = *drawSvg(graph);
  EXPECT_EQ(svg.find("<script>"), std::string::npos);
  EXPECT_NE(svg.find("&lt;script&gt;\uFFFD"), std::string::npos);
}

TEST(Drawing, WhatIsTooLargeIsSaid) {
  std::string text;
  for (int i = 0; i < 401; ++i)
    text += constant(str("c", i), i);
  Expected<std::string> svg = drawSvg(*Graph::fromBytes(text));
  ASSERT_FALSE(svg);
  EXPECT_TRUE(svg.error().message.starts_with(
      "this body has 401 nodes, but a picture shows up to 400: name a function"));
}

} // namespace
} // namespace treadle
