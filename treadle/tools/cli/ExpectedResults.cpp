// Comparison of tensors, and the calls stored in an .npz file.
#include "treadle/tools/cli/ExpectedResults.h"

#include "treadle/npy/Npz.h"
#include "treadle/tools/cli/Element.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <unordered_map>

namespace treadle::cli {
namespace {

/// The rounding error of a sum depends on the size of its summands, not on the size of the result:
/// an element may differ by `relative` of itself and of the root mean square of all elements, or by
/// `absolute`.
struct Tolerance {
  double relative, absolute;
};

Tolerance toleranceOf(DType dtype) {
  if (dtype == DType::Float64)
    return {1e-5, 1e-9};
  if (dtype == DType::Float16)
    return {2e-3, 2e-4};
  bool isSmall = isFloating(dtype) && dtypeSize(dtype) <= 2;
  return isSmall ? Tolerance{1e-2, 1e-3} : Tolerance{1e-5, 1e-6};
}

/// Returns the absolute difference of two elements: 0 if both are NaN, or the same infinity.
double distance(const Tensor &got, const Tensor &expected, int64_t i) {
  std::complex<double> a = toComplex(got, i), b = toComplex(expected, i);
  if (a == b || (std::isnan(a.real()) && std::isnan(b.real())))
    return 0;
  double apart = std::abs(a - b);
  return std::isnan(apart) ? HUGE_VAL : apart;
}

std::string short3(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", number);
  return text;
}

std::string indexText(const Tensor &tensor, int64_t i) {
  std::vector<int64_t> index(static_cast<size_t>(tensor.rank()));
  for (int d = tensor.rank(); d-- > 0; i /= tensor.dim(d))
    index[static_cast<size_t>(d)] = i % tensor.dim(d);
  return dimsText(index);
}

std::string gotText(const Tensor &got, const Tensor &expected, int64_t i) {
  return str(" at ", indexText(got, i), ": got ", elementText(got, i), ", expected ",
             elementText(expected, i));
}

/// The root mean square of the finite elements.
double rootMeanSquare(const Tensor &tensor) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (double square = std::norm(toComplex(tensor, i)); std::isfinite(square))
      sum += square, ++count;
  return count ? std::sqrt(sum / static_cast<double>(count)) : 0;
}

Difference compareFloating(const Tensor &got, const Tensor &expected) {
  Tolerance tolerance = toleranceOf(got.dtype());
  double absolute = std::max(tolerance.absolute, tolerance.relative * rootMeanSquare(expected));
  double largest = 0;
  int64_t worst = -1;
  double worstExcess = 0;
  for (int64_t i = 0; i < got.count(); ++i) {
    double apart = distance(got, expected, i);
    double magnitude = std::abs(toComplex(expected, i));
    double allowed = absolute + tolerance.relative * (std::isfinite(magnitude) ? magnitude : 0);
    largest = std::max(largest, apart);
    if (apart - allowed > worstExcess)
      worstExcess = apart - allowed, worst = i;
  }
  std::string text = "largest difference " + short3(largest);
  if (worst < 0)
    return {true, std::move(text)};
  return {false, str(text, ", beyond tolerance", gotText(got, expected, worst))};
}

bool equalElement(const Tensor &got, const Tensor &expected, int64_t i) {
  if (got.dtype() == DType::String)
    return got.data<std::string>()[i] == expected.data<std::string>()[i];
  size_t size = dtypeSize(got.dtype());
  return !std::memcmp(got.data<char>() + i * size, expected.data<char>() + i * size, size);
}

/// The arrays of a call: their names in the file, by tensor name.
struct Call {
  std::vector<std::pair<std::string, std::string>> inputs, outputs;
};

std::optional<int64_t> callNumber(std::string_view name) {
  int64_t call = 0;
  auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), call);
  if (failure != std::errc() || end == name.data() + name.size() || *end != '/')
    return std::nullopt;
  return call;
}

