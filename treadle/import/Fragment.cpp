#include "treadle/import/Fragment.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;

namespace treadle {
namespace {

/// Placeholder for an unknown type.
constexpr StringLiteral unknownType = "none";
constexpr unsigned maxArguments = 64;
/// Limits the size, because each missing value takes another parse of the text.
constexpr size_t largestFragment = 1 << 16;

/// Returns the text between `begin` and `end`; empty if there is none.
StringRef between(StringRef text, StringRef begin, StringRef end) {
  size_t at = text.find(begin);
  return at == StringRef::npos ? StringRef() : text.substr(at + begin.size()).split(end).first;
}

/// Finds the values that a body lacks, and their types, from the parser's errors.
class MissingValues {
public:
  MissingValues(MLIRContext &context, StringRef body) : context(context), body(body) {}

  std::string run() {
    for (unsigned i = 0; i < 2 * maxArguments && discover(); ++i)
      ;
    return text();
  }

private:
  std::string text() const {
    std::string arguments;
    for (const auto &[name, type] : types)
      arguments += (arguments.empty() ? "%" : ", %") + name + ": " + type;
    return "func.func @main(" + arguments + ") {" + body.str() + "\nreturn\n}\n";
  }

  /// Returns whether the parse revealed a new value or type.
  bool discover() {
    std::string program = text(), message;
    Location place = UnknownLoc::get(&context);
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (message.empty()) {
        message = diagnostic.str();
        place = diagnostic.getLocation();
      }
      return success();
    });
    ParserConfig config(&context, /*verifyAfterParse=*/false);
    if (parseSourceString<ModuleOp>(program, config))
      return false;
    if (StringRef(message).starts_with("use of undeclared SSA value name"))
      return addValue(nameAt(program, dyn_cast<FileLineColLoc>(place)));
    return setType(between(message, "use of value '%", "'"),
                   between(message, "prior uses: '", ("' vs '" + unknownType + "'").str()));
  }

  static std::string nameAt(StringRef program, FileLineColLoc place) {
    if (!place)
      return {};
    for (unsigned line = 1; line < place.getLine(); ++line)
      program = program.split('\n').second;
    program = program.substr(place.getColumn() - 1);
    return program.consume_front("%")
               ? program
                     .take_while(
                         [](char c) { return llvm::isAlnum(c) || StringRef("_$.-").contains(c); })
                     .str()
               : std::string();
  }

  bool addValue(const std::string &name) {
    return !name.empty() && types.insert({name, unknownType.str()}).second;
  }

  bool setType(StringRef name, StringRef type) {
    auto it = types.find(name.str());
    if (it == types.end() || type.empty() || it->second != unknownType)
      return false;
    it->second = type.str();
    return true;
  }

  MLIRContext &context;
  StringRef body;
  llvm::MapVector<std::string, std::string, std::map<std::string, unsigned>> types;
};

} // namespace

bool isFragment(std::string_view text) {
  StringRef rest = StringRef(text).ltrim();
  while (rest.starts_with("//"))
    rest = rest.drop_until([](char c) { return c == '\n'; }).ltrim();
  return text.size() <= largestFragment && rest.starts_with("%");
}

std::string wrapInMain(MLIRContext &context, std::string_view fragment) {
  return MissingValues(context, fragment).run();
}

void returnUnused(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  Operation *end = main ? main.front().getTerminator() : nullptr;
  if (!end)
    return;
  SmallVector<Value> unused;
  for (Operation &op : main.front())
    llvm::append_range(unused, llvm::make_filter_range(
                                   op.getResults(), [](Value value) { return value.use_empty(); }));
  end->setOperands(unused);
  main.setType(FunctionType::get(module.getContext(), main.getArgumentTypes(),
                                 ValueRange(unused).getTypes()));
}

} // namespace treadle
