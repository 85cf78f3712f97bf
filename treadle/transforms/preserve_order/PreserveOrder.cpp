#include "treadle/transforms/preserve_order/PreserveOrder.h"

#include "treadle/rewriting/Rewriting.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/runtime/SoftOrder.h"
#include "treadle/transforms/Passes.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_PRESERVEORDER
#include "treadle/transforms/Passes.h.inc"

namespace tfg {
namespace {

/// Returns the path `a -> b -> c` from the node that runs first, shortened in the middle.
std::string pathText(const NumberedBody &body, int32_t from, int32_t to) {
  std::vector<int32_t> nextOf(body.nodes.size(), -1), pending = {to};
  for (size_t i = 0; i < pending.size() && nextOf[from] < 0; ++i)
    for (int32_t source : body.before[pending[i]])
      if (nextOf[source] < 0 && source != to) {
        nextOf[source] = pending[i];
        pending.push_back(source);
      }
  constexpr int longest = 8;
  std::string text = str("'", body.nodes[from].name().str(), "'");
  int length = 0;
  for (int32_t at = nextOf[from]; at >= 0 && at != to; at = nextOf[at])
    if (++length < longest)
      text += str(" -> '", body.nodes[at].name().str(), "'");
  return str(text, length < longest ? "" : " -> ...", " -> '", body.nodes[to].name().str(), "'");
}

Expected<int32_t> find(const NumberedBody &body, const std::string &name, const Following &wish) {
  if (auto node = body.names.find(name); node != body.names.end())
    return node->second;
  return Unexpected(notFound("node '", wish.node, "' should follow '", wish.after,
                             "', but there is no node '", name, "'"));
}

} // namespace

Expected<std::vector<Following>> preserveOrder(Block &body, ArrayRef<Following> wishes, bool soft) {
  NumberedBody numbered(body);
  SoftOrder order(numbered.before);
  if (soft)
    numbered.forEachSoftEdge([&](int32_t from, int32_t to) { order.add(from, to); });
  std::vector<Following> contradicted;
  std::vector<std::pair<int32_t, int32_t>> edges;
  for (const Following &wish : wishes) {
    Expected<int32_t> to = find(numbered, wish.node, wish), from = find(numbered, wish.after, wish);
    if (!to || !from)
      return Unexpected(std::move(to ? from.error() : to.error()));
    if (*to == *from)
      return Unexpected(invalidArgument("node '", wish.node, "' can't follow itself"));
    if (order.add(*from, *to)) {
      edges.emplace_back(*from, *to);
      if (!soft)
        numbered.before[*to].push_back(*from);
    } else if (soft) {
      contradicted.push_back(wish);
    } else {
      return Unexpected(
          invalidArgument("node '", wish.node, "' is to follow '", wish.after,
                          "', but that would close a cycle: ", pathText(numbered, *to, *from)));
    }
  }
  for (auto [from, to] : edges) {
    Node node = numbered.nodes[to], after = numbered.nodes[from];
    if (soft)
      addSoftInputs(node, after.name());
    else
      addControl(node, after.controlResult());
  }
  return contradicted;
}

} // namespace tfg

namespace {

struct PreserveOrder : impl::PreserveOrderBase<PreserveOrder> {
  using Base::Base;

  void runOnOperation() override {
    Block *body = findBody();
    if (!body)
      return fail(function.empty() ? "the module has functions only, and no graph"
                                   : "there is no function '" + function + "' with a body");
    std::vector<tfg::Following> wishes;
    for (const std::string &text : after) {
      auto [node, other] = StringRef(text).split(':');
      if (node.empty() || other.empty())
        return fail("'" + text + "' is malformed, expected NODE:AFTER, as in mm:add");
      wishes.push_back({node.str(), other.str()});
    }
    Expected<std::vector<tfg::Following>> contradicted = tfg::preserveOrder(*body, wishes, soft);
    if (!contradicted)
      return fail(contradicted.error().message);
    for (const tfg::Following &wish : *contradicted)
      body->getParentOp()->emitRemark() << "node '" << wish.node << "' can't follow '" << wish.after
                                        << "': other edges require the opposite order; skipped";
  }

private:
  void fail(const Twine &why) {
    emitError(UnknownLoc::get(&getContext())) << why;
    signalPassFailure();
  }

  Block *findBody() {
    if (!function.empty()) {
      auto named = getOperation().lookupSymbol<tfg::FuncOp>(function);
      return named && !named.isExternal() ? &named.getEntry() : nullptr;
    }
    for (auto graph : getOperation().getOps<tfg::GraphOp>())
      return &graph.getNodes().front();
    return nullptr;
  }
};

} // namespace
} // namespace treadle
