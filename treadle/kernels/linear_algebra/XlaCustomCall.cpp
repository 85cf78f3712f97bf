// XlaCustomCallV2: calls a routine by name. The routines are LAPACK's, under the names that JAX
// uses on CPUs: `lapack_spotrf_ffi` is `potrf` of float32 matrices. The last two dimensions are the
// matrices, all others batch dimensions. Results, and `info` if it isn't 0, are as in the LAPACK
// Users' Guide; eigenvectors may differ by factors of absolute value 1.
#include "treadle/kernels/linear_algebra/LapackCalls.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

namespace treadle {
namespace {

using namespace lapack;

struct CallState {
  const Routine *routine;
  bool isComplex;
  LapackOptions options;
  std::vector<DType> types;
  std::vector<PartialShape> shapes;

  std::string_view results() const {
    return isComplex ? routine->complexResults : routine->results;
  }
};

int64_t innerRank(char kind) { return kind == 'm' ? 2 : kind == 'v' || kind == 'p' ? 1 : 0; }

/// Reads matrix `i` of a tensor; `kind` says whether the tensor holds matrices, vectors or numbers.
template <typename W> Columns<W> read(const Tensor &t, char kind, int64_t i) {
  int64_t columns = kind == 'm' ? t.dim(t.rank() - 1) : 1;
  int64_t rows = kind == 'm' ? t.dim(t.rank() - 2) : kind == 'v' ? t.dim(t.rank() - 1) : 1;
  Columns<W> matrix(rows, columns);
  auto as = [&]<typename T>(T) {
    transposeMatrix(t.data<T>() + i * rows * columns, rows, columns, matrix.data());
  };
  if constexpr (Eigen::NumTraits<W>::IsComplex)
    t.dtype() == DType::Complex64 ? as(Complex64()) : as(Complex128());
  else
    t.dtype() == DType::Float32 ? as(float()) : as(double());
  return matrix;
}

template <typename From, typename T>
void writeAs(Tensor &t, int64_t i, const Columns<From> &value) {
  T *to = t.data<T>() + i * value.size();
  if constexpr (Eigen::NumTraits<From>::IsComplex && !Eigen::NumTraits<T>::IsComplex) {
    Columns<double> real = value.real();
    transposeMatrix(real.data(), value.cols(), value.rows(), to);
  } else {
    transposeMatrix(value.data(), value.cols(), value.rows(), to);
  }
}

template <typename W> void write(Tensor &t, int64_t i, const LapackResult<W> &value) {
  visitType(t.dtype(), TypeList<float, double, Complex64, Complex128, int32_t>(),
            [&]<typename T>() {
              if (value.isComplex)
                writeAs<Complex128, T>(t, i, value.complex);
              else
                writeAs<W, T>(t, i, value.own);
            });
}

/// Allocates the results, with the sizes of those of the first matrix; if there is no matrix, with
/// the sizes that the node specifies.
template <typename W>
bool allocate(OpContext &ctx, const CallState &s, Dims batch,
              const std::vector<LapackResult<W>> &first, std::vector<Tensor *> &out) {
  for (size_t k = 0; k < s.results().size(); ++k) {
    int64_t rank = innerRank(s.results()[k]);
    std::vector<int64_t> dims(batch.begin(), batch.end());
    if (!first.empty()) {
      if (rank > 0)
        dims.push_back(first[k].rows());
      if (rank > 1)
        dims.push_back(first[k].cols());
    } else if (k < s.shapes.size() && std::ssize(s.shapes[k].dims) >= rank) {
      for (int64_t dim : std::span(s.shapes[k].dims).last(rank))
        dims.push_back(std::max<int64_t>(dim, 0));
    } else {
      dims.resize(dims.size() + rank, 0);
    }
    out.push_back(ctx.allocateOutput(static_cast<int>(k), s.types[k], dims));
    if (!out.back())
      return false;
  }
  return true;
}

/// Returns false, with ctx failed, if dimensions that must have the same size don't. The ranks have
/// been checked.
bool checkSizes(OpContext &ctx, const CallState &s) {
  bool isFromRight = letter(s.options, "side", 'L') == 'R' || letter(s.options, "left", 1) == 0;
  std::string_view letters = isFromRight ? s.routine->sizesFromRight : s.routine->sizes;
  std::map<char, int64_t> known;
  for (size_t k = 0, next = 0; k < s.routine->operands.size(); ++k) {
    const Tensor in = ctx.input(static_cast<int>(k));
    int inner = static_cast<int>(innerRank(s.routine->operands[k]));
    for (int d = in.rank() - inner; d < in.rank(); ++d) {
      int64_t expected = known.try_emplace(letters[next++], in.dim(d)).first->second;
      if (in.dim(d) == expected)
        continue;
      ctx.fail(invalidArgument(s.routine->name, ": operand ", k, " is ", tensorTypeText(in),
                               ", expected size ", expected, " in dimension ", d));
      return false;
    }
  }
  return true;
}

/// Returns false, with ctx failed, if an operand that must be 0 isn't.
bool checkZeros(OpContext &ctx, const Routine &routine) {
  for (size_t k = 0; k < routine.operands.size(); ++k) {
    if (routine.operands[k] != 'p')
      continue;
    const Tensor in = ctx.input(static_cast<int>(k));
    if (std::ranges::all_of(in.values<int32_t>(), [](int32_t value) { return value == 0; }))
      continue;
    ctx.fail(unimplemented(routine.name, ": operand ", k, " must be 0"));
    return false;
  }
  return true;
}

template <typename W> void runCall(OpContext &ctx) {
  const auto &s = ctx.state<CallState>();
  const Tensor first = ctx.input(0);
  std::vector<int64_t> batch;
  for (size_t k = 0; k < s.routine->operands.size(); ++k) {
    const Tensor in = ctx.input(static_cast<int>(k));
    int64_t rank = in.rank() - innerRank(s.routine->operands[k]);
    std::vector<int64_t> own;
    if (rank >= 0)
      own.assign(in.dims().begin(), in.dims().begin() + rank);
    if (k == 0)
      batch = own;
    bool isWhole = s.routine->operands[k] == 'p';
    if (rank < 0 || own != batch || in.dtype() != (isWhole ? DType::Int32 : first.dtype()))
      return ctx.fail(invalidArgument(s.routine->name, ": operand ", k, " is ", tensorTypeText(in),
                                      ", which does not match ", tensorTypeText(first)));
  }
  if (!checkSizes(ctx, s) || !checkZeros(ctx, *s.routine))
    return;
  int64_t count = countElements(batch).value_or(0);
  std::vector<Tensor *> out;
  if (count == 0) {
    allocate<W>(ctx, s, batch, {}, out);
    return;
  }
  auto solve = [&](int64_t i) {
    LapackCall<W> call{s.options,
                       first.dtype() == DType::Float32 || first.dtype() == DType::Complex64};
    for (size_t k = 0; k < s.routine->operands.size(); ++k)
      if (s.routine->operands[k] != 'p')
        call.in.push_back(read<W>(ctx.input(static_cast<int>(k)), s.routine->operands[k], i));
    if constexpr (Eigen::NumTraits<W>::IsComplex)
      s.routine->ofComplex(call);
    else
      s.routine->ofReal(call);
    if (s.results().ends_with('i'))
      call.give(Columns<W>::Constant(1, 1, call.info));
    return std::move(call.out);
  };
  auto give = [&](int64_t i, const std::vector<LapackResult<W>> &results) {
    for (size_t k = 0; k < out.size(); ++k)
      write(*out[k], i, results[k]);
  };
  std::vector<LapackResult<W>> results = solve(0);
  if (!allocate(ctx, s, batch, results, out))
    return;
  give(0, results);
  double elements = static_cast<double>(first.count()) / static_cast<double>(count);
  ctx.parallelFor(count - 1, 200 + std::pow(elements, 1.5), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin + 1; i < end + 1; ++i)
      give(i, solve(i));
  });
}

