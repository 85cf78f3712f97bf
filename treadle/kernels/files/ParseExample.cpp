// Ops that parse serialized tf.Example and tf.SequenceExample messages. A table describes where
// each op has the names of features, and the order of its inputs and outputs.
#include "treadle/kernels/files/ExampleFeatures.h"

#include <algorithm>

namespace treadle {
namespace {

// --- requested features ------------------------------------------------------------------------

/// Features of one kind, and the attributes and inputs that describe them.
struct GroupNames {
  FeatureKind kind;
  bool isList;
  const char *keys;   // attribute or input with their names
  const char *types;  // attribute with their dtypes
  const char *detail; // attribute with dense shapes or ragged splits' dtypes
};

constexpr auto Sparse = FeatureKind::Sparse, Dense = FeatureKind::Dense,
               Ragged = FeatureKind::Ragged;

const GroupNames exampleGroups[] = {
    {Sparse, false, "sparse_keys", "sparse_types", ""},
    {Dense, false, "dense_keys", "Tdense", "dense_shapes"},
    {Ragged, false, "ragged_keys", "ragged_value_types", "ragged_split_types"},
};
const GroupNames sequenceGroups[] = {
    {Sparse, false, "context_sparse_keys", "context_sparse_types", ""},
    {Dense, false, "context_dense_keys", "Tcontext_dense", "context_dense_shapes"},
    {Ragged, false, "context_ragged_keys", "context_ragged_value_types",
     "context_ragged_split_types"},
    {Sparse, true, "feature_list_sparse_keys", "feature_list_sparse_types", ""},
    {Dense, true, "feature_list_dense_keys", "feature_list_dense_types",
     "feature_list_dense_shapes"},
    {Ragged, true, "feature_list_ragged_keys", "feature_list_ragged_value_types",
     "feature_list_ragged_split_types"},
};

/// The location of the feature names of an op.
enum class KeySource : uint8_t { Attributes, Scalars, Vectors };

struct OpLayout {
  bool isSequence;
  KeySource keys;
  bool hasRagged;
  bool isSingle;      // takes one message, a scalar
  int firstKey;       // input index
  int missingAllowed; // input listing optional feature lists; -1: an attribute
};

struct FeatureGroup {
  const GroupNames *names;
  std::vector<FeatureSpec> specs;
  std::vector<std::string> keys; // if they are attributes
  int firstKey = 0;              // if they are inputs
};

struct ParseState {
  OpLayout layout;
  std::vector<FeatureGroup> groups;
  std::vector<std::string> missingAllowed; // if it is an attribute
  int missingInput = -1;
  int firstDefault = 0;
};

Expected<void> readDenseShape(const PartialShape &shape, std::string_view attr, FeatureSpec &spec) {
  bool isGood = shape.hasRank;
  for (size_t d = 0; isGood && d < shape.dims.size(); ++d) {
    if (d == 0 && shape.dims[d] < 0)
      spec.isVariable = true;
    else if (shape.dims[d] < 0)
      isGood = false;
    else
      spec.shape.push(shape.dims[d]);
  }
  if (isGood && countElements(spec.shape))
    return {};
  return Unexpected(invalidArgument(attr, " has ", shape.text(),
                                    ", expected a shape known but for its first dimension"));
}

Expected<FeatureGroup> readGroup(const BindContext &node, const GroupNames &names,
                                 const OpLayout &layout) {
  FeatureGroup group{&names, {}, {}, 0};
  auto types = node.attrs.getOr(names.types, std::vector<DType>());
  auto shapes = node.attrs.getOr(names.detail, std::vector<PartialShape>());
  auto splits = node.attrs.getOr(names.detail, std::vector<DType>());
  bool hasDetail = names.kind == Sparse || std::max(shapes.size(), splits.size()) == types.size();
  if (!hasDetail)
    return Unexpected(invalidArgument(names.detail, " has ", std::max(shapes.size(), splits.size()),
                                      " elements for the ", types.size(), " of ", names.types));
  for (size_t i = 0; i < types.size(); ++i) {
    FeatureSpec spec{names.kind, names.isList, types[i]};
    spec.isOfSequence = layout.isSequence;
    if (types[i] != DType::Float32 && types[i] != DType::Int64 && types[i] != DType::String)
      return Unexpected(invalidArgument(names.types, " has ", dtypeName(types[i]),
                                        ", expected float32, int64 or string"));
    if (names.kind == Dense)
      TREADLE_TRY(readDenseShape(shapes[i], names.detail, spec));
    if (names.kind == Ragged)
      spec.splitsDType = splits[i];
    group.specs.push_back(std::move(spec));
  }
  if (layout.keys == KeySource::Attributes) {
    group.keys = node.attrs.getOr(names.keys, std::vector<std::string>());
    if (group.keys.size() != types.size())
      return Unexpected(invalidArgument(names.keys, " has ", group.keys.size(),
                                        " elements for the ", types.size(), " of ", names.types));
  }
  return group;
}

// --- execution ---------------------------------------------------------------------------------

// Returns the names of a group's features.
Expected<std::vector<std::string>> keysOf(OpContext &ctx, const FeatureGroup &group,
                                          KeySource place) {
  if (place == KeySource::Attributes)
    return group.keys;
  std::vector<std::string> keys;
  if (place == KeySource::Vectors) {
    std::ranges::copy(ctx.input(group.firstKey).values<std::string>(), std::back_inserter(keys));
    if (keys.size() != group.specs.size())
      return Unexpected(invalidArgument(group.names->keys, " has ", keys.size(),
                                        " elements for the ", group.specs.size(), " of ",
                                        group.names->types));
    return keys;
  }
  for (size_t i = 0; i < group.specs.size(); ++i) {
    const Tensor &key = ctx.input(group.firstKey + static_cast<int>(i));
    if (!key.isScalar())
      return Unexpected(invalidArgument(group.names->keys, "[", i, "] must be a scalar, but it is ",
                                        tensorTypeText(key)));
    keys.push_back(key.scalarValue<std::string>());
  }
  return keys;
}

// A default has the feature's shape, or is one element to pad with, or is empty: no default.
Expected<void> checkDefault(const FeatureSpec &spec, std::string_view key, const Tensor &value) {
  bool isGood =
      value.dtype() == spec.dtype &&
      (spec.isVariable ? value.count() == 1
                       : value.count() == 0 || std::ranges::equal(value.dims(), Dims(spec.shape)));
  if (isGood)
    return {};
  return Unexpected(
      invalidArgument("the default of feature '", key, "' is ", tensorTypeText(value),
                      ", expected ", dtypeName(spec.dtype), " of ",
                      spec.isVariable ? "one element" : str("the shape ", dimsText(spec.shape))));
}

// Returns for each dense feature list whether messages may lack it.
Expected<std::vector<bool>> missingAllowed(OpContext &ctx, const ParseState &state,
                                           std::span<const std::string> keys) {
  std::vector<bool> allowed(keys.size());
  auto allow = [&](const auto &names) {
    for (size_t k = 0; k < keys.size(); ++k)
      allowed[k] = std::ranges::find(names, keys[k]) != names.end();
  };
  if (state.missingInput < 0) {
    allow(state.missingAllowed);
    return allowed;
  }
  const Tensor &in = ctx.input(state.missingInput);
  if (in.dtype() == DType::String) {
    allow(in.values<std::string>());
    return allowed;
  }
  if (in.rank() != 1 || in.count() != std::ssize(keys))
    return Unexpected(invalidArgument("feature_list_dense_missing_assumed_empty is ",
                                      tensorTypeText(in), ", expected an element for each of ",
                                      keys.size(), " dense feature lists"));
  for (size_t k = 0; k < keys.size(); ++k)
    allowed[k] = in.data<bool>()[k];
  return allowed;
}

Expected<std::vector<FeatureColumn>> makeColumns(OpContext &ctx, const ParseState &state) {
  std::vector<FeatureColumn> columns;
  for (const FeatureGroup &group : state.groups) {
    auto keys = TREADLE_TRY(keysOf(ctx, group, state.layout.keys));
    std::vector<bool> allowed(keys.size(), true);
    bool isDenseList = group.names->kind == Dense && group.names->isList;
    if (isDenseList) {
      auto read = TREADLE_TRY(missingAllowed(ctx, state, keys));
      allowed = std::move(read);
    }
    for (size_t i = 0; i < keys.size(); ++i) {
      const FeatureSpec &spec = group.specs[i];
      Tensor absent;
      if (spec.kind == Dense && !spec.isList) {
        absent = ctx.input(state.firstDefault + static_cast<int>(i));
        TREADLE_TRY(checkDefault(spec, keys[i], absent));
      }
      columns.emplace_back(spec, keys[i], std::move(absent), allowed[i]);
    }
  }
  return columns;
}

// Outputs are grouped by kind: all indices, then all values, then all shapes.
void setOutputs(OpContext &ctx, const ParseState &state, std::vector<FeatureColumn> &columns,
                bool isSingle) {
  int first = 0;
  size_t column = 0;
  for (const FeatureGroup &group : state.groups) {
    auto count = static_cast<int>(group.specs.size());
    int planes = 0;
    for (int i = 0; i < count; ++i) {
      auto tensors = TREADLE_OR_RETURN(ctx.check(columns[column++].finish(isSingle)));
      planes = static_cast<int>(tensors.size());
      if (state.layout.isSequence && state.layout.isSingle && group.names->kind == Dense)
        planes = 1; // no lengths
      for (int plane = 0; plane < planes; ++plane)
        ctx.setOutput(first + plane * count + i, std::move(tensors[plane]));
    }
    first += planes * count;
  }
}

void parse(OpContext &ctx) {
  const auto &state = ctx.state<ParseState>();
  const Tensor &serialized = ctx.input(0);
  int highest = state.layout.isSingle ? 0 : 1;
  int lowest = state.layout.isSingle || state.layout.keys == KeySource::Vectors ? 0 : 1;
  if (serialized.rank() < lowest || serialized.rank() > highest)
    return ctx.fail(invalidArgument("serialized must be a ", highest ? "vector" : "scalar",
                                    ", but it is ", tensorTypeText(serialized)));
  bool hasNames = state.layout.keys != KeySource::Attributes || state.layout.isSequence;
  const Tensor *names = hasNames && !state.layout.isSingle ? &ctx.input(1) : nullptr;
  if (names && names->count() && !std::ranges::equal(names->dims(), serialized.dims()))
    return ctx.fail(invalidArgument("names are ", tensorTypeText(*names), ", expected one for ",
                                    "each message of ", tensorTypeText(serialized), ", or none"));
  auto columns = TREADLE_OR_RETURN(ctx.check(makeColumns(ctx, state)));
  FeatureReader reader(columns);
  for (int64_t i = 0; i < serialized.count(); ++i) {
    const std::string &message = serialized.data<std::string>()[i];
    Expected<void> added =
        state.layout.isSequence ? reader.addSequenceExample(message) : reader.addExample(message);
    if (added)
      continue;
    std::string who = names && names->count() ? str("message '", names->data<std::string>()[i], "'")
                                              : str("message ", i);
    return ctx.fail(invalidArgument(who, ": ", added.error().message));
  }
  setOutputs(ctx, state, columns, serialized.isScalar());
}

// --- binding -----------------------------------------------------------------------------------

Expected<BoundKernel> bindParse(const BindContext &node, const OpLayout &layout) {
  ParseState state{layout, {}, {}, layout.missingAllowed, 0};
  int at = layout.firstKey;
  auto all = layout.isSequence ? std::span<const GroupNames>(sequenceGroups)
                               : std::span<const GroupNames>(exampleGroups);
  for (const GroupNames &names : all) {
    if (names.kind == Ragged && !layout.hasRagged)
      continue;
    auto group = TREADLE_TRY(readGroup(node, names, layout));
    group.firstKey = at;
    if (layout.keys != KeySource::Attributes)
      at += layout.keys == KeySource::Vectors ? 1 : static_cast<int>(group.specs.size());
    state.groups.push_back(std::move(group));
  }
  if (layout.keys == KeySource::Vectors && layout.isSequence)
    state.missingInput = at++;
  state.firstDefault = at;
  state.missingAllowed =
      node.attrs.getOr("feature_list_dense_missing_assumed_empty", std::vector<std::string>());
  int defaults = 0;
  for (const FeatureGroup &group : state.groups)
    if (group.names->kind == Dense && !group.names->isList)
      defaults = static_cast<int>(group.specs.size());
  if (at + defaults > static_cast<int>(node.inputTypes.size()))
    return Unexpected(
        invalidArgument("there are ", node.inputTypes.size(), " inputs, expected ", at + defaults));
  return expensive(boundWith(parse, std::move(state)));
}

constexpr OpLayout parseExample{false, KeySource::Scalars, false, false, 2, -1};
constexpr OpLayout parseExampleV2{false, KeySource::Vectors, true, false, 2, -1};
constexpr OpLayout parseSingleExample{false, KeySource::Attributes, false, true, 1, -1};
constexpr OpLayout parseSequence{true, KeySource::Attributes, false, false, 2, -1};
constexpr OpLayout parseSequenceV2{true, KeySource::Vectors, true, false, 2, -1};
constexpr OpLayout parseSingleSequence{true, KeySource::Scalars, false, true, 2, 1};

template <const OpLayout &layout> Expected<BoundKernel> bind(const BindContext &node) {
  return bindParse(node, layout);
}

const KernelEntry parseExampleTable[] = {
    {"ParseExample", bind<parseExample>},
    {"ParseExampleV2", bind<parseExampleV2>},
    {"ParseSequenceExample", bind<parseSequence>},
    {"ParseSequenceExampleV2", bind<parseSequenceV2>},
    {"ParseSingleExample", bind<parseSingleExample>},
    {"ParseSingleSequenceExample", bind<parseSingleSequence>},
};

} // namespace

std::span<const KernelEntry> parseExampleKernels() { return parseExampleTable; }

} // namespace treadle
