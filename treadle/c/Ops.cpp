// Ops whose kernels are functions in C.
#include "treadle/c/Handles.h"
#include "treadle/ops/OpTable.h"

#include <utility>

using namespace treadle;
using namespace treadle::c;

namespace {

/// A user's function; the nodes bound to it share ownership.
struct Function {
  Function(treadle_op_function call, void *context, void (*freeContext)(void *))
      : call(call), context(context), freeContext(freeContext) {}
  ~Function() {
    if (freeContext)
      freeContext(context);
  }
  Function(const Function &) = delete;
  Function &operator=(const Function &) = delete;

  const treadle_op_function call;
  void *const context;
  void (*const freeContext)(void *);
};

struct BoundFunction {
  std::shared_ptr<const Function> function;
  std::string node;
  AttrMap attrs;
  std::vector<DType> outputTypes;
  bool isDefined; // false: the op is unknown, and its outputs are those that are used
  std::vector<std::string> outputNames;
};

} // namespace

struct treadle_op_call {
  OpContext &ctx;
  const BoundFunction &bound;
  std::vector<treadle_array> inputs;
};

namespace {

bool hasOutput(const treadle_op_call *call, int32_t index) {
  return index >= 0 && index < call->ctx.numOutputs();
}

void callFunction(OpContext &ctx) {
  const auto &bound = ctx.state<BoundFunction>();
  treadle_op_call call{ctx, bound, {}};
  for (int i = 0; i < ctx.numInputs(); ++i)
    call.inputs.push_back({ctx.input(i)});
  bound.function->call(&call, bound.function->context);
  for (int i = 0; i < ctx.numOutputs() && !ctx.hasFailed(); ++i) {
    const Tensor &output = ctx.output(i);
    DType wanted = bound.outputTypes[static_cast<size_t>(i)];
    if (!output)
      ctx.fail(invalidArgument("its function in C didn't set output ", i));
    else if (wanted != DType::Invalid && output.dtype() != wanted)
      ctx.fail(invalidArgument("its function in C set output ", i, " to ",
                               dtypeName(output.dtype()), ", expected ", dtypeName(wanted)));
  }
}

template <typename T>
treadle_status *readAttr(const treadle_op_call *call, const char *name, auto *value) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"call", call}, {"name", name}, {"value", value}}));
    *value = TREADLE_TRY(call->bound.attrs.get<T>(name));
    return {};
  });
}

} // namespace

treadle_status *treadle_ops_make(treadle_ops **ops) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"ops", ops}}));
    *ops = new treadle_ops;
    return {};
  });
}

treadle_status *treadle_ops_add(treadle_ops *ops, const char *name, treadle_op_function function,
                                void *context, void (*free_context)(void *),
                                const treadle_op_traits *traits) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll(
        {{"ops", ops}, {"name", name}, {"function", reinterpret_cast<const void *>(function)}}));
    if (ops->kernels.use_count() > 1)
      return Unexpected(failedPrecondition(
          "op '", name, "' must be added before a session is created with these ops"));
    auto added = std::make_shared<const Function>(function, context, free_context);
    if (traits) {
      treadle_op_traits given{};
      std::memcpy(&given, traits, std::min(traits->size, sizeof given));
      ops->traits->add(name, {{}, given.has_effects != 0, given.waits != 0});
    } else {
      ops->traits->add(name, {});
    }
    ops->kernels->add(name, [added](const BindContext &node) -> Expected<BoundKernel> {
      BoundKernel bound = boundWith(
          callFunction, BoundFunction{added,
                                      std::string(node.node),
                                      node.attrs,
                                      {node.outputTypes.begin(), node.outputTypes.end()},
                                      lookupOp(node.op) != nullptr,
                                      {node.outputNames.begin(), node.outputNames.end()}});
      bound.isExpensive = true;
      return bound;
    });
    return {};
  });
}

void treadle_ops_free(treadle_ops *ops) { delete ops; }

const char *treadle_op_node(const treadle_op_call *call) { return call->bound.node.c_str(); }
int32_t treadle_op_num_inputs(const treadle_op_call *call) {
  return static_cast<int32_t>(call->inputs.size());
}
const treadle_array *treadle_op_input(treadle_op_call *call, int32_t index) {
  bool isThere = index >= 0 && index < treadle_op_num_inputs(call);
  return isThere ? &call->inputs[static_cast<size_t>(index)] : nullptr;
}
int32_t treadle_op_num_outputs(const treadle_op_call *call) { return call->ctx.numOutputs(); }
int32_t treadle_op_output_dtype(const treadle_op_call *call, int32_t index) {
  bool isThere = hasOutput(call, index);
  return isThere ? static_cast<int32_t>(call->bound.outputTypes[static_cast<size_t>(index)]) : 0;
}
const char *treadle_op_output_name(const treadle_op_call *call, int32_t index) {
  bool isNamed = index >= 0 && static_cast<size_t>(index) < call->bound.outputNames.size();
  return isNamed ? call->bound.outputNames[static_cast<size_t>(index)].c_str() : nullptr;
}
void treadle_op_set_output(treadle_op_call *call, int32_t index, const treadle_array *array) {
  if (index >= call->ctx.numOutputs() && !call->bound.isDefined)
    return; // the output is unused
  if (!hasOutput(call, index))
    return call->ctx.fail(
        invalidArgument("its function in C set output ", index, " of ", call->ctx.numOutputs()));
  if (array)
    call->ctx.setOutput(index, array->tensor);
}
void treadle_op_fail(treadle_op_call *call, treadle_code code, const char *message) {
  bool isCode = code > TREADLE_OK && code <= TREADLE_UNAUTHENTICATED;
  call->ctx.fail({isCode ? static_cast<Code>(code) : Code::Unknown, message ? message : ""});
}

treadle_status *treadle_op_attr_int(const treadle_op_call *call, const char *name, int64_t *value) {
  return readAttr<int64_t>(call, name, value);
}
treadle_status *treadle_op_attr_float(const treadle_op_call *call, const char *name, float *value) {
  return readAttr<float>(call, name, value);
}
treadle_status *treadle_op_attr_bool(const treadle_op_call *call, const char *name,
                                     int32_t *value) {
  return readAttr<bool>(call, name, value);
}
treadle_status *treadle_op_attr_string(const treadle_op_call *call, const char *name,
                                       const char **value, size_t *size) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"call", call}, {"name", name}, {"value", value}}));
    TREADLE_TRY(call->bound.attrs.get<std::string>(name)); // reports the error
    const auto &text = std::get<std::string>(*call->bound.attrs.find(name));
    *value = text.c_str();
    if (size)
      *size = text.size();
    return {};
  });
}
