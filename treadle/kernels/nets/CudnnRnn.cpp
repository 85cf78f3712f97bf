// CudnnRNN: multi-layer, uni- or bidirectional recurrent networks whose parameters are one vector
// in cuDNN's layout: the weights of all layers, then their biases. Each layer (and direction) has
// its input weights gate by gate, then the recurrent ones; likewise the biases.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/arrays/Rearrange.h"
#include "treadle/kernels/elementwise/Families.h"
#include "treadle/kernels/products/MatMul.h"
#include "treadle/runtime/RunOp.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace treadle {
namespace {

// --- network layout ----------------------------------------------------------------------------

enum class Cell : uint8_t { Lstm, Gru, Relu, Tanh };

/// The attributes of a node.
struct RnnConfig {
  Cell cell = Cell::Lstm;
  std::string inputMode;
  int64_t directions = 1;
  bool isTimeMajor = true;
  bool hasLengths = false;
  DType size = DType::Int32; // dtype of the number of parameters

  int64_t gates() const { return cell == Cell::Lstm ? 4 : cell == Cell::Gru ? 3 : 1; }
};

/// The sizes of a network, and the offsets of its parameters in elements.
struct RnnLayout {
  RnnConfig kind;
  int64_t layers, units, inputSize;

  int64_t parts() const { return layers * kind.directions; }
  bool skipsInput() const {
    return kind.inputMode == "skip_input" ||
           (kind.inputMode == "auto_select" && inputSize == units);
  }
  /// Input size of part `p` (one direction of one layer).
  int64_t inputOf(int64_t p) const {
    return p < kind.directions ? inputSize : units * kind.directions;
  }
  bool hasInputWeights(int64_t p) const { return p >= kind.directions || !skipsInput(); }
  int64_t inputWeights(int64_t p) const {
    return hasInputWeights(p) ? kind.gates() * units * inputOf(p) : 0;
  }
  int64_t recurrentWeights() const { return kind.gates() * units * units; }
  int64_t weightsAt(int64_t p) const {
    int64_t at = 0;
    for (int64_t i = 0; i < p; ++i)
      at += inputWeights(i) + recurrentWeights();
    return at;
  }
  int64_t biasesAt(int64_t p) const { return weightsAt(parts()) + p * 2 * kind.gates() * units; }
  int64_t count() const { return biasesAt(parts()); }
};

Expected<RnnLayout> makeLayout(const RnnConfig &kind, int64_t layers, int64_t units,
                               int64_t inputSize) {
  constexpr int64_t maxLayers = 4096, maxUnits = int64_t{1} << 20;
  if (layers < 1 || layers > maxLayers || units < 1 || units > maxUnits || inputSize < 1 ||
      inputSize > maxUnits)
    return Unexpected(invalidArgument("the network has ", layers, " layers, ", units,
                                      " units and an input size of ", inputSize, ", expected 1 to ",
                                      maxLayers, " layers and sizes of 1 to ", maxUnits));
  RnnLayout layout{kind, layers, units, inputSize};
  if (kind.inputMode == "skip_input" && inputSize != units)
    return Unexpected(invalidArgument("the input size is ", inputSize,
                                      ", but input_mode skip_input requires ", units,
                                      ", the number of units"));
  return layout;
}

// --- steps -------------------------------------------------------------------------------------

template <typename T> T sigmoid(T x) { return T(1) / (T(1) + std::exp(-x)); }

/// Computes one step of one row. `x` and `h` are the gate sums from the input and from the previous
/// output, with biases; `state` is the output, `memory` the LSTM cell.
template <typename T>
void step(Cell cell, int64_t units, const T *x, const T *h, T *state, T *memory) {
  for (int64_t u = 0; u < units; ++u) {
    auto sum = [&](int64_t gate) { return x[gate * units + u] + h[gate * units + u]; };
    if (cell == Cell::Lstm) {
      memory[u] = sigmoid(sum(1)) * memory[u] + sigmoid(sum(0)) * std::tanh(sum(2));
      state[u] = sigmoid(sum(3)) * std::tanh(memory[u]);
    } else if (cell == Cell::Gru) {
      T update = sigmoid(sum(1));
      T candidate = std::tanh(x[2 * units + u] + sigmoid(sum(0)) * h[2 * units + u]);
      state[u] = (1 - update) * candidate + update * state[u];
    } else {
      state[u] = cell == Cell::Relu ? std::max(sum(0), T(0)) : std::tanh(sum(0));
    }
  }
}

/// Runs all steps of all layers. Time is the outermost dimension.
template <typename T> class RnnRun {
public:
  RnnRun(const RnnLayout &layout, const T *parameters, int64_t time, int64_t batch,
         const int32_t *lengths)
      : layout(layout), parameters(parameters), time(time), batch(batch), lengths(lengths),
        multiply(findMultiply(dtypeOf<T>, dtypeOf<T>, dtypeOf<T>)) {}

  /// Writes [time, batch, directions * units]. Updates `state` and `memory` from the initial to the
  /// final ones.
  void run(const T *input, T *output, T *state, T *memory) {
    int64_t width = layout.units * layout.kind.directions, part = batch * layout.units;
    std::vector<T> below(input, input + time * batch * layout.inputSize);
    for (int64_t layer = 0; layer < layout.layers; ++layer) {
      for (int64_t d = 0; d < layout.kind.directions; ++d) {
        int64_t p = layer * layout.kind.directions + d;
        runPart(p, d == 1, below.data(), output + d * layout.units, state + p * part,
                memory ? memory + p * part : nullptr);
      }
      below.assign(output, output + time * batch * width);
    }
  }

private:
  /// Computes the sums of all gates from `rows` inputs, with biases.
  void sums(const T *in, int64_t rows, int64_t size, const T *weights, const T *biases, T *out) {
    int64_t width = layout.kind.gates() * layout.units;
    if (weights)
      multiply({rows, size, width, false, true}, in, weights, out, false);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < width; ++i)
        out[r * width + i] =
            (weights ? out[r * width + i] : in[r * size + i % layout.units]) + biases[i];
  }