/// Returns the calls of the file in order: `in/K`, or `in/CALL/K` if all of its names have this
/// form.
Expected<std::vector<Call>> callsOf(const Request &request, const NpzFile &file) {
  std::vector<std::string> names = file.names();
  bool areNumbered = std::all_of(names.begin(), names.end(), [](std::string_view name) {
    return callNumber(name.substr(std::min(name.find('/') + 1, name.size()))).has_value();
  });
  ValueNames inputs(request, /*isInput=*/true), outputs(request, /*isInput=*/false);
  std::map<int64_t, Call> calls;
  for (const std::string &name : names) {
    bool isInput = name.starts_with("in/");
    if (!isInput && !name.starts_with("out/"))
      return Unexpected(invalidArgument("array '", name, "' is named neither in/... nor out/..."));
    std::string key = name.substr(isInput ? 3 : 4);
    int64_t number = areNumbered ? *callNumber(key) : 0;
    if (areNumbered)
      key.erase(0, key.find('/') + 1);
    Call &call = calls[number];
    (isInput ? call.inputs : call.outputs).emplace_back(name, (isInput ? inputs : outputs)(key));
  }
  std::vector<Call> ordered;
  ordered.reserve(calls.size());
  for (auto &[number, call] : calls)
    ordered.push_back(std::move(call));
  return ordered;
}

Expected<void> addFeeds(Request &request, const Call &call, const NpzFile &file) {
  std::unordered_map<std::string, DType> dtypes;
  for (const Graph::Value &value : request.inputs())
    dtypes.emplace(value.name, value.dtype);
  for (const auto &[array, name] : call.inputs) {
    auto dtype = dtypes.find(name);
    Tensor value =
        TREADLE_TRY(file.read(array, dtype == dtypes.end() ? DType::Invalid : dtype->second));
    request.feeds.emplace_back(name, std::move(value));
  }
  return {};
}

/// Makes one call and prints its lines; returns false if an output is beyond the tolerance.
Expected<bool> checkCall(const Runner &runner, Request request, const Call &call,
                         const NpzFile &file, const std::string &prefix) {
  TREADLE_TRY(addFeeds(request, call, file));
  request.fetches.clear();
  for (const auto &[array, name] : call.outputs)
    request.fetches.push_back(name);
  std::vector<Tensor> values = TREADLE_TRY(request.run(runner));
  bool isWithin = true;
  for (size_t i = 0; i < values.size(); ++i) {
    const Tensor &got = values[i];
    Tensor expected = TREADLE_TRY(file.read(call.outputs[i].first, got.dtype()));
    Difference difference = compare(got, expected);
    print(str(prefix, request.fetches[i], ": ", tensorTypeText(got), " ", difference.text, "\n"));
    isWithin &= difference.isWithin;
  }
  return isWithin;
}

} // namespace

Difference compare(const Tensor &got, const Tensor &expected) {
  if (got.dtype() != expected.dtype() || !std::ranges::equal(got.dims(), expected.dims()))
    return {false, str("is not as expected: ", tensorTypeText(expected))};
  if (isFloating(got.dtype()) || isComplex(got.dtype()))
    return compareFloating(got, expected);
  if (!isPlain(got.dtype()) && got.dtype() != DType::String)
    return {false, "cannot be compared"};
  for (int64_t i = 0; i < got.count(); ++i)
    if (!equalElement(got, expected, i))
      return {false, "differs" + gotText(got, expected, i)};
  return {true, "equal"};
}

int check(const Request &request, const std::string &path, Stats &stats) {
  NpzFile file = TREADLE_OR_REPORT(NpzFile::open(path));
  std::vector<Call> calls = TREADLE_OR_REPORT(callsOf(request, file));
  bool hasOutputs = std::any_of(calls.begin(), calls.end(),
                                [](const Call &call) { return !call.outputs.empty(); });
  if (!hasOutputs)
    return report(invalidArgument("'", path, "' holds no out/... array to compare with"));
  Runner runner = TREADLE_OR_REPORT(request.makeRunner());
  bool isWithin = true;
  for (size_t i = 0; i < calls.size(); ++i) {
    std::string prefix = calls.size() > 1 ? str("call ", i, ": ") : "";
    bool result = TREADLE_OR_REPORT(checkCall(runner, request, calls[i], file, prefix));
    isWithin &= result;
  }
  if (const auto *session = std::get_if<Session>(&runner))
    stats.take(*session);
  print(isWithin ? "passed\n" : "failed\n");
  return isWithin ? 0 : 1;
}

} // namespace treadle::cli
