// Generates graphs of one op each from the op table.
#include "fuzz/damage/Damage.h"
#include "treadle/kernels/Families.h"
#include "treadle/ops/OpTable.h"

#include <algorithm>
#include <array>
#include <optional>

namespace treadle::fuzz {
namespace {

using Ops = std::vector<const OpDef *>;

bool isRunnable(const OpDef &op) {
  return !touchesFiles(op.name()) && builtinKernels().find(op.name());
}

/// Returns ops whose first output is a handle of that kind, and whose few inputs aren't handles.
Ops sourcesOf(DType dtype, bool isRef) {
  Ops found;
  for (const OpDef &op : allOps())
    if (!op.outputs().empty() && op.outputs()[0].type() == dtype &&
        op.outputs()[0].isRef() == isRef && op.inputs().size() <= 3 && isRunnable(op) &&
        std::ranges::none_of(op.inputs(), [](const ArgDef &arg) {
          return arg.isRef() || arg.type() == DType::Resource || arg.type() == DType::Variant;
        }))
      found.push_back(&op);
  return found;
}

/// Builds a node after those that produce its inputs.
class SingleOpGraph {
public:
  SingleOpGraph(const OpDef &def, Random &random, pb::GraphDef &graph)
      : def(def), random(random), graph(graph) {}

  /// Returns its name.
  std::string add() {
    node.set_op(std::string(def.name()));
    for (const AttrDef &attr : def.attrs())
      setAttr(attr);
    for (const ArgDef &arg : def.inputs())
      addInputs(arg);
    for (const std::string &name : controls)
      node.add_input("^" + name);
    return place(std::move(node));
  }

private:
  std::string place(pb::NodeDef made) {
    made.set_name(made.op() + std::to_string(graph.node_size()));
    std::string name = made.name();
    *graph.add_node() = std::move(made);
    return name;
  }

  static constexpr std::array plainDTypes = {DType::Float32, DType::Int32,  DType::Int64,
                                             DType::Bool,    DType::String, DType::Float64};

  DType dtypeFor(const AttrDef &attr) {
    std::span<const AttrConstant> allowed = attr.allowedValues();
    if (!attr.defaultValues().empty() && oneIn(random, 2))
      return attr.defaultValues()[0].asType();
    return allowed.empty() ? plainDTypes[pick(random, plainDTypes.size())]
                           : allowed[pick(random, allowed.size())].asType();
  }

  int64_t integerFor(const AttrDef &attr) {
    if (oneIn(random, hasEdgeCaseAttrs ? 2 : 8))
      return edgeCaseInteger(random);
    return attr.minimum().value_or(0) + static_cast<int64_t>(pick(random, 4));
  }

  float floatFor() {
    return hasEdgeCaseAttrs && oneIn(random, 2) ? edgeCaseFloat(random)
                                                : static_cast<float>(pick(random, 5)) - 1;
  }

  std::string stringFor(const AttrDef &attr) {
    if (attr.allowedValues().empty() || (hasEdgeCaseAttrs && oneIn(random, 4)))
      return edgeCaseText(random);
    return std::string(attr.allowedValues()[pick(random, attr.allowedValues().size())].asString());
  }

  size_t lengthOf(const AttrDef &attr) {
    if (!attr.isList())
      return 1;
    if (hasEdgeCaseAttrs && oneIn(random, 3))
      return oneIn(random, 2) ? 0 : 9 + pick(random, 300);
    return pick(random, 4) + static_cast<size_t>(attr.minimum().value_or(0));
  }

