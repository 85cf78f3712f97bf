// Attributes and types of StableHLO are builtin ones in this IR; this file prints them in
// StableHLO's spelling.
#include "treadle/export/StableHloText.h"

#include "treadle/export/Artifact.h"

#include "treadle/dialect/stablehlo/Attributes.h"
#include "treadle/export/ArtifactFields.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::artifact;

namespace {

/// Converts an op's attributes to StableHLO's spelling.
class SpellingConverter {
public:
  explicit SpellingConverter(MLIRContext *context) : builder(context) {}

  void spell(Operation *op);

private:
  Attribute stablehloAttribute(const std::string &text) {
    return OpaqueAttr::get(builder.getStringAttr("stablehlo"), text, builder.getNoneType());
  }
  Attribute word(uint64_t enumeration, Attribute value);
  Attribute field(const Field &field);
  Attribute group(StringRef op, StringRef name, Attribute value);
  static std::string fieldsText(DictionaryAttr fields);
  static std::string convolutionText(const NamedAttrList &fields);
  static std::string accuracyText(DictionaryAttr fields);
  Attribute alias(Attribute value);
  bool isOptional(Operation *op, NamedAttribute attr);

  Builder builder;
};

} // namespace

static std::string listText(ArrayRef<int64_t> numbers) {
  return "[" +
         llvm::join(llvm::map_range(numbers, [](int64_t n) { return std::to_string(n); }), ", ") +
         "]";
}

static std::string printAttribute(Attribute value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  value.print(stream, /*elideType=*/true);
  return text;
}

static ArrayRef<Attribute> elementsOf(Attribute list) {
  auto array = dyn_cast<ArrayAttr>(list);
  return array ? array.getValue() : ArrayRef<Attribute>();
}

Attribute SpellingConverter::word(uint64_t enumeration, Attribute value) {
  struct Row {
    uint64_t code;
    StringLiteral name;
  };
  static constexpr Row rows[] = {
      {3, "comparison_direction"}, {4, "comparison_type"},   {7, "fft_type"},  {11, "precision"},
      {12, "rng_algorithm"},       {13, "rng_distribution"}, {16, "transpose"}};
  auto text = dyn_cast<StringAttr>(value);
  for (const Row &row : rows)
    if (text && row.code == enumeration)
      return stablehloAttribute((row.name + " " + text.getValue()).str());
  return value;
}

/// `offset_dims = [1], index_vector_dim = 1`: the fields that aren't empty.
std::string SpellingConverter::fieldsText(DictionaryAttr fields) {
  std::string text;
  for (NamedAttribute entry : fields) {
    Field field = fieldOf(entry.getName(), entry.getValue());
    SmallVector<int64_t> numbers = stablehlo::numbers(field.value);
    if (field.kind == FieldKind::Numbers && numbers.empty())
      continue;
    text += text.empty() ? "" : ", ";
    text += entry.getName().str() + " = " +
            (field.kind == FieldKind::Numbers ? listText(numbers) : printAttribute(field.value));
  }
  return text;
}

/// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
std::string SpellingConverter::convolutionText(const NamedAttrList &fields) {
  auto part = [&](StringRef kind, StringRef first, char firstSign, StringRef second,
                  char secondSign) {
    SmallVector<int64_t> spatial =
        stablehlo::numbers(fields.get((kind + "_spatial_dimensions").str()));
    SmallVector<std::string> signs(spatial.size() + 2);
    auto set = [&](ArrayRef<int64_t> places, const std::string &sign) {
      if (places.size() == 1 && static_cast<uint64_t>(places[0]) < signs.size())
        signs[places[0]] = sign;
    };
    set(stablehlo::numbers(fields.get(first)), std::string(1, firstSign));
    set(stablehlo::numbers(fields.get(second)), std::string(1, secondSign));
    for (auto [i, place] : llvm::enumerate(spatial))
      set(place, std::to_string(i));
    return "[" + llvm::join(signs, ", ") + "]";
  };
  return part("input", "input_batch_dimension", 'b', "input_feature_dimension", 'f') + "x" +
         part("kernel", "kernel_input_feature_dimension", 'i', "kernel_output_feature_dimension",
              'o') +
         "->" + part("output", "output_batch_dimension", 'b', "output_feature_dimension", 'f');
}

std::string SpellingConverter::accuracyText(DictionaryAttr fields) {
  std::string text;
  for (StringRef name : {"atol", "rtol", "ulps"})
    if (Attribute value = fields.get(name))
      text += (text.empty() ? "" : ", ") + name.str() + " = " + printAttribute(value);
  auto mode = fields.getAs<StringAttr>("mode");
  return text + ", mode = #stablehlo.result_accuracy_mode<" +
         (mode ? mode.getValue() : StringRef("DEFAULT")).str() + ">";
}

