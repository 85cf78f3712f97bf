// Composite tensors (ragged, sparse or custom): packing of their components into a variant, and
// unpacking.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/Variants.h"

namespace treadle {
namespace {

class CompositeObject final : public VariantObject {
public:
  static constexpr std::string_view kindName = "composite tensor";
  std::string_view kind() const override { return kindName; }

  explicit CompositeObject(std::vector<Tensor> components) : components(std::move(components)) {}
  const std::vector<Tensor> components;
};

void pack(OpContext &ctx) {
  std::vector<Tensor> components;
  for (int i = 0; i < ctx.numInputs(); ++i)
    components.push_back(ctx.takeInput(i));
  ctx.setOutput(0, makeVariant(makeRef<CompositeObject>(std::move(components))));
}

// The metadata's shapes aren't checked.
void unpack(OpContext &ctx) {
  const auto &dtypes = ctx.state<std::vector<DType>>();
  const auto *composite = variantIn<CompositeObject>(ctx.input(0));
  if (!composite || composite->components.size() != dtypes.size())
    return ctx.fail(invalidArgument(
        "input 0 (", tensorTypeText(ctx.input(0)), ") holds ",
        composite ? str(composite->components.size(), " components") : "no composite tensor",
        ", expected a composite tensor of ", dtypes.size(), " components"));
  for (size_t i = 0; i < dtypes.size(); ++i) {
    const Tensor &component = composite->components[i];
    if (component.dtype() != dtypes[i])
      return ctx.fail(invalidArgument("component ", i, " is ", tensorTypeText(component),
                                      ", expected ", dtypeName(dtypes[i])));
    ctx.setOutput(static_cast<int>(i), component);
  }
}

Expected<BoundKernel> bindUnpack(const BindContext &node) {
  return boundWith(unpack, std::vector<DType>(node.outputTypes.begin(), node.outputTypes.end()));
}

const KernelEntry compositeTensorTable[] = {
    {"CompositeTensorVariantFromComponents", bindPlain<pack>},
    {"CompositeTensorVariantToComponents", bindUnpack},
};

} // namespace

std::span<const KernelEntry> compositeTensorKernels() { return compositeTensorTable; }

} // namespace treadle