  void runPart(int64_t p, bool isBackward, const T *in, T *out, T *state, T *memory) {
    int64_t units = layout.units, width = layout.kind.gates() * units, size = layout.inputOf(p);
    const T *weights = parameters + layout.weightsAt(p), *biases = parameters + layout.biasesAt(p);
    const T *recurrent = weights + layout.inputWeights(p);
    std::vector<T> x(static_cast<size_t>(time * batch * width)),
        h(static_cast<size_t>(batch * width));
    sums(in, time * batch, size, layout.hasInputWeights(p) ? weights : nullptr, biases, x.data());
    int64_t outWidth = units * layout.kind.directions;
    for (int64_t i = 0; i < time; ++i) {
      int64_t t = isBackward ? time - 1 - i : i;
      sums(state, batch, units, recurrent, biases + width, h.data());
      for (int64_t b = 0; b < batch; ++b) {
        T *result = out + (t * batch + b) * outWidth;
        if (lengths && t >= lengths[b]) {
          std::fill_n(result, units, T(0));
          continue;
        }
        step(layout.kind.cell, units, x.data() + (t * batch + b) * width, h.data() + b * width,
             state + b * units, memory ? memory + b * units : nullptr);
        std::copy_n(state + b * units, units, result);
      }
    }
  }

  const RnnLayout &layout;
  const T *parameters;
  int64_t time, batch;
  const int32_t *lengths;
  MultiplyFn multiply;
};

// --- CudnnRNN ----------------------------------------------------------------------------------

struct RnnState {
  RnnConfig kind;
  DType dtype, computed;
};

Expected<Tensor> castTo(Tensor x, DType dtype) {
  if (x.dtype() == dtype)
    return x;
  return std::move(TREADLE_TRY(runOp({castKernels}, "Cast", {}, {std::move(x)}, {dtype}))[0]);
}

/// Swaps time (or layers) and batch if the batch is outermost.
Expected<Tensor> timeMajor(const Tensor &x, const RnnConfig &kind) {
  constexpr int64_t order[] = {1, 0, 2};
  return kind.isTimeMajor ? Expected<Tensor>(x) : rearrange::permuted(x, order);
}

