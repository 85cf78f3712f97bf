// The grammar of values, and the conversion of literals to elements.
#include "treadle/tools/cli/Value.h"

#include "treadle/npy/Npz.h"
#include "treadle/tensor/Suggestions.h"
#include "treadle/tools/cli/Element.h"

#include <charconv>
#include <cmath>
#include <random>

namespace treadle::cli {
namespace {

/// A literal of a list or a scalar.
struct Literal {
  std::string text;
  bool isQuoted = false;
};

/// Nested lists of literals, flattened, with their dimensions.
struct Nested {
  std::vector<Literal> literals;
  std::vector<int64_t> dims;
};

class NestedParser {
public:
  explicit NestedParser(std::string_view text) : text(text) {}

  /// Parses a list or a literal; returns nullopt, with the reason in `problem`, if it is malformed.
  std::optional<Nested> parse() {
    if (!parseItem(0))
      return std::nullopt;
    skipSpace();
    if (at != text.size() && fail(str("unexpected '", text.substr(at), "' after its end")))
      return std::nullopt;
    return problem.empty() ? std::optional(std::move(nested)) : std::nullopt;
  }
  std::string problem;

private:
  bool fail(std::string why) {
    problem = std::move(why);
    return false;
  }
  void skipSpace() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }
  bool parseItem(size_t depth) {
    skipSpace();
    if (at < text.size() && text[at] == '[')
      return parseList(depth);
    if (leafDepth == unknown)
      leafDepth = depth;
    if (leafDepth != depth)
      return fail("lists and single values are mixed");
    return parseLiteral();
  }
  bool parseList(size_t depth);
  bool parseLiteral();

  static constexpr size_t unknown = static_cast<size_t>(-1);
  std::string_view text;
  size_t at = 0, leafDepth = unknown;
  Nested nested;
};

bool NestedParser::parseList(size_t depth) {
  if (depth == 32)
    return fail("lists are nested more than 32 deep");
  if (leafDepth != unknown && depth >= leafDepth)
    return fail("lists and single values are mixed");
  int64_t size = 0;
  bool isFirst = nested.dims.size() <= depth;
  if (isFirst)
    nested.dims.push_back(-1);
  ++at;
  for (skipSpace(); at < text.size() && text[at] != ']'; skipSpace()) {
    if (size && text[at] != ',')
      return fail(str("expected ',' or ']' before '", text.substr(at), "'"));
    at += size > 0;
    if (!parseItem(depth + 1))
      return false;
    ++size;
  }
  if (at == text.size())
    return fail("a ']' is missing");
  ++at;
  if (nested.dims[depth] != -1 && nested.dims[depth] != size)
    return fail(str("its lists differ in length: ", nested.dims[depth], " and ", size));
  nested.dims[depth] = size;
  return true;
}

bool NestedParser::parseLiteral() {
  Literal literal;
  literal.isQuoted = at < text.size() && text[at] == '"';
  if (!literal.isQuoted) {
    size_t end = std::min(text.find_first_of(",[]", at), text.size());
    std::string_view word = text.substr(at, end - at);
    literal.text = word.substr(0, word.find_last_not_of(" \t\n") + 1);
    at = end;
  } else {
    for (++at; at < text.size() && text[at] != '"'; ++at) {
      bool isEscape = text[at] == '\\' && at + 1 < text.size();
      at += isEscape;
      literal.text += isEscape && text[at] == 'n'   ? '\n'
                      : isEscape && text[at] == 't' ? '\t'
                                                    : text[at];
    }
    if (at == text.size())
      return fail("a closing '\"' is missing");
    ++at;
  }
  if (literal.text.empty() && !literal.isQuoted)
    return fail("a value is missing");
  nested.literals.push_back(std::move(literal));
  return true;
}

std::optional<double> parseDouble(std::string_view text) {
  text.remove_prefix(text.size() > 1 && text[0] == '+' && text[1] != '-');
  double value = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || failure == std::errc::invalid_argument)
    return std::nullopt;
  // A number too small for a double is zero; one that is too large would be infinity, which is
  // rejected.
  if (failure == std::errc::result_out_of_range)
    value = text.find("e-") != text.npos || text.find("E-") != text.npos ? 0 : HUGE_VAL;
  return value;
}

