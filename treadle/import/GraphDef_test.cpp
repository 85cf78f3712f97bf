// Importing graphs and functions that are built or written here, and every error there is.
#include "treadle/dialect/Tfg.h"
#include "treadle/import/GraphDef.h"

#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace treadle;

namespace {

class ImportTest : public testing::Test {
protected:
  /// The module of a graph in text form, checked by the verifier; null with `message` set if the
  /// import fails.
  void import(std::string_view text) {
    auto imported = importGraphDefText(context, text);
    message = imported ? "" : imported.error().message;
    module = imported ? std::move(*imported) : OwningOpRef<ModuleOp>();
    if (!module)
      return;
    EXPECT_TRUE(succeeded(verify(*module)));
    module->walk([&](Operation *op) {
      if (tfg::Node::isNode(op))
        nodes[tfg::Node(op).name()] = op;
    });
  }

  std::string print() {
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    return text;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  std::string message;
  llvm::StringMap<tfg::Node> nodes;
};

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

} // namespace
