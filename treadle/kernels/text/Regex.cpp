// Regular expressions (RE2): matching and replacement.
#include "treadle/kernels/Element.h"

#include <re2/re2.h>

namespace treadle {
namespace {

using Regex = std::shared_ptr<const re2::RE2>;

Expected<Regex> compile(const std::string &pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false); // errors are returned instead
  auto regex = std::make_shared<const re2::RE2>(pattern, options);
  if (!regex->ok())
    return Unexpected(
        invalidArgument("'", pattern, "' is not a valid regular expression: ", regex->error()));
  return regex;
}

// Compiles the expression in input `i`; returns null after failing the op.
Regex regexInput(OpContext &ctx, int i) {
  if (!ctx.input(i).isScalar()) {
    ctx.fail(invalidArgument("input ", i, " must be a scalar, but it is ",
                             tensorTypeText(ctx.input(i))));
    return nullptr;
  }
  return ctx.check(compile(ctx.input(i).scalarValue<std::string>())).value_or(nullptr);
}

// --- matching ----------------------------------------------------------------------------------

void matchAll(OpContext &ctx, const re2::RE2 &regex) {
  const Tensor &in = ctx.input(0);
  Tensor *out = ctx.allocateOutput(0, DType::Bool, in.dims());
  for (int64_t i = 0; out && i < in.count(); ++i)
    out->data<bool>()[i] = re2::RE2::FullMatch(in.data<std::string>()[i], regex);
}

void fullMatch(OpContext &ctx) {
  if (Regex regex = regexInput(ctx, 1))
    matchAll(ctx, *regex);
}

void staticFullMatch(OpContext &ctx) { matchAll(ctx, *ctx.state<Regex>()); }

Expected<BoundKernel> bindStaticFullMatch(const BindContext &node) {
  return compile(node.attrs.getOr("pattern", std::string())).map([](Regex regex) {
    return boundWith(staticFullMatch, std::move(regex));
  });
}

// --- replacement -------------------------------------------------------------------------------

struct Replacement {
  Regex regex; // of the static op
  std::string rewrite;
  bool isGlobal;
};

void replaceAll(OpContext &ctx, const re2::RE2 &regex, const std::string &rewrite, bool isGlobal) {
  const Tensor &in = ctx.input(0);
  Tensor *out = ctx.allocateOutput(0, DType::String, in.dims());
  for (int64_t i = 0; out && i < in.count(); ++i) {
    std::string text = in.data<std::string>()[i];
    if (isGlobal)
      re2::RE2::GlobalReplace(&text, regex, rewrite);
    else
      re2::RE2::Replace(&text, regex, rewrite);
    out->data<std::string>()[i] = std::move(text);
  }
}

void replace(OpContext &ctx) {
  Regex regex = regexInput(ctx, 1);
  if (!regex)
    return;
  if (!ctx.input(2).isScalar())
    return ctx.fail(
        invalidArgument("input 2 must be a scalar, but it is ", tensorTypeText(ctx.input(2))));
  replaceAll(ctx, *regex, ctx.input(2).scalarValue<std::string>(),
             ctx.state<Replacement>().isGlobal);
}

Expected<BoundKernel> bindReplace(const BindContext &node) {
  return boundWith(replace, Replacement{nullptr, {}, node.attrs.getOr("replace_global", true)});
}

void staticReplace(OpContext &ctx) {
  const auto &state = ctx.state<Replacement>();
  replaceAll(ctx, *state.regex, state.rewrite, state.isGlobal);
}

Expected<BoundKernel> bindStaticReplace(const BindContext &node) {
  return compile(node.attrs.getOr("pattern", std::string())).map([&](Regex regex) {
    return boundWith(staticReplace,
                     Replacement{std::move(regex), node.attrs.getOr("rewrite", std::string()),
                                 node.attrs.getOr("replace_global", true)});
  });
}

const KernelEntry regexTable[] = {
    {"RegexFullMatch", bindPlain<fullMatch>},
    {"RegexReplace", bindReplace},
    {"StaticRegexFullMatch", bindStaticFullMatch},
    {"StaticRegexReplace", bindStaticReplace},
};

} // namespace

std::span<const KernelEntry> regexKernels() { return regexTable; }

} // namespace treadle