/// Parses `1`, `2j`, `1+2j`, `(1-2j)`, as Python writes them.
std::optional<std::complex<double>> parseComplex(std::string_view text) {
  if (text.starts_with('(') && text.ends_with(')'))
    text = text.substr(1, text.size() - 2);
  if (!text.ends_with('j'))
    return parseDouble(text);
  text.remove_suffix(1);
  size_t sign = text.find_last_of("+-");
  while (sign != text.npos && sign > 0 && (text[sign - 1] == 'e' || text[sign - 1] == 'E'))
    sign = text.find_last_of("+-", sign - 1);
  size_t begin = sign == text.npos ? 0 : sign;
  std::string imaginary(text.substr(begin));
  if (imaginary.empty() || imaginary == "+" || imaginary == "-")
    imaginary += '1';
  std::optional<double> real = begin == 0 ? 0 : parseDouble(text.substr(0, begin));
  std::optional<double> part = parseDouble(imaginary);
  return real && part ? std::optional(std::complex(*real, *part)) : std::nullopt;
}

std::optional<__int128> parseInteger(std::string_view text) {
  bool isNegative = text.starts_with('-');
  text.remove_prefix(isNegative || text.starts_with('+'));
  uint64_t magnitude = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), magnitude);
  if (failure != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return isNegative ? -static_cast<__int128>(magnitude) : static_cast<__int128>(magnitude);
}

bool isIntegerText(std::string_view text) {
  text.remove_prefix(text.starts_with('-') || text.starts_with('+'));
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

std::optional<bool> parseBool(std::string_view text) {
  if (text == "true" || text == "True" || text == "1")
    return true;
  if (text == "false" || text == "False" || text == "0")
    return false;
  return std::nullopt;
}

/// Stores a literal as element `i`; returns false if it is not a value of the tensor's dtype.
bool store(Tensor &tensor, int64_t i, const Literal &literal) {
  DType dtype = tensor.dtype();
  if (literal.isQuoted)
    return false;
  if (dtype == DType::Bool) {
    std::optional<bool> value = parseBool(literal.text);
    return value && storeInteger(tensor, i, *value);
  }
  if (isFloating(dtype) || isComplex(dtype)) {
    std::optional<std::complex<double>> value =
        isComplex(dtype) ? parseComplex(literal.text) : parseDouble(literal.text);
    if (!value)
      return false;
    storeFloating(tensor, i, *value);
    bool saysInfinity = literal.text.find_first_of("iIn") != std::string::npos;
    std::complex<double> stored = toComplex(tensor, i);
    return saysInfinity || (std::isfinite(stored.real()) && std::isfinite(stored.imag()));
  }
  std::optional<__int128> value = parseInteger(literal.text);
  return value && storeInteger(tensor, i, *value);
}

DType guessDType(const std::vector<Literal> &literals) {
  bool isText = false, isBool = !literals.empty(), isInteger = true, isReal = true;
  for (const Literal &literal : literals) {
    isText |= literal.isQuoted || !(parseComplex(literal.text) || parseBool(literal.text));
    isReal &= parseDouble(literal.text).has_value();
    isBool &= parseBool(literal.text).has_value() && !isIntegerText(literal.text);
    isInteger &= isIntegerText(literal.text);
  }
  return isText      ? DType::String
         : isBool    ? DType::Bool
         : isInteger ? DType::Int32
         : isReal    ? DType::Float32
                     : DType::Complex64;
}

} // namespace

std::string typeText(DType dtype, bool hasRank, Dims dims) {
  if (!hasRank)
    return str(dtypeName(dtype), " of any shape");
  std::string out = str(dtypeName(dtype), "[");
  for (size_t i = 0; i < dims.size(); ++i)
    out += (i ? "," : "") + (dims[i] < 0 ? std::string("?") : std::to_string(dims[i]));
  return out + "]";
}

static Error valueError(const InputType &wanted, std::string_view text, std::string_view problem) {
  std::string shown(text.substr(0, 60));
  return invalidArgument("input '", wanted.name, "': value '", shown,
                         text.size() > 60 ? "...'" : "'", problem);
}

/// Returns the contents of the file for `@cat.jpg`, and the string itself for `"@cat.jpg"`.
static Expected<std::string> stringOf(const Literal &literal, const InputType &wanted) {
  if (literal.isQuoted || literal.text.size() < 2 || !literal.text.starts_with('@'))
    return literal.text;
  return readFileBytes(literal.text.substr(1)).map_error([&](Error error) {
    error.message = str("input '", wanted.name, "': ", error.message,
                        "; for the string itself write \"", literal.text, "\", in quotes");
    return error;
  });
}