/// The inputs in the type of the computation, time outermost; the states are copies.
struct RnnInputs {
  Tensor x, state, memory, parameters;
  RnnLayout layout;
};

Expected<Tensor> readState(const RnnState &s, const Tensor &t) {
  Tensor state = TREADLE_TRY(castTo(TREADLE_TRY(timeMajor(t, s.kind)), s.computed));
  return state.clone();
}

Expected<void> checkLengths(const Tensor &lengths, int64_t time, int64_t batch) {
  if (lengths.rank() != 1 || lengths.dim(0) != batch)
    return Unexpected(invalidArgument("sequence_lengths are ", tensorTypeText(lengths),
                                      ", expected one for each of ", batch, " rows"));
  for (int64_t i = 0; i < batch; ++i)
    if (int32_t length = lengths.data<int32_t>()[i]; length < 0 || length > time)
      return Unexpected(
          invalidArgument("sequence_lengths[", i, "] is ", length, ", expected 0 to ", time));
  return {};
}

Expected<RnnInputs> readInputs(OpContext &ctx, const RnnState &s) {
  for (int i = 0; i < 2; ++i)
    if (ctx.input(i).rank() != 3)
      return Unexpected(invalidArgument(i ? "input_h" : "input", " is ",
                                        tensorTypeText(ctx.input(i)), ", expected rank 3"));
  RnnInputs in;
  in.x = TREADLE_TRY(castTo(TREADLE_TRY(timeMajor(ctx.input(0), s.kind)), s.computed));
  in.state = TREADLE_TRY(readState(s, ctx.input(1)));
  int64_t parts = in.state.dim(0), batch = in.x.dim(1);
  if (parts % s.kind.directions || in.state.dim(1) != batch)
    return Unexpected(invalidArgument("input is ", tensorTypeText(ctx.input(0)), " and input_h ",
                                      tensorTypeText(ctx.input(1)), ", which do not match"));
  in.layout =
      TREADLE_TRY(makeLayout(s.kind, parts / s.kind.directions, in.state.dim(2), in.x.dim(2)));
  if (s.kind.cell == Cell::Lstm) {
    if (!std::ranges::equal(ctx.input(2).dims(), ctx.input(1).dims()))
      return Unexpected(invalidArgument("input_c is ", tensorTypeText(ctx.input(2)),
                                        ", but input_h ", tensorTypeText(ctx.input(1))));
    in.memory = TREADLE_TRY(readState(s, ctx.input(2)));
  }
  in.parameters = TREADLE_TRY(castTo(ctx.input(3), s.computed));
  if (in.parameters.rank() != 1 || in.parameters.count() != in.layout.count())
    return Unexpected(invalidArgument("params are ", tensorTypeText(ctx.input(3)), ", expected ",
                                      in.layout.count(), " elements"));
  if (s.kind.hasLengths)
    TREADLE_TRY(checkLengths(ctx.input(4), in.x.dim(0), batch));
  return in;
}

Expected<void> setRnnOutputs(OpContext &ctx, const RnnState &s, const RnnInputs &in,
                             const Tensor &out) {
  auto give = [&](int i, const Tensor &t) -> Expected<void> {
    ctx.setOutput(i, TREADLE_TRY(castTo(TREADLE_TRY(timeMajor(t, s.kind)), s.dtype)));
    return {};
  };
  TREADLE_TRY(give(0, out));
  TREADLE_TRY(give(1, in.state));
  if (in.memory)
    TREADLE_TRY(give(2, in.memory));
  else
    ctx.setOutput(2, Tensor::makeScalar(s.dtype));
  for (int i = 3; i < ctx.numOutputs(); ++i) // reserve space for training
    ctx.setOutput(i, TREADLE_TRY(Tensor::make(i == 3 ? s.dtype : DType::Int8, {0})));
  return {};
}

