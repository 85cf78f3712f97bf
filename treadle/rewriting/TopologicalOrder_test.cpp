#include "treadle/rewriting/TopologicalOrder.h"

#include "treadle/dialect/Tfg.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace treadle::tfg {
namespace {

/// Nodes a0, a1, ..., of which each uses the one before, unless they are apart.
class Chain {
public:
  explicit Chain(size_t size, bool isApart = false) : context(registry()) {
    std::string text = "tfg.graph #tf_type.version<producer = 1482, min_consumer = 0> {\n";
    for (size_t i = 0; i < size; ++i) {
      std::string id = std::to_string(i), input;
      if (i > 0 && !isApart)
        input = "%a" + std::to_string(i - 1);
      text += "%a" + id + ", %c" + id + " = " + (input.empty() ? "Const" : "Neg(" + input + ")") +
              " name(\"a" + id + "\") : " + (input.empty() ? "() -> " : "(tensor<*xf32>) -> ") +
              "(tensor<*xf32>)\n";
    }
    module = mlir::parseSourceString<mlir::ModuleOp>(text + "}\n", &context);
    EXPECT_TRUE(module);
    graph = *module->getOps<GraphOp>().begin();
    for (mlir::Operation &node : block())
      nodes.push_back(&node);
  }

  mlir::Block &block() { return graph.getNodes().front(); }
  mlir::Operation *operator[](size_t i) { return nodes[i]; }
  size_t size() const { return nodes.size(); }

  bool add(TopologicalOrder &order, size_t from, size_t to) {
    if (!order.addEdge(nodes[from], nodes[to]))
      return false;
    nodes[to]->insertOperands(nodes[to]->getNumOperands(), Node(nodes[from]).controlResult());
    return true;
  }

private:
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registry.insert<TfgDialect>();
    return registry;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  GraphOp graph;
  std::vector<mlir::Operation *> nodes;
};

constexpr size_t size = 2'000;

TEST(TopologicalOrder, followsNoEdgesForThoseThatAgreeWithIt) {
  Chain chain(size);
  TopologicalOrder order(chain.block());
  for (size_t i = 0; i + 2 < size; ++i)
    EXPECT_TRUE(chain.add(order, i, i + 2));
  EXPECT_EQ(order.followed(), 0u);
}

TEST(TopologicalOrder, refusesCycles) {
  Chain chain(size);
  TopologicalOrder order(chain.block());
  EXPECT_FALSE(chain.add(order, size - 1, 0));
  EXPECT_FALSE(chain.add(order, 5, 5));
  EXPECT_TRUE(order.precedes(chain[3], chain[900]));
  EXPECT_TRUE(order.precedes(chain[3], chain[3]));
  EXPECT_FALSE(order.precedes(chain[900], chain[3]));
}

/// A node at the end comes before another one, over and over.
TEST(TopologicalOrder, movesTheSmallerSide) {
  Chain chain(size, /*isApart=*/true);
  TopologicalOrder order(chain.block());
  for (size_t i = size - 1; i > 0; --i)
    EXPECT_TRUE(chain.add(order, i, i - 1));
  EXPECT_LT(order.followed(), 20 * size);
  EXPECT_TRUE(order.precedes(chain[size - 1], chain[0]));
  EXPECT_FALSE(chain.add(order, 0, size - 1));
}

TEST(TopologicalOrder, hasRoomForManyNodesInOnePlace) {
  Chain chain(size, /*isApart=*/true);
  TopologicalOrder order(chain.block());
  for (size_t i = 1; i + 1 < size; ++i) {
    EXPECT_TRUE(chain.add(order, i, 0));
    EXPECT_TRUE(chain.add(order, size - 1, i));
  }
  EXPECT_FALSE(chain.add(order, 0, size - 1));
  EXPECT_TRUE(order.precedes(chain[size - 1], chain[0]));
}

TEST(TopologicalOrder, agreesWithASearchForRandomEdges) {
  constexpr size_t few = 60;
  Chain chain(few, /*isApart=*/true);
  TopologicalOrder order(chain.block());
  std::vector<std::vector<bool>> leads(few, std::vector<bool>(few));
  for (size_t i = 0; i < few; ++i)
    leads[i][i] = true;
  unsigned state = 7;
  for (int round = 0; round < 600; ++round) {
    auto random = [&] { return (state = state * 1'664'525u + 1'013'904'223u) >> 16; };
    size_t from = random() % few, to = random() % few;
    ASSERT_EQ(order.precedes(chain[to], chain[from]), leads[to][from]);
    ASSERT_EQ(chain.add(order, from, to), !leads[to][from]);
    if (leads[to][from])
      continue;
    for (size_t a = 0; a < few; ++a)
      for (size_t b = 0; b < few; ++b)
        if (leads[a][from] && leads[to][b])
          leads[a][b] = true;
  }
}

} // namespace
} // namespace treadle::tfg