/// Parses `uplo=76;mode=83` to numbers by name.
LapackOptions parseOptions(std::string_view text) {
  LapackOptions options;
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    if (size_t at = item.find('='); at != std::string_view::npos)
      std::from_chars(item.data() + at + 1, item.data() + item.size(),
                      options[std::string(item.substr(0, at))]);
  }
  return options;
}

const Routine *findRoutine(std::string_view name, bool isComplex) {
  for (std::span<const Routine> table : {factorRoutines(), spectralRoutines()})
    for (const Routine &routine : table)
      if (routine.name == name && (isComplex ? !!routine.ofComplex : !!routine.ofReal))
        return &routine;
  return nullptr;
}

constexpr DType numberTypes[] = {DType::Float32, DType::Float64, DType::Complex64,
                                 DType::Complex128};

struct Target {
  std::string_view routine;
  DType type; // dtype of the operands
};

/// Parses a target: `lapack_spotrf_ffi` is potrf of float32; `tridiagonal_solve_perturbed_ffi` has
/// the type of its operands.
std::optional<Target> targetOf(std::string_view name, DType given) {
  constexpr std::string_view prefix = "lapack_", suffix = "_ffi", letters = "sdcz";
  if (!name.ends_with(suffix))
    return std::nullopt;
  name.remove_suffix(suffix.size());
  if (!name.starts_with(prefix))
    return Target{name, given};
  name.remove_prefix(prefix.size());
  size_t type = name.empty() ? letters.npos : letters.find(name.front());
  if (type == letters.npos)
    return std::nullopt;
  return Target{name.substr(1), numberTypes[type]};
}