Expected<void> computeRnn(OpContext &ctx, const RnnState &s) {
  RnnInputs in = TREADLE_TRY(readInputs(ctx, s));
  int64_t time = in.x.dim(0), batch = in.x.dim(1);
  Tensor out =
      TREADLE_TRY(Tensor::make(s.computed, {time, batch, s.kind.directions * in.layout.units}));
  const int32_t *lengths = s.kind.hasLengths ? ctx.input(4).data<int32_t>() : nullptr;
  visitType(s.computed, TypeList<float, double>(), [&]<typename T>() {
    if (in.state.count() && time)
      RnnRun<T>(in.layout, in.parameters.data<T>(), time, batch, lengths)
          .run(in.x.data<T>(), out.data<T>(), in.state.data<T>(),
               in.memory ? in.memory.data<T>() : nullptr);
  });
  return setRnnOutputs(ctx, s, in, out);
}

void runRnn(OpContext &ctx) {
  if (Expected<void> done = computeRnn(ctx, ctx.state<RnnState>()); !done)
    ctx.fail(std::move(done.error()));
}

Expected<RnnConfig> readKind(const BindContext &node) {
  RnnConfig kind;
  std::string mode = node.attrs.getOr("rnn_mode", std::string("lstm"));
  kind.cell = mode == "lstm"       ? Cell::Lstm
              : mode == "gru"      ? Cell::Gru
              : mode == "rnn_relu" ? Cell::Relu
                                   : Cell::Tanh;
  kind.inputMode = node.attrs.getOr("input_mode", std::string("linear_input"));
  bool isBoth = node.attrs.getOr("direction", std::string()) == "bidirectional";
  kind.directions = isBoth ? 2 : 1;
  if (node.attrs.getOr<int64_t>("num_proj", 0))
    return Unexpected(unimplemented("op '", node.op, "' does not support num_proj"));
  return kind;
}

template <bool hasLengths> Expected<BoundKernel> bindRnn(const BindContext &node) {
  RnnState s{TREADLE_TRY(readKind(node)), node.outputTypes[0], DType::Float32};
  s.kind.hasLengths = hasLengths;
  s.kind.isTimeMajor = node.attrs.getOr("time_major", true);
  if (node.attrs.getOr("is_training", true) && node.attrs.getOr("dropout", 0.0f) != 0)
    return Unexpected(unimplemented("op '", node.op, "' does not support training with dropout"));
  if (s.dtype == DType::Float64)
    s.computed = s.dtype;
  else if (s.dtype != DType::Float32 && s.dtype != DType::Float16 && s.dtype != DType::BFloat16)
    return unsupportedDType(node, s.dtype);
  return expensive(boundWith(runRnn, std::move(s)));
}

// --- parameters --------------------------------------------------------------------------------

/// Reads the network that inputs 0, 1 and 2 describe: layers, units, and input size.
Expected<RnnLayout> describedLayout(OpContext &ctx) {
  int64_t sizes[3];
  for (int i = 0; i < 3; ++i) {
    if (ctx.input(i).count() != 1)
      return Unexpected(invalidArgument("num_layers, num_units and input_size must be scalars, "
                                        "but input ",
                                        i, " is ", tensorTypeText(ctx.input(i))));
    sizes[i] = *ctx.input(i).data<int32_t>();
  }
  return makeLayout(ctx.state<RnnConfig>(), sizes[0], sizes[1], sizes[2]);
}

void runSize(OpContext &ctx) {
  auto layout = TREADLE_OR_RETURN(ctx.check(describedLayout(ctx)));
  DType dtype = ctx.state<RnnConfig>().size;
  if (Tensor *out = ctx.allocateOutput(0, dtype, {1})) {
    if (dtype == DType::Int64)
      *out->data<int64_t>() = layout.count();
    else
      *out->data<int32_t>() = static_cast<int32_t>(layout.count());
  }
}

/// A weight matrix or bias of the canonical form, and its offset.
struct CanonicalParameter {
  int64_t at, rows, columns; // a bias has no columns
  int64_t count() const { return rows * std::max<int64_t>(columns, 1); }
};