/// Makes a tensor of these literals; a single one fills any shape.
static Expected<Tensor> makeTensor(DType dtype, Dims dims, const std::vector<Literal> &literals,
                                   const InputType &wanted, std::string_view text) {
  if (!isPlain(dtype) && dtype != DType::String)
    return Unexpected(
        valueError(wanted, text, str(": a ", dtypeName(dtype), " cannot be written as text")));
  std::optional<int64_t> count = countElements(dims);
  bool isFill = literals.size() == 1;
  if (!count)
    return Unexpected(
        valueError(wanted, text, str(": shape ", dimsText(dims), " has too many elements")));
  if (!isFill && static_cast<size_t>(*count) != literals.size())
    return Unexpected(valueError(
        wanted, text,
        str(" has ", literals.size(), " elements, but shape ", dimsText(dims), " needs ", *count)));
  Expected<Tensor> tensor = Tensor::make(dtype, dims);
  for (int64_t i = 0; tensor && i < *count; ++i) {
    const Literal &literal = literals[isFill ? 0 : static_cast<size_t>(i)];
    if (dtype == DType::String)
      tensor->data<std::string>()[i] = TREADLE_TRY(stringOf(literal, wanted));
    else if (!store(*tensor, i, literal))
      return Unexpected(valueError(
          wanted, text,
          str(": '", literal.text, "' is not a valid ", dtypeName(dtype), ", or is out of range")));
  }
  return tensor;
}

/// The part before `=` in `2x3xf32=...`; the dtype is empty in `2x3=...`.
struct TypePrefix {
  std::vector<int64_t> dims;
  std::string_view dtype;
};

static std::optional<TypePrefix> parseTypePrefix(std::string_view text) {
  TypePrefix prefix;
  while (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0]))) {
    int64_t dim = 0;
    auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), dim);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (failure != std::errc() || (!text.empty() && text[0] != 'x'))
      return std::nullopt;
    prefix.dims.push_back(dim);
    text.remove_prefix(std::min<size_t>(text.size(), 1));
  }
  prefix.dtype = text;
  return prefix;
}

/// Finds a dtype by any of its names: `ui8`, `u8`, `uint8`.
static std::optional<DType> findDType(std::string_view name) {
  std::optional<DType> dtype = dtypeFromName(name);
  if (dtype || !name.starts_with('u'))
    return dtype;
  return dtypeFromName(str("ui", name.substr(1)));
}

static Error unknownDType(const InputType &wanted, std::string_view text, std::string_view name) {
  std::vector<std::string_view> names;
  for (int i = 1; i < numDTypes; ++i)
    names.push_back(dtypeName(static_cast<DType>(i)));
  return valueError(wanted, text,
                    str(": '", name, "' is not a valid dtype", didYouMean(name, names),
                        "; expected f32, i64, u8, i1, c64 and so on, or a name such as float32"));
}

/// Returns the dtype of a typed form, or that of the input if the form has none.
static Expected<DType> dtypeOf(const TypePrefix &prefix, const InputType &wanted,
                               std::string_view text) {
  if (std::optional<DType> dtype = findDType(prefix.dtype))
    return *dtype;
  if (!prefix.dtype.empty())
    return Unexpected(unknownDType(wanted, text, prefix.dtype));
  if (wanted.dtype == DType::Invalid)
    return Unexpected(valueError(
        wanted, text,
        " has no dtype, and the graph doesn't state one; put a dtype before '=': 2x3xf32=0"));
  return wanted.dtype;
}

/// Parses the part after `=` of a typed form: `1,2,3`, or one value for all elements.
static Expected<Tensor> parseTyped(const TypePrefix &prefix, std::string_view values,
                                   const InputType &wanted, std::string_view text) {
  DType dtype = TREADLE_TRY(dtypeOf(prefix, wanted, text));
  if (countElements(prefix.dims) == 0 && values.empty())
    return Tensor::make(dtype, prefix.dims);
  std::string list = values.starts_with('[') ? std::string(values) : str("[", values, "]");
  NestedParser parser(list);
  std::optional<Nested> nested = parser.parse();
  if (!nested)
    return Unexpected(valueError(wanted, text, ": " + parser.problem));
  return makeTensor(dtype, prefix.dims, nested->literals, wanted, text);
}