Attribute SpellingConverter::alias(Attribute value) {
  auto fields = dyn_cast<DictionaryAttr>(value);
  if (!fields)
    return value;
  auto list = [&](StringRef name) { return listText(stablehlo::numbers(fields.get(name))); };
  return stablehloAttribute(
      "output_operand_alias<output_tuple_indices = " + list("output_tuple_indices") +
      ", operand_index = " + printAttribute(fields.get("operand_index")) +
      ", operand_tuple_indices = " + list("operand_tuple_indices") + ">");
}

/// Returns an attribute that StableHLO has as a group of several fields.
Attribute SpellingConverter::group(StringRef op, StringRef name, Attribute value) {
  NamedAttrList single;
  auto fields = dyn_cast<DictionaryAttr>(value);
  if (name == "dimension_numbers" && op.contains("conv")) {
    OperationState state(UnknownLoc::get(builder.getContext()), "stablehlo.convolution");
    state.addAttribute(name, value);
    Operation *holder = Operation::create(state);
    NamedAttrList all = splitGroups(holder);
    holder->destroy();
    return stablehloAttribute("conv<" + convolutionText(all) + ">");
  }
  if (!fields)
    return value;
  if (name == "algorithm") {
    std::string text;
    for (StringRef key :
         {"lhs_precision_type", "rhs_precision_type", "accumulation_type", "lhs_component_count",
          "rhs_component_count", "num_primitive_operations", "allow_imprecise_accumulation"})
      if (Attribute part = fields.get(key))
        text += (text.empty() ? "" : ", ") + key.str() + " = " + printAttribute(part);
    return stablehloAttribute("dot_algorithm<" + text + ">");
  }
  if (name == "result_accuracy")
    return stablehloAttribute("result_accuracy<" + accuracyText(fields) + ">");
  StringRef kind = llvm::StringSwitch<StringRef>(name)
                       .Case("dimension_numbers", "gather")
                       .Case("scatter_dimension_numbers", "scatter")
                       .Case("dot_dimension_numbers", "dot")
                       .Case("channel_handle", "channel_handle")
                       .Default("");
  return kind.empty() ? value : stablehloAttribute((kind + "<").str() + fieldsText(fields) + ">");
}

Attribute SpellingConverter::field(const Field &field) {
  SmallVector<int64_t> numbers = stablehlo::numbers(field.value);
  if (numbers.empty() && !maybeNumbers(field.value))
    return field.kind == FieldKind::Word ? word(field.enumeration, field.value) : field.value;
  switch (field.kind) {
  case FieldKind::Numbers:
    return builder.getDenseI64ArrayAttr(numbers);
  case FieldKind::Pairs: {
    auto elements = dyn_cast<DenseElementsAttr>(field.value);
    auto count = static_cast<int64_t>(numbers.size());
    auto rows = static_cast<int64_t>(elementsOf(field.value).size());
    SmallVector<int64_t> shape{rows ? rows : count / 2, rows ? count / rows : 2};
    bool isEven = shape[0] * shape[1] == count;
    return (elements && elements.getType().getRank() == 2) || !isEven
               ? field.value
               : DenseElementsAttr::get(RankedTensorType::get(shape, builder.getI64Type()),
                                        ArrayRef<int64_t>(numbers));
  }
  case FieldKind::Flags: {
    SmallVector<bool> flags(numbers.begin(), numbers.end());
    return builder.getDenseBoolArrayAttr(flags);
  }
  case FieldKind::Whole64:
    return numbers.size() == 1 ? builder.getI64IntegerAttr(numbers[0]) : field.value;
  case FieldKind::Word:
    return word(field.enumeration, field.value);
  case FieldKind::Words: {
    SmallVector<Attribute> words;
    for (Attribute one : elementsOf(field.value))
      words.push_back(word(field.enumeration, one));
    return builder.getArrayAttr(words);
  }
  case FieldKind::Aliases: {
    SmallVector<Attribute> aliases;
    for (Attribute one : elementsOf(field.value))
      aliases.push_back(alias(one));
    return builder.getArrayAttr(aliases);
  }
  default:
    return field.value;
  }
}

/// Whether the attribute is redundant; artifacts state all attributes explicitly.
bool SpellingConverter::isOptional(Operation *op, NamedAttribute attr) {
  NamedAttrList none;
  std::optional<Field> missing = takeField(op, attr.getName(), none);
  return missing && missing->value && attr.getName() != "window_dimensions" &&
         field(*missing) == field(fieldOf(attr.getName(), attr.getValue()));
}