  /// Attributes with defaults are usually omitted.
  void setAttr(const AttrDef &attr) {
    if (attr.hasDefault() && attr.kind() != AttrKind::Type &&
        !oneIn(random, hasEdgeCaseAttrs ? 2 : 4))
      return;
    pb::AttrValue value;
    size_t count = lengthOf(attr);
    if (attr.isList() && attr.kind() == AttrKind::Type && count > 16)
      count = 16; // each is an input
    auto &list = *value.mutable_list();
    for (size_t i = 0; i < count; ++i)
      switch (attr.kind()) {
      case AttrKind::Type:
        list.add_type(static_cast<pb::DataType>(dtypeFor(attr)));
        break;
      case AttrKind::Int:
        list.add_i(integerFor(attr));
        break;
      case AttrKind::Float:
        list.add_f(floatFor());
        break;
      case AttrKind::Bool:
        list.add_b(oneIn(random, 2));
        break;
      case AttrKind::String:
        list.add_s(stringFor(attr));
        break;
      case AttrKind::Shape:
        *list.add_shape() = shapeFor();
        break;
      case AttrKind::Tensor:
        *list.add_tensor() = anyTensor(plainDTypes[pick(random, plainDTypes.size())]);
        break;
      default:
        return; // functions: a missing function is an error
      }
    if (!attr.isList())
      flatten(value);
    (*node.mutable_attr())[std::string(attr.name())] = std::move(value);
  }

  static void flatten(pb::AttrValue &value) {
    pb::AttrValue::ListValue list = value.list();
    if (list.type_size())
      value.set_type(list.type(0));
    else if (list.i_size())
      value.set_i(list.i(0));
    else if (list.f_size())
      value.set_f(list.f(0));
    else if (list.b_size())
      value.set_b(list.b(0));
    else if (list.s_size())
      value.set_s(list.s(0));
    else if (list.tensor_size())
      *value.mutable_tensor() = list.tensor(0);
    else
      *value.mutable_shape() = list.shape(0);
  }

  pb::TensorShapeProto anyShape() {
    pb::TensorShapeProto shape;
    if (wanted) {
      for (int64_t dim : *wanted)
        shape.add_dim()->set_size(dim);
      return shape;
    }
    for (size_t rank = oneIn(random, 3) ? commonRank : pick(random, 6); rank-- > 0;)
      shape.add_dim()->set_size(oneIn(random, hasStrangeShapes ? 4 : 12) ? 0
                                : oneIn(random, 2)                       ? commonSize
                                : hasStrangeShapes && oneIn(random, 4)
                                    ? 8
                                    : 1 + static_cast<int64_t>(pick(random, 4)));
    return shape;
  }

  /// Returns a shape for an attribute, possibly an invalid one: no tensor of that shape is created.
  pb::TensorShapeProto shapeFor() {
    pb::TensorShapeProto shape = anyShape();
    if (hasEdgeCaseAttrs && oneIn(random, 4))
      shape.set_unknown_rank(true), shape.clear_dim();
    for (auto &dim : *shape.mutable_dim())
      if (hasEdgeCaseAttrs && oneIn(random, 3))
        dim.set_size(edgeCaseInteger(random));
    return shape;
  }

  /// Chooses shapes by the names of inputs, so that more ops run.
  std::optional<std::vector<int64_t>> dimsByName(std::string_view name) {
    constexpr std::string_view scalars[] = {
        "axis",  "concat_dim", "split_dim", "depth",  "on_value", "off_value",     "k",
        "delta", "start",      "limit",     "stop",   "num",      "default_value", "alpha",
        "beta",  "lr",         "l1",        "l2",     "epsilon",  "rho",           "momentum",
        "min",   "max",        "scale",     "handle", "flow_in",  "index",         "size",
        "rate",  "threshold",  "contents",  "weights"};
    auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
    auto rank = static_cast<int64_t>(std::max<size_t>(commonRank, 1));
    if (has("indices"))
      return std::vector{commonSize, rank};
    if (has("values") || has("segment_ids"))
      return std::vector{commonSize};
    if (has("splits"))
      return std::vector{commonSize + 1};
    if (has("shape"))
      return std::vector{rank};
    bool isScalar = has("min_") || has("max_") || has("num_") || has("_threshold") ||
                    std::ranges::find(scalars, name) != std::end(scalars);
    return isScalar ? std::optional(std::vector<int64_t>()) : std::nullopt;
  }

  void addInputs(const ArgDef &arg) {
    wanted = followsNames && !oneIn(random, 10) ? dimsByName(arg.name()) : std::nullopt;
    addInputsOf(arg);
    wanted.reset();
  }

