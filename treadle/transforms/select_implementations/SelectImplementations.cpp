#include "treadle/transforms/select_implementations/SelectImplementations.h"

#include "treadle/rewriting/Rewriting.h"
#include "treadle/transforms/Passes.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_SELECTIMPLEMENTATIONS
#include "treadle/transforms/Passes.h.inc"

namespace {

StringRef textOf(tfg::FuncOp function, StringRef key) {
  auto text = function->getAttrOfType<StringAttr>(key);
  return text ? text.getValue() : "";
}

bool isForCpu(tfg::FuncOp function) { return textOf(function, "tf.api_preferred_device") == "CPU"; }

/// Returns whether the function computes gradients or values for gradients, which are chosen in
/// pairs.
bool isInPair(tfg::FuncOp function) {
  return function->hasAttr("tf.forward_function_name") ||
         function->hasAttr("tf.backward_function_name");
}

bool haveSameTypes(tfg::FuncOp a, tfg::FuncOp b) {
  auto isSame = [](Type x, Type y) { return getElementTypeOrSelf(x) == getElementTypeOrSelf(y); };
  return llvm::equal(a.getArgumentTypes(), b.getArgumentTypes(), isSame) &&
         llvm::equal(a.getResultTypes(), b.getResultTypes(), isSame);
}

/// The functions of a module by the interface that they implement.
class Implementations {
public:
  explicit Implementations(ModuleOp module) {
    for (tfg::FuncOp function : module.getOps<tfg::FuncOp>())
      if (StringRef interface = textOf(function, "tf.api_implements"); !interface.empty()) {
        functions[function.getName()] = function;
        forCpu[interface].push_back(function);
      }
    for (auto &[interface, list] : forCpu)
      llvm::erase_if(list, [](tfg::FuncOp function) { return !isForCpu(function); });
  }

  bool empty() const { return functions.empty(); }

  /// Returns the implementation to call instead of `name`; empty if there is none.
  StringRef implementationFor(StringRef name) const {
    tfg::FuncOp function = functions.lookup(name);
    if (!function || isForCpu(function) || isInPair(function))
      return "";
    for (tfg::FuncOp other : forCpu.lookup(textOf(function, "tf.api_implements")))
      if (!isInPair(other) && haveSameTypes(function, other))
        return other.getName();
    return "";
  }

  StringRef implementationFor(Attribute attr) const {
    auto function = dyn_cast<tf_type::FuncAttr>(attr);
    return function ? implementationFor(function.getName().getRootReference().getValue()) : "";
  }

private:
  llvm::StringMap<tfg::FuncOp> functions;
  llvm::StringMap<SmallVector<tfg::FuncOp, 1>> forCpu;
};

struct SelectImplementations : impl::SelectImplementationsBase<SelectImplementations> {
  void runOnOperation() override {
    Implementations known(getOperation());
    if (known.empty())
      return;
    SmallVector<std::pair<tfg::Node, StringRef>> calls;
    getOperation().walk([&](Operation *op) {
      if (!tfg::Node::isNode(op))
        return;
      tfg::Node node(op);
      for (NamedAttribute attr : llvm::to_vector(node.attrs()))
        if (StringRef other = known.implementationFor(attr.getValue()); !other.empty())
          node->setDiscardableAttr(
              attr.getName(),
              tf_type::FuncAttr::get(&getContext(), other,
                                     cast<tf_type::FuncAttr>(attr.getValue()).getAttrs()));
      if (StringRef other = known.implementationFor(node.opType()); !other.empty())
        calls.emplace_back(node, other);
    });
    for (auto [node, other] : calls)
      callByName(node, other);
  }

private:
  static void callByName(tfg::Node node, StringRef function) {
    OpBuilder builder(node.getOperation());
    tfg::Node made = tfg::NodeBuilder(builder, function)
                         .name(node.name())
                         .placedAs(node)
                         .attrs(llvm::to_vector(node.attrs()))
                         .inputs(node.data())
                         .control(SmallVector<Value>(node.control()))
                         .results(node.results().getTypes())
                         .build();
    node->replaceAllUsesWith(made.getOperation());
    node->erase();
  }
};

} // namespace

bool tfg::callsOtherImplementations(ModuleOp module) {
  Implementations known(module);
  if (known.empty())
    return false;
  return module
      .walk([&](Operation *op) {
        if (!Node::isNode(op))
          return WalkResult::advance();
        bool calls = !known.implementationFor(Node(op).opType()).empty() ||
                     llvm::any_of(Node(op).attrs(), [&](NamedAttribute attr) {
                       return !known.implementationFor(attr.getValue()).empty();
                     });
        return calls ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace treadle