Expected<BoundKernel> bindCustomCall(const BindContext &node) {
  auto name = node.attrs.getOr<std::string>("call_target_name", "");
  DType given = node.inputTypes.empty() ? DType::Float32 : node.inputTypes[0];
  std::optional<Target> target = targetOf(name, given);
  bool isComplex =
      target && (target->type == DType::Complex64 || target->type == DType::Complex128);
  const Routine *routine = target ? findRoutine(target->routine, isComplex) : nullptr;
  if (!routine || std::ranges::find(numberTypes, target->type) == std::end(numberTypes))
    return Unexpected(unimplemented("custom call '", name, "' is not supported"));
  CallState state{routine,
                  isComplex,
                  parseOptions(node.attrs.getOr<std::string>("backend_config", "")),
                  {node.outputTypes.begin(), node.outputTypes.end()},
                  node.attrs.getOr("result_shapes", std::vector<PartialShape>())};
  if (node.inputTypes.size() != routine->operands.size() ||
      node.outputTypes.size() != state.results().size() || given != target->type)
    return Unexpected(invalidArgument("'", name, "' has ", node.inputTypes.size(), " operands and ",
                                      node.outputTypes.size(), " results, expected ",
                                      routine->operands.size(), " of ", dtypeName(target->type),
                                      " and ", state.results().size()));
  return expensive(boundWith(isComplex ? runCall<Complex128> : runCall<double>, std::move(state)));
}

/// Binds the first version of the op, which LAPACK's routines don't use.
Expected<BoundKernel> bindFirstForm(const BindContext &node) {
  return Unexpected(unimplemented("custom call '", node.attrs.getOr("target_name", std::string()),
                                  "' is not supported"));
}

const KernelEntry table[] = {
    {"XlaCustomCall", bindFirstForm},
    {"XlaCustomCallV2", bindCustomCall},
};

} // namespace

std::span<const KernelEntry> xlaCustomCallKernels() { return table; }

} // namespace treadle