void SpellingConverter::spell(Operation *op) {
  StringRef name = op->getName().stripDialect();
  SmallVector<StringAttr> optional; // if all others are unchanged
  for (NamedAttribute attr : op->getAttrs())
    if (isOptional(op, attr))
      optional.push_back(attr.getName());
  // Layouts are present for both operands and results, or for neither.
  auto isLayout = [](StringRef name) { return name.ends_with("_layouts"); };
  if (llvm::count_if(optional, isLayout) == 1)
    llvm::erase_if(optional, isLayout);
  for (StringAttr attr : optional)
    op->removeAttr(attr);
  for (NamedAttribute attr : op->getAttrs()) {
    Attribute value = attr.getValue();
    Field found = fieldOf(attr.getName(), value);
    Attribute spelled = field(found);
    if (spelled == value)
      spelled = group(name, attr.getName(), value);
    if (spelled != value)
      op->setAttr(attr.getName(), spelled);
  }
}

/// Returns the attribute for tokens and for bounds of sizes.
static Attribute boundsOf(Attribute encoding) {
  auto fields = dyn_cast_or_null<DictionaryAttr>(encoding);
  Attribute bounds = fields ? fields.get("bounds") : Attribute();
  if (!bounds)
    return encoding;
  auto text = llvm::map_range(stablehlo::numbers(bounds), [](int64_t size) {
    return ShapedType::isDynamic(size) ? std::string("?") : std::to_string(size);
  });
  MLIRContext *context = encoding.getContext();
  return OpaqueAttr::get(StringAttr::get(context, "stablehlo"),
                         "bounds<" + llvm::join(text, ", ") + ">", NoneType::get(context));
}

/// Converts types to StableHLO's spelling.
static void spellTypes(ModuleOp program) {
  AttrTypeReplacer replacer;
  // The type of a value is a token, an attribute is none.
  replacer.addReplacement([](TypeAttr attr) -> AttrTypeReplacer::ReplaceFnResult<Attribute> {
    if (isa<NoneType>(attr.getValue()))
      return std::pair(Attribute(attr), WalkResult::skip());
    return std::nullopt;
  });
  replacer.addReplacement([](NoneType type) -> Type {
    return OpaqueType::get(StringAttr::get(type.getContext(), "stablehlo"), "token");
  });
  replacer.addReplacement([](RankedTensorType type) -> Type {
    Attribute encoding = boundsOf(type.getEncoding());
    return encoding == type.getEncoding()
               ? type
               : RankedTensorType::get(type.getShape(), type.getElementType(), encoding);
  });
  replacer.recursivelyReplaceElementsIn(program, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

static Expected<void> checkGroups(ModuleOp program) {
  bool hasMesh = program
                     .walk([](Operation *op) {
                       return isa_and_nonnull<DictionaryAttr>(op->getAttr("replica_groups"))
                                  ? WalkResult::interrupt()
                                  : WalkResult::advance();
                     })
                     .wasInterrupted();
  return hasMesh ? Unexpected(unimplemented("'replica_groups' by a mesh can't be written as text "
                                            "yet"))
                 : Expected<void>();
}

/// Rejects manual computations, whose shardings have been removed, and futures, which are tuples
/// here.
static Expected<void> checkComputations(ModuleOp program) {
  Operation *found = nullptr;
  program.walk([&](Operation *op) {
    if (op->getName().getDialectNamespace() == "sdy" ||
        op->getName().stripDialect().starts_with("async_"))
      found = op;
  });
  return found ? Unexpected(unimplemented("'", found->getName().getStringRef().str(),
                                          "' can't be written as text yet"))
               : Expected<void>();
}

/// Whether the program has names or source locations.
static bool hasLocations(ModuleOp program) {
  return program
      .walk([](Operation *op) {
        bool isKnown = !isa<UnknownLoc>(op->getLoc());
        for (Region &region : op->getRegions())
          for (Block &block : region)
            for (BlockArgument argument : block.getArguments())
              isKnown |= !isa<UnknownLoc>(argument.getLoc());
        return isKnown ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

Expected<std::string> treadle::stableHloText(ModuleOp program) {
  removeAnnotations(program);
  TREADLE_TRY(checkGroups(program));
  TREADLE_TRY(checkComputations(program));
  spellTypes(program);
  SpellingConverter speller(program.getContext());
  program.walk([&](Operation *op) {
    if (op->getName().getDialectNamespace() == "stablehlo")
      speller.spell(op);
  });
  std::string text;
  llvm::raw_string_ostream stream(text);
  program->print(stream, OpPrintingFlags().enableDebugInfo(hasLocations(program)));
  return text + "\n";
}