  void addInputsOf(const ArgDef &arg) {
    auto &attrs = *node.mutable_attr();
    if (!arg.typeListAttr().empty()) {
      for (int type : attrs[std::string(arg.typeListAttr())].list().type())
        node.add_input(inputOf(static_cast<DType>(type), false));
      return;
    }
    int64_t count = arg.numberAttr().empty() ? 1 : attrs[std::string(arg.numberAttr())].i();
    DType dtype = arg.type() != DType::Invalid
                      ? arg.type()
                      : static_cast<DType>(attrs[std::string(arg.typeAttr())].type());
    if (hasEdgeCaseAttrs && oneIn(random, 8))
      return;
    for (int64_t i = 0; i < std::min<int64_t>(count, 8); ++i)
      node.add_input(inputOf(dtype, arg.isRef()));
  }

  std::string inputOf(DType dtype, bool isRef) {
    static const Ops resources = sourcesOf(DType::Resource, false);
    static const Ops variants = sourcesOf(DType::Variant, false);
    static const Ops names = sourcesOf(DType::String, true);
    if (isRef && (dtype != DType::String || oneIn(random, 2)))
      return variable("VariableV2", "Assign", "T", dtype);
    if (dtype == DType::Resource && oneIn(random, 3))
      return variable("VarHandleOp", "AssignVariableOp", "dtype", dtypeOfHandle());
    if (isRef || dtype == DType::Resource || dtype == DType::Variant) {
      const Ops &sources = isRef ? names : dtype == DType::Resource ? resources : variants;
      return SingleOpGraph(*sources[pick(random, sources.size())], random, graph).add();
    }
    if (isOfWrongDType && oneIn(random, 4))
      return constant(plainDTypes[pick(random, plainDTypes.size())]);
    return constant(dtype);
  }

  /// Returns the dtype that the op states for its variable.
  DType dtypeOfHandle() {
    for (const char *name : {"dtype", "T"})
      if (auto it = node.attr().find(name); it != node.attr().end())
        return static_cast<DType>(it->second.type());
    return DType::Float32;
  }

  /// Adds a variable that is initialized before the op runs.
  std::string variable(const char *op, const char *assignOp, const char *attr, DType dtype) {
    pb::NodeDef made, assign;
    made.set_op(op);
    (*made.mutable_attr())["dtype"].set_type(static_cast<pb::DataType>(dtype));
    (*made.mutable_attr())["shape"].mutable_shape()->set_unknown_rank(true);
    std::string name = place(std::move(made));
    assign.set_op(assignOp);
    (*assign.mutable_attr())[attr].set_type(static_cast<pb::DataType>(dtype));
    assign.add_input(name);
    assign.add_input(constant(dtype));
    controls.push_back(place(std::move(assign)));
    return name;
  }

  std::string constant(DType dtype) {
    pb::NodeDef from;
    from.set_op("Const");
    auto &attrs = *from.mutable_attr();
    attrs["dtype"].set_type(static_cast<pb::DataType>(dtype));
    *attrs["value"].mutable_tensor() = anyTensor(dtype);
    return place(std::move(from));
  }

  pb::TensorProto anyTensor(DType dtype) {
    pb::TensorProto tensor;
    tensor.set_dtype(static_cast<pb::DataType>(dtype));
    *tensor.mutable_tensor_shape() = anyShape();
    for (size_t i = 0, listed = 1 + pick(random, 6); i < listed; ++i) {
      bool isStrange = oneIn(random, hasEdgeCaseValues ? 2 : 10);
      int64_t value =
          isStrange ? edgeCaseInteger(random) : static_cast<int64_t>(pick(random, 5)) - 1;
      float number = isStrange ? edgeCaseFloat(random) : static_cast<float>(value);
      tensor.add_int_val(static_cast<int32_t>(value));
      tensor.add_int64_val(value);
      tensor.add_float_val(number);
      tensor.add_double_val(static_cast<double>(number));
      tensor.add_bool_val(value & 1);
      tensor.add_string_val(isStrange ? edgeCaseText(random)
                                      : std::string(pick(random, 4), static_cast<char>('a' + i)));
      tensor.add_half_val(static_cast<int32_t>(value & 0x7fff));
      tensor.add_uint32_val(static_cast<uint32_t>(value));
      tensor.add_uint64_val(static_cast<uint64_t>(value));
      tensor.add_scomplex_val(static_cast<float>(value));
      tensor.add_dcomplex_val(static_cast<double>(value));
    }
    tensor.add_scomplex_val(0);
    tensor.add_dcomplex_val(0);
    keepElements(tensor, dtype);
    return tensor;
  }

