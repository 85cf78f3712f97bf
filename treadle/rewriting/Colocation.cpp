#include "treadle/rewriting/Colocation.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/rewriting/Rewriting.h"

using namespace mlir;

namespace treadle::tfg {

StringRef colocatedWith(Attribute element) {
  auto text = dyn_cast<StringAttr>(element);
  StringRef name = text ? text.getValue() : StringRef();
  return name.consume_front("loc:@") ? name : StringRef();
}

void renameColocations(Node node, const llvm::StringMap<std::string> &renamed) {
  auto classes = node.attr<ArrayAttr>(classKey);
  if (!classes)
    return;
  Builder builder(node->getContext());
  auto rename = [&](Attribute element) -> Attribute {
    auto known = renamed.find(colocatedWith(element));
    return known == renamed.end() ? element : builder.getStringAttr("loc:@" + known->second);
  };
  node->setDiscardableAttr(classKey, builder.getArrayAttr(llvm::map_to_vector(classes, rename)));
}

/// Calls `visit` for each node of a body with the attribute, and with its elements that name
/// missing nodes.
static void forEachStale(Block &body,
                         function_ref<void(Node, ArrayAttr, ArrayRef<Attribute>)> visit) {
  llvm::StringSet<> names;
  SmallVector<Node> colocated;
  for (Operation &op : body)
    if (Node::isNode(&op)) {
      names.insert(Node(&op).name());
      if (Node(&op).attr<ArrayAttr>(classKey))
        colocated.emplace_back(&op);
    }
  for (Node node : colocated) {
    auto classes = node.attr<ArrayAttr>(classKey);
    auto isStale = [&](Attribute element) {
      StringRef name = colocatedWith(element);
      return !name.empty() && !names.contains(name);
    };
    SmallVector<Attribute> stale(llvm::make_filter_range(classes, isStale));
    if (!stale.empty())
      visit(node, classes, stale);
  }
}

StaleColocations::StaleColocations(ModuleOp module) {
  forEachBody(module, [&](Block &body) {
    forEachStale(body, [&](Node, ArrayAttr, ArrayRef<Attribute> stale) {
      for (Attribute element : stale)
        before.insert(colocatedWith(element));
    });
  });
}

void StaleColocations::drop(ModuleOp module) const {
  forEachBody(module, [&](Block &body) {
    forEachStale(body, [&](Node node, ArrayAttr classes, ArrayRef<Attribute> stale) {
      SmallVector<Attribute> kept;
      for (Attribute element : classes)
        if (before.contains(colocatedWith(element)) || !llvm::is_contained(stale, element))
          kept.push_back(element);
      if (kept.empty())
        node->removeDiscardableAttr(classKey);
      else
        node->setDiscardableAttr(classKey, ArrayAttr::get(node->getContext(), kept));
    });
  });
}

} // namespace treadle::tfg
