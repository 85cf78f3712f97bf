#include "treadle/analysis/shapes/NodeShapes.h"

#include "treadle/analysis/shapes/TypeShapes.h"
#include "treadle/lowering/Attributes.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

class IrNode final : public NodeView {
public:
  explicit IrNode(Node node) : node(node) {}

  std::string_view op() const override { return node.opType(); }
  size_t numResults() const override { return node.numResults(); }

  DType resultType(size_t index) const override {
    return index < node.numResults() ? valueTypeOf(node->getResult(index).getType()).dtype
                                     : DType::Invalid;
  }

  std::optional<AttrValue> attr(std::string_view key) const override {
    Attribute value = node.attr(key);
    if (!value)
      return std::nullopt;
    Expected<AttrValue> converted = convertAttribute(value);
    return converted ? std::optional(std::move(*converted)) : std::nullopt;
  }

  KnownValue constant(std::string_view key) const override {
    auto typed = dyn_cast_or_null<TypedAttr>(node.attr(key));
    if (!typed)
      return {};
    KnownValue stated(shapeOf(typed.getType()));
    int64_t count = stated.shape.count();
    if (!dims::isKnown(count) || count > maxConstantElements)
      return stated;
    Expected<AttrValue> value = convertAttribute(typed);
    const Tensor *tensor = value ? std::get_if<Tensor>(&*value) : nullptr;
    return tensor ? knownOf(*tensor) : stated;
  }

  int64_t producer() const override {
    auto graph = dyn_cast<GraphOp>(node->getParentOp());
    return graph ? graph.getVersion().getProducer() : 0;
  }

private:
  Node node;
};

} // namespace

ShapeResults shapesOf(Node node, ArrayRef<const KnownValue *> inputs) {
  return inferShapes(ShapeQuery(IrNode(node), std::span(inputs.data(), inputs.size())));
}

} // namespace treadle::tfg