static Expected<Tensor> randomTensor(const InputType &wanted, uint64_t seed, std::string &note) {
  if (wanted.dtype == DType::Invalid)
    return Unexpected(valueError(wanted, "random",
                                 " needs a dtype, and the graph has no "
                                 "placeholder of this name; give a typed value"));
  std::vector<int64_t> dims = wanted.dims;
  for (int64_t &dim : dims)
    dim = dim < 0 ? 1 : dim;
  if (dims != wanted.dims || !wanted.hasRank)
    note = str("input '", wanted.name, "' is ", typeText(wanted.dtype, wanted.hasRank, wanted.dims),
               ": using random values of ", typeText(wanted.dtype, true, dims));
  if (!isFloating(wanted.dtype) && !isComplex(wanted.dtype) && !isInteger(wanted.dtype) &&
      wanted.dtype != DType::Bool)
    return Unexpected(valueError(
        wanted, "random",
        str(": random values are not supported for dtype ", dtypeName(wanted.dtype),
            wanted.dtype == DType::String ? "; write \"random\", in quotes, for the string" : "")));
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  return Tensor::make(wanted.dtype, dims).map([&](Tensor tensor) {
    bool isNumber = isFloating(wanted.dtype) || isComplex(wanted.dtype);
    uint64_t limit = wanted.dtype == DType::Bool || wanted.dtype == DType::Int2 ? 2
                     : wanted.dtype == DType::UInt2                             ? 4
                     : wanted.dtype == DType::Int4                              ? 8
                                                                                : 10;
    auto number = [&]() -> std::complex<double> {
      double real = normal(generator);
      return isComplex(wanted.dtype) ? std::complex(real, normal(generator)) : real;
    };
    for (int64_t i = 0; i < tensor.count(); ++i)
      if (isNumber)
        storeFloating(tensor, i, number());
      else
        storeInteger(tensor, i, static_cast<__int128>(generator() % limit));
    return tensor;
  });
}

/// Reads `x.npy`, `x.npz` with one array, or `x.npz:member`.
static Expected<Tensor> readArray(std::string_view path, const InputType &wanted) {
  constexpr std::string_view archive = ".npz";
  size_t colon = path.rfind(str(archive, ":"));
  if (colon == path.npos && !path.ends_with(archive))
    return readNpyFile(std::string(path), wanted.dtype);
  std::string file(path.substr(0, colon == path.npos ? colon : colon + archive.size()));
  NpzFile arrays = TREADLE_TRY(NpzFile::open(file));
  std::vector<std::string> names = arrays.names();
  std::string member(colon == path.npos ? "" : path.substr(file.size() + 1));
  if (colon == path.npos && names.size() == 1)
    member = names[0];
  if (arrays.has(member))
    return arrays.read(member, wanted.dtype);
  std::string all;
  for (const std::string &name : names)
    all += str(all.empty() ? "" : ", ", "'", name, "'");
  std::string found = str("its arrays are ", all.empty() ? "none" : all);
  if (colon == path.npos)
    return Unexpected(invalidArgument("input '", wanted.name, "': '", file, "' holds ",
                                      names.size(), " arrays; name one: @", file, ":NAME; ",
                                      found));
  return Unexpected(notFound(
      "input '", wanted.name, "': '", file, "' has no array '", member, "'",
      didYouMean(member, std::vector<std::string_view>(names.begin(), names.end())), "; ", found));
}

static bool isArrayFile(std::string_view path) {
  return path.ends_with(".npy") || path.ends_with(".npz") || path.find(".npz:") != path.npos;
}

Expected<Tensor> parseValue(std::string_view text, const InputType &wanted, uint64_t seed,
                            std::string &note) {
  bool isText = wanted.dtype == DType::String;
  if (text.starts_with('@') && (!isText || isArrayFile(text)))
    return readArray(text.substr(1), wanted);
  if (text == "random")
    return randomTensor(wanted, seed, note);
  if (size_t equals = text.find('='); equals != text.npos) {
    std::optional<TypePrefix> prefix = parseTypePrefix(text.substr(0, equals));
    // If the text could also be a string or a name, it is a typed form only if it has a dtype.
    if (prefix && (findDType(prefix->dtype) || (!isText && !prefix->dims.empty())))
      return parseTyped(*prefix, text.substr(equals + 1), wanted, text);
  }
  // An unquoted string is taken literally, including commas.
  if (isText && !text.starts_with('[') && !text.starts_with('"'))
    return stringOf({std::string(text)}, wanted).map(Tensor::scalarString);
  NestedParser parser(text);
  std::optional<Nested> nested = parser.parse();
  if (!nested)
    return Unexpected(valueError(wanted, text, ": " + parser.problem));
  DType dtype = wanted.dtype == DType::Invalid ? guessDType(nested->literals) : wanted.dtype;
  return makeTensor(dtype, nested->dims, nested->literals, wanted, text);
}

} // namespace treadle::cli
