#include "treadle/transforms/Passes.h"

#include "treadle/import/Cycles.h"
#include "treadle/import/OpSignatures.h"
#include "treadle/rewriting/Rewriting.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_VERIFY
#include "treadle/transforms/Passes.h.inc"

namespace {

using graphdef::OpSignature;
using graphdef::OpSignatures;

/// Verifies nodes against the op table, or against the function that the op names.
class Verifier {
public:
  Verifier(ModuleOp module) : types(module.getContext()), signatures(module.getContext(), types) {
    for (tfg::FuncOp function : module.getOps<tfg::FuncOp>())
      signatures.addFunction(function);
  }

  LogicalResult verify(Block &body) {
    bool isFine = true;
    for (Operation &op : body)
      if (tfg::Node::isNode(&op))
        isFine &= succeeded(verify(tfg::Node(&op)));
    if (Expected<void> ok = graphdef::checkCycles(body, signatures); !ok) {
      body.getParentOp()->emitError() << ok.error().message;
      return failure();
    }
    return success(isFine);
  }

private:
  LogicalResult verify(tfg::Node node) {
    const OpSignature &signature = signatures.lookup(node.opType());
    if (!signature.isKnown())
      return success();
    SmallVector<Type> inputs, outputs;
    Expected<void> ok =
        signatures.checkAttrs(signature, node.attrs())
            .and_then([&] { return signatures.inputTypes(signature, node.attrs(), inputs); })
            .and_then([&] { return signatures.outputTypes(signature, node.attrs(), outputs); })
            .and_then([&] { return checkTypes("input", node.data().getTypes(), inputs); })
            .and_then([&] { return checkTypes("output", node.results().getTypes(), outputs); });
    if (ok)
      return success();
    return node->emitError() << std::move(ok.error())
                                    .atNode(std::string_view(node.name()),
                                            std::string_view(node.opType()))
                                    .message;
  }

  static std::string text(Type type) {
    std::string out;
    llvm::raw_string_ostream(out) << type;
    return out;
  }

  static Expected<void> checkTypes(std::string_view kind, TypeRange found,
                                   ArrayRef<Type> expected) {
    if (found.size() != expected.size())
      return Unexpected(invalidArgument("has ", found.size(), " data ", kind,
                                        found.size() == 1 ? "" : "s", ", expected ",
                                        expected.size()));
    for (auto [index, types] : llvm::enumerate(llvm::zip(found, expected))) {
      auto [actual, wanted] = types;
      if (!tf_type::areCompatible(actual, wanted))
        return Unexpected(invalidArgument(kind, " ", index, " has type ", text(actual),
                                          ", expected ", text(wanted)));
    }
    return {};
  }

  graphdef::TypeTable types;
  OpSignatures signatures;
};

struct Verify : impl::VerifyBase<Verify> {
  using Base::Base;

  void runOnOperation() override {
    Verifier verifier(getOperation());
    bool isFine = true;
    auto verify = [&](Block &body) { isFine &= succeeded(verifier.verify(body)); };
    tfg::forEachBody(getOperation(), [&](Block &body) {
      verify(body);
      tfg::forEachRegionBody(body, verify);
    });
    if (!isFine)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace treadle
