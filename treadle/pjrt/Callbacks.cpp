#include "treadle/pjrt/Callbacks.h"

#include "treadle/kernels/Families.h"
#include "treadle/ops/OpTable.h"
#include "treadle/pjrt/Queue.h"
#include "treadle/runtime/DenormalScope.h"

#include <atomic>
#include <charconv>
#include <mutex>
#include <set>

namespace treadle::pjrt {

static std::atomic<Callback *> callback{nullptr};

namespace {

/// The callback indices that bound kernels use.
struct CallbackUses {
  std::mutex mutex;
  std::multiset<int64_t> indices;
};

CallbackUses &uses() {
  static auto *all = new CallbackUses; // never destroyed: kernels may outlive static objects
  return *all;
}

/// Registers a kernel's use of a callback index during its lifetime.
class CallbackUse {
public:
  explicit CallbackUse(int64_t index) : index(index) {
    std::lock_guard lock(uses().mutex);
    uses().indices.insert(index);
  }
  ~CallbackUse() {
    std::lock_guard lock(uses().mutex);
    uses().indices.extract(index);
  }
  CallbackUse(const CallbackUse &) = delete;
  CallbackUse &operator=(const CallbackUse &) = delete;

  const int64_t index;
};

struct CallbackState {
  std::shared_ptr<const CallbackUse> use;
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
};

CallbackArray arrayOf(const Tensor &tensor) {
  return {const_cast<void *>(tensor.raw()), tensor.dims().data(), tensor.rank(),
          static_cast<int32_t>(tensor.dtype())};
}

void callBack(OpContext &ctx) {
  const auto &state = ctx.state<CallbackState>();
  Callback *function = callback.load();
  if (!function)
    return ctx.fail(failedPrecondition("no callback is registered in this process"));
  std::vector<CallbackArray> inputs, outputs;
  for (int i = 0; i < ctx.numInputs(); ++i)
    inputs.push_back(arrayOf(ctx.input(i)));
  for (int i = 0; i < ctx.numOutputs(); ++i) {
    Tensor *made = ctx.allocateOutput(i, state.types[i], state.shapes[i].dims);
    if (!made)
      return;
    outputs.push_back(arrayOf(*made));
  }
  Queue::CallingBack scope;
  DenormalScope denormals(Denormals::Keep); // as elsewhere in Python
  constexpr int64_t maxMessageSize = 4096;
  std::string problem(maxMessageSize, '\0');
  if (!function(state.use->index, inputs.data(), static_cast<int64_t>(inputs.size()),
                outputs.data(), static_cast<int64_t>(outputs.size()), problem.data(),
                maxMessageSize))
    ctx.fail(internal(problem.c_str()));
}

/// The attribute with the backend_config, `treadle_callback;index=7;`, selects the function.
Expected<BoundKernel> bindCallback(const BindContext &node) {
  CallbackState state{.use = nullptr,
                      .types = {node.outputTypes.begin(), node.outputTypes.end()},
                      .shapes = node.attrs.getOr("result_shapes", std::vector<PartialShape>())};
  auto token = node.attrs.getOr<std::string>("token", "");
  std::string prefix = str(callbackTarget, ";index=");
  if (!token.starts_with(prefix))
    return Unexpected(unimplemented("the Python function of token '", token, "' isn't available"));
  int64_t index = 0;
  auto [end, problem] =
      std::from_chars(token.data() + prefix.size(), token.data() + token.size(), index);
  if (problem != std::errc() || state.shapes.size() != state.types.size() ||
      !std::ranges::all_of(state.shapes, &PartialShape::isFullyKnown))
    return Unexpected(invalidArgument("a callback requires an index and static result shapes"));
  state.use = std::make_shared<const CallbackUse>(index);
  return expensive(boundWith(callBack, std::move(state)));
}

} // namespace

const KernelRegistry &kernels() {
  static const KernelRegistry *registry = [] {
    auto *made = new KernelRegistry(&builtinKernels());
    for (const OpDef &op : allOps())
      if (op.facts().runsPython)
        made->add(std::string(op.name()), bindCallback);
    return made;
  }();
  return *registry;
}

} // namespace treadle::pjrt

void treadle_pjrt_set_callback(treadle::pjrt::Callback *callback) {
  treadle::pjrt::callback.store(callback);
}

bool treadle_pjrt_uses_callback(int64_t index) {
  treadle::pjrt::CallbackUses &uses = treadle::pjrt::uses();
  std::lock_guard lock(uses.mutex);
  return uses.indices.contains(index);
}
