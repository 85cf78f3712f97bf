// Checks that nodes have the inputs and outputs of their ops, which kernels rely on.
#include "treadle/lowering/Lowering.h"
#include "treadle/ops/OpTable.h"

#include <algorithm>
#include <optional>

namespace treadle {
namespace {

/// The number and dtype of the tensors of one argument; Invalid matches any dtype.
struct ArgumentTensors {
  size_t count = 0;
  DType dtype = DType::Invalid;
};

/// Returns nullopt if a required attribute is missing.
std::optional<ArgumentTensors> tensorsOf(const ArgDef &arg, const AttrMap &attrs) {
  ArgumentTensors run{1, arg.type()};
  if (!arg.numberAttr().empty()) {
    Expected<int64_t> count = attrs.get<int64_t>(arg.numberAttr());
    if (!count || *count < 0)
      return std::nullopt;
    run.count = *count;
  }
  if (run.dtype == DType::Invalid)
    run.dtype = attrs.getOr<DType>(arg.typeAttr(), DType::Invalid);
  return run;
}

/// Checks the inputs or the outputs of a node, argument by argument.
class SideChecker {
public:
  SideChecker(std::string_view what, std::span<const ArgDef> args,
              const std::vector<ValueType> &found, const AttrMap &attrs)
      : what(what), args(args), found(found), attrs(attrs) {}

  Expected<void> check() {
    for (const ArgDef &arg : args) {
      if (!arg.typeListAttr().empty()) {
        Expected<std::vector<TypeAttr>> types =
            attrs.get<std::vector<TypeAttr>>(arg.typeListAttr());
        if (!types)
          return {};
        for (TypeAttr type : *types) {
          TREADLE_TRY(checkStated(arg.typeListAttr(), type.dtype));
          TREADLE_TRY(take(arg, type.dtype));
        }
        continue;
      }
      if (Expected<DType> stated = attrs.get<DType>(arg.typeAttr()))
        TREADLE_TRY(checkStated(arg.typeAttr(), *stated));
      std::optional<ArgumentTensors> run = tensorsOf(arg, attrs);
      if (!run)
        return {};
      if (run->count > maxCount)
        return wrongCount(run->count);
      size_t end = next + run->count;
      while (next < std::min(end, found.size()))
        TREADLE_TRY(take(arg, run->dtype));
      next = end;
    }
    if (next != found.size())
      return wrongCount(next);
    return {};
  }

private:
  /// Kernels are selected by the dtypes that attributes state.
  static Expected<void> checkStated(std::string_view attr, DType dtype) {
    return dtype == DType::Invalid
               ? Unexpected(invalidArgument("attribute '", attr, "' is ", dtypeName(dtype),
                                            ", expected a dtype"))
               : Expected<void>();
  }

  Expected<void> take(const ArgDef &arg, DType expected) {
    size_t i = next++;
    if (i >= found.size())
      return {}; // reported at the end, with the total number
    const ValueType &type = found[i];
    if (expected != DType::Invalid && type.dtype != DType::Invalid && type.dtype != expected)
      return Unexpected(invalidArgument(what, " ", i, " ('", arg.name(), "') is ",
                                        dtypeName(type.dtype), ", expected ", dtypeName(expected)));
    if (arg.isRef() && !type.isRef && type.dtype != DType::Invalid)
      return Unexpected(invalidArgument(what, " ", i, " ('", arg.name(),
                                        "') is a value, expected a reference to a variable"));
    return {};
  }

  Expected<void> wrongCount(size_t expected) const {
    return Unexpected(invalidArgument("it has ", found.size(), " ", what,
                                      found.size() == 1 ? "" : "s", ", expected ", expected));
  }

  /// More than any node has, and small enough that sums don't overflow.
  static constexpr size_t maxCount = size_t{1} << 32;

  std::string_view what;
  std::span<const ArgDef> args;
  const std::vector<ValueType> &found;
  const AttrMap &attrs;
  size_t next = 0;
};

} // namespace

Expected<void> checkSignature(const NodeSpec &node) {
  const OpDef *def = node.isFunctionCall ? nullptr : lookupOp(node.op);
  if (!def)
    return {};
  Expected<void> ok = SideChecker("input", def->inputs(), node.inputTypes, node.attrs).check();
  if (ok)
    ok = SideChecker("output", def->outputs(), node.outputTypes, node.attrs).check();
  if (!ok)
    return Unexpected(std::move(ok.error()).atNode(node.name, node.op));
  return {};
}

std::vector<size_t> referencesForValues(const NodeSpec &node) {
  if (std::ranges::none_of(node.inputTypes, &ValueType::isRef))
    return {};
  const OpDef *def = node.isFunctionCall ? nullptr : lookupOp(node.op);
  if (!def || std::ranges::none_of(def->inputs(), &ArgDef::isRef))
    return {};
  std::vector<size_t> found;
  size_t next = 0;
  for (const ArgDef &arg : def->inputs()) {
    size_t end = next + tensorsOf(arg, node.attrs).value_or(ArgumentTensors{1}).count;
    for (; next < std::min(end, node.inputTypes.size()); ++next)
      if (!arg.isRef() && node.inputTypes[next].isRef)
        found.push_back(next);
  }
  return found;
}

} // namespace treadle