  /// Keeps only the field for the dtype's elements, and at most as many elements as the shape has.
  static void keepElements(pb::TensorProto &tensor, DType dtype) {
    int64_t room = 1;
    for (const auto &dim : tensor.tensor_shape().dim())
      room *= dim.size();
    auto limit = [&](auto &values, bool isIt, int64_t each = 1) {
      int64_t most = isIt ? std::min<int64_t>(room * each, values.size()) : 0;
      while (values.size() > most)
        values.RemoveLast();
    };
    bool isInt = dtype == DType::Int32 || dtype == DType::Int16 || dtype == DType::Int8 ||
                 dtype == DType::UInt8 || dtype == DType::UInt16 || dtype == DType::QInt8 ||
                 dtype == DType::QUInt8 || dtype == DType::QInt32 || dtype == DType::QInt16 ||
                 dtype == DType::QUInt16;
    limit(*tensor.mutable_int_val(), isInt);
    limit(*tensor.mutable_int64_val(), dtype == DType::Int64);
    limit(*tensor.mutable_float_val(), dtype == DType::Float32);
    limit(*tensor.mutable_double_val(), dtype == DType::Float64);
    limit(*tensor.mutable_bool_val(), dtype == DType::Bool);
    limit(*tensor.mutable_string_val(), dtype == DType::String);
    limit(*tensor.mutable_half_val(), dtype == DType::Float16 || dtype == DType::BFloat16);
    limit(*tensor.mutable_uint32_val(), dtype == DType::UInt32);
    limit(*tensor.mutable_uint64_val(), dtype == DType::UInt64);
    limit(*tensor.mutable_scomplex_val(), dtype == DType::Complex64, 2);
    limit(*tensor.mutable_dcomplex_val(), dtype == DType::Complex128, 2);
  }

  const OpDef &def;
  Random &random;
  const size_t commonRank = pick(random, 6);
  const int64_t commonSize = 1 + static_cast<int64_t>(pick(random, 4));
  // A graph that is invalid in many ways usually fails at the first check.
  const bool hasEdgeCaseValues = oneIn(random, 3), hasEdgeCaseAttrs = oneIn(random, 4),
             hasStrangeShapes = oneIn(random, 4), isOfWrongDType = oneIn(random, 16),
             followsNames = oneIn(random, 2);
  std::optional<std::vector<int64_t>> wanted; // of the input under construction
  pb::GraphDef &graph;
  pb::NodeDef node;
  std::vector<std::string> controls;
};

} // namespace

bool touchesFiles(std::string_view op) {
  constexpr std::string_view words[] = {"File",  "Save",    "Restore",    "Checkpoint",
                                        "Write", "Summary", "Collective", "LoadAndRemap"};
  return std::ranges::any_of(words,
                             [&](std::string_view word) { return op.find(word) != op.npos; });
}

pb::GraphDef graphOfOneOp(Random &random) {
  static const Ops ops = [] {
    Ops found;
    for (const OpDef &op : allOps())
      if (isRunnable(op))
        found.push_back(&op);
    return found;
  }();
  const OpDef *op = ops[pick(random, ops.size())];
  while (isBlockingOp(op->name()) && !oneIn(random, 8)) // most wait until the time limit of the run
    op = ops[pick(random, ops.size())];
  pb::GraphDef graph;
  SingleOpGraph(*op, random, graph).add();
  graph.mutable_versions()->set_producer(1987);
  return graph;
}

} // namespace treadle::fuzz