std::vector<CanonicalParameter> piecesOf(const RnnLayout &layout) {
  std::vector<CanonicalParameter> pieces;
  int64_t gates = layout.kind.gates(), units = layout.units;
  for (int64_t p = 0; p < layout.parts(); ++p) {
    int64_t at = layout.weightsAt(p);
    for (int64_t i = 0; i < 2 * gates; ++i) {
      pieces.push_back({at, units, i < gates ? layout.inputOf(p) : units});
      at += pieces.back().count();
    }
  }
  for (int64_t i = 0; i < layout.parts() * 2 * gates; ++i)
    pieces.push_back({layout.biasesAt(0) + i * units, units, 0});
  return pieces;
}

/// Returns all weights, then all biases; nullopt, with ctx failed, unless there are `count` of
/// them.
std::optional<std::vector<CanonicalParameter>> checkedPieces(OpContext &ctx, int count) {
  auto layout = ctx.check(describedLayout(ctx));
  if (!layout)
    return std::nullopt;
  std::vector<CanonicalParameter> pieces = piecesOf(*layout);
  if (layout->skipsInput())
    ctx.fail(unimplemented("input_mode skip_input has no canonical parameters"));
  else if (std::ssize(pieces) != count)
    ctx.fail(invalidArgument("the network has ", pieces.size(),
                             " weights and biases, but the node ", count));
  return ctx.hasFailed() ? std::nullopt : std::optional(std::move(pieces));
}

void runToCanonical(OpContext &ctx) {
  const Tensor parameters = ctx.input(3);
  auto pieces = TREADLE_OR_RETURN(checkedPieces(ctx, ctx.numOutputs()));
  int64_t count = pieces.back().at + pieces.back().count();
  if (parameters.rank() != 1 || parameters.count() != count)
    return ctx.fail(invalidArgument("params are ", tensorTypeText(parameters), ", expected ", count,
                                    " elements"));
  for (size_t i = 0; i < pieces.size(); ++i) {
    const CanonicalParameter &piece = pieces[i];
    DimVector dims;
    dims.push(piece.rows);
    if (piece.columns)
      dims.push(piece.columns);
    Tensor *out =
        TREADLE_OR_RETURN(ctx.allocateOutput(static_cast<int>(i), parameters.dtype(), dims));
    copyElements(out->dtype(), out->raw(), elementAt(out->dtype(), parameters.raw(), piece.at),
                 piece.count());
  }
}

void runFromCanonical(OpContext &ctx) {
  auto pieces = TREADLE_OR_RETURN(checkedPieces(ctx, ctx.numInputs() - 3));
  DType dtype = ctx.input(3).dtype();
  Tensor *out = ctx.allocateOutput(0, dtype, {pieces.back().at + pieces.back().count()});
  for (size_t i = 0; out && i < pieces.size(); ++i) {
    const Tensor &in = ctx.input(static_cast<int>(i) + 3);
    const CanonicalParameter &piece = pieces[i];
    if (in.count() != piece.count())
      return ctx.fail(invalidArgument(i < pieces.size() / 2 ? "weights[" : "biases[",
                                      i % (pieces.size() / 2), "] is ", tensorTypeText(in),
                                      ", expected ", piece.count(), " elements"));
    copyElements(dtype, elementAt(dtype, out->raw(), piece.at), in.raw(), in.count());
  }
}

template <KernelFn fn> Expected<BoundKernel> bindParameters(const BindContext &node) {
  RnnConfig kind = TREADLE_TRY(readKind(node));
  kind.size = node.outputTypes[0];
  return boundWith(fn, std::move(kind));
}

const KernelEntry cudnnRnnTable[] = {
    {"CudnnRNN", bindRnn<false>},
    {"CudnnRNNV2", bindRnn<false>},
    {"CudnnRNNV3", bindRnn<true>},
    {"CudnnRNNParamsSize", bindParameters<runSize>},
    {"CudnnRNNParamsToCanonical", bindParameters<runToCanonical>},
    {"CudnnRNNParamsToCanonicalV2", bindParameters<runToCanonical>},
    {"CudnnRNNCanonicalToParams", bindParameters<runFromCanonical>},
    {"CudnnRNNCanonicalToParamsV2", bindParameters<runFromCanonical>},
};

} // namespace

std::span<const KernelEntry> cudnnRnnKernels() { return cudnnRnnTable; }

} // namespace treadle
