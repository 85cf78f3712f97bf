// Tests the view of a node, building graphs and functions in C++, and what passes can query about
// nodes.
#include "treadle/dialect/Tfg.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace treadle;
using namespace treadle::tfg;

namespace {

class TfgTest : public testing::Test {
protected:
  TfgTest() { context.loadDialect<TfgDialect>(); }

  /// Parses the first operation of the module's text, and its nodes by name.
  void parse(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    module->walk([&](Operation *op) {
      if (Node::isNode(op))
        nodes[Node(op).name()] = Node(op);
    });
  }

  template <typename OpT> OpT first() { return cast<OpT>(module->getBody()->front()); }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  llvm::StringMap<Node> nodes;
};

constexpr StringLiteral graph = R"(
  tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
    %c, %ctl = Const device("/CPU:0") assigned_device("/CPU:1") name("c")
        {_mlir_fulltype = #tf_type.full_type<product>, dtype = f32} : () -> (tensor<f32>)
    %s:2, %ctl1 = Split(%c, %c) [%ctl, %ctl2] name("s")
        : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    %ctl2 = NoOp name("n")
  })";

TEST_F(TfgTest, ANodeHasTheFieldsOfANodeDef) {
  parse(graph);
  Node c = nodes["c"];
  EXPECT_EQ(c.opType(), "Const");
  EXPECT_EQ(c.name(), "c");
  EXPECT_EQ(c.device(), "/CPU:0");
  EXPECT_EQ(c.assignedDevice(), "/CPU:1");
  EXPECT_EQ(c.fullType().getTypeId(), 3);
  EXPECT_EQ(c.attrs().size(), 5u);
  EXPECT_EQ(c.attr<TypeAttr>("dtype").getValue(), Float32Type::get(&context));
  EXPECT_FALSE(c.attr<StringAttr>("dtype"));
  EXPECT_FALSE(c.attr("other"));
  EXPECT_EQ(llvm::count_if(c.attrs(), [&](NamedAttribute a) { return c.isKeyword(a.getName()); }),
            4);
}

TEST_F(TfgTest, OperandsAndResultsAreDataThenControl) {
  parse(graph);
  Node c = nodes["c"], s = nodes["s"], n = nodes["n"];
  EXPECT_EQ(c.numData() + c.numControl(), 0u);
  EXPECT_EQ(c.numResults(), 1u);
  EXPECT_EQ(s.numData(), 2u);
  EXPECT_EQ(s.numControl(), 2u);
  EXPECT_EQ(s.numResults(), 2u);
  EXPECT_EQ(s.data()[1], c.results()[0]);
  EXPECT_EQ(s.control()[0], c.controlResult());
  EXPECT_EQ(s.control()[1], n.controlResult());
  EXPECT_EQ(n.numResults(), 0u);
  EXPECT_TRUE(isControl(n.controlResult()));
  EXPECT_EQ(definingNode(s.data()[0]), c);
  EXPECT_EQ(controlTokenOf(s.data()[0]), c.controlResult());
  EXPECT_EQ(controlTokenOf(s.control()[1]), n.controlResult());
}

TEST_F(TfgTest, SettingAnEmptyNameRemovesIt) {
  parse(graph);
  Node c = nodes["c"];
  c.setName("other");
  c.setDevice("");
  EXPECT_EQ(c.name(), "other");
  EXPECT_FALSE(c.deviceAttr());
  EXPECT_TRUE(succeeded(verify(*module)));
}

TEST_F(TfgTest, ContainersAndHelpersArentNodes) {
  parse(R"(
    tfg.func generic @f(%x: !tf_type.tensor {tfg.name = "in"}) -> (!tf_type.tensor) {
      %op, %ctl = Op(%x) name("op") : (!tf_type.tensor) -> (!tf_type.tensor)
      %y = get_result(%op) "y" : 0
      return(%y) [%ctl] : !tf_type.tensor
    })");
  auto func = first<FuncOp>();
  EXPECT_EQ(nodes.size(), 1u);
  EXPECT_FALSE(Node::isNode(*module));
  EXPECT_EQ(func.getNumDataArguments(), 1u);
  EXPECT_EQ(func.getDataArgumentName(0), "in");
  ReturnOp returnOp = func.getReturn();
  EXPECT_EQ(returnOp.getData().size(), 1u);
  EXPECT_EQ(definingNode(returnOp.getData()[0]), nodes["op"]);
  EXPECT_EQ(controlTokenOf(returnOp.getData()[0]), returnOp.getControl()[0]);

  BlockArgument x = func.getDataArgument(0);
  EXPECT_FALSE(definingNode(x));
  EXPECT_EQ(controlTokenOf(x), func.getArgument(1));
  EXPECT_EQ(FuncOp::getDataOf(func.getArgument(1)), x);
}

TEST_F(TfgTest, GraphsAndFunctionsCanBeBuilt) {
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto *dialect = context.getLoadedDialect<TfgDialect>();
  Type tensor = UnrankedTensorType::get(builder.getF32Type());

  auto graph = GraphOp::create(builder, loc, tf_type::VersionAttr::get(&context, 12, 3, {}));
  auto type = builder.getFunctionType({tensor, dialect->controlType}, {tensor});
  auto func = FuncOp::create(builder, loc, "id", type);
  builder.setInsertionPointToEnd(&func.getEntry());
  ReturnOp::create(builder, loc, ValueRange{func.getDataArgument(0)},
                   ValueRange{func.getArgument(1)});
  builder.setInsertionPointToEnd(graph.getBody());
  OperationState state(loc, "tfg.NoOp");
  state.addTypes(dialect->controlType);
  state.addAttribute(dialect->nameKey, builder.getStringAttr("n"));
  builder.create(state);

  EXPECT_TRUE(succeeded(verify(*module)));
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  EXPECT_EQ(text, R"(module {
  tfg.graph #tf_type.version<producer = 12, min_consumer = 3> {
    %ctl = NoOp name("n")
  }
  tfg.func @id(%arg0: tensor<*xf32>)
       -> (tensor<*xf32>)
   {
    return(%arg0) [%arg0.ctl] : tensor<*xf32>
  }
})");
}

TEST_F(TfgTest, AFunctionWithoutBodyIsInvalidButPrints) {
  parse("tfg.func @f(%x: tensor<f32>) { return }");
  auto func = first<FuncOp>();
  func.eraseBody();
  func.setPrivate();
  std::string text, message;
  llvm::raw_string_ostream stream(text);
  func->print(stream, OpPrintingFlags().assumeVerified());
  EXPECT_EQ(text, "tfg.func private @f(tensor<f32>)\n {\n}");
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) { message = diag.str(); });
  EXPECT_TRUE(failed(verify(*module)));
  EXPECT_EQ(message, "'tfg.func' op has an empty body, expected at least a tfg.return");
}

TEST_F(TfgTest, NodesHaveUnknownEffects) {
  parse(graph);
  Operation *op = nodes["c"].getOperation();
  EXPECT_TRUE(isa<MemoryEffectOpInterface>(op));
  EXPECT_TRUE(hasEffect<MemoryEffects::Write>(op));
  EXPECT_TRUE(hasEffect<MemoryEffects::Read>(op));
  EXPECT_FALSE(isMemoryEffectFree(op));
}

TEST_F(TfgTest, OpNames) {
  for (const char *name : {"AddV2", "_Arg", "a.b", "x$1"})
    EXPECT_TRUE(isBareOpName(name)) << name;
  for (const char *name : {"", "1x", "Addons>Op", "a/b", "a-b", "$x", ".x"})
    EXPECT_FALSE(isBareOpName(name)) << name;
}

} // namespace
