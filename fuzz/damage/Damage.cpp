#include "fuzz/damage/Damage.h"

#include <algorithm>
#include <limits>
#include <set>

namespace treadle::fuzz {
namespace {

using Attrs = google::protobuf::Map<std::string, pb::AttrValue>;
using Nodes = google::protobuf::RepeatedPtrField<pb::NodeDef>;

constexpr int numDTypes = 33, refOffset = 100;

template <typename Range> auto &anyOf(Random &random, Range &range) {
  return *std::next(std::begin(range), static_cast<ptrdiff_t>(pick(random, std::size(range))));
}

/// Returns any name of a non-empty map. Sorts the names, because the order of the map differs
/// between processes.
std::string anyName(Random &random, const Attrs &attrs) {
  std::set<std::string> names;
  for (const auto &[name, value] : attrs)
    names.insert(name);
  return anyOf(random, names);
}

pb::DataType anyDType(Random &random) {
  int dtype = static_cast<int>(pick(random, numDTypes));
  return static_cast<pb::DataType>(dtype + (oneIn(random, 10) ? refOffset : 0));
}

void damageShape(pb::TensorShapeProto &shape, Random &random) {
  size_t how = pick(random, 5);
  if (how == 0)
    shape.set_unknown_rank(!shape.unknown_rank());
  else if (how == 1 && shape.dim_size() > 0)
    shape.mutable_dim()->RemoveLast();
  else if (how == 2 || shape.dim_size() == 0)
    shape.add_dim()->set_size(edgeCaseInteger(random));
  else
    anyOf(random, *shape.mutable_dim()).set_size(edgeCaseInteger(random));
}

// --- tensors -------------------------------------------------------------------------------------

void damageElements(pb::TensorProto &tensor, Random &random) {
  if (std::string &bytes = *tensor.mutable_tensor_content(); !bytes.empty()) {
    size_t at = pick(random, bytes.size());
    if (oneIn(random, 4))
      return bytes.resize(at);
    constexpr char values[] = {0, 1, 0x7f, static_cast<char>(0x80), static_cast<char>(0xff)};
    for (size_t i = at; i < std::min(bytes.size(), at + 8); ++i)
      bytes[i] = anyOf(random, values);
    return;
  }
  auto change = [&](auto &values, auto value) {
    if (values.empty())
      return;
    if (oneIn(random, 5))
      values.RemoveLast();
    else if (oneIn(random, 5))
      values.Add(value);
    else
      values.Set(static_cast<int>(pick(random, static_cast<size_t>(values.size()))), value);
  };
  change(*tensor.mutable_int_val(), static_cast<int32_t>(edgeCaseInteger(random)));
  change(*tensor.mutable_int64_val(), edgeCaseInteger(random));
  change(*tensor.mutable_float_val(), edgeCaseFloat(random));
  change(*tensor.mutable_double_val(), static_cast<double>(edgeCaseFloat(random)));
  change(*tensor.mutable_bool_val(), oneIn(random, 2));
  if (tensor.string_val_size() > 0)
    anyOf(random, *tensor.mutable_string_val()) = std::string(pick(random, 20), '\xff');
}

void damageTensor(pb::TensorProto &tensor, Random &random) {
  switch (pick(random, 4)) {
  case 0:
    return tensor.set_dtype(anyDType(random));
  case 1:
    return damageShape(*tensor.mutable_tensor_shape(), random);
  default:
    return damageElements(tensor, random);
  }
}

// --- attributes ----------------------------------------------------------------------------------

class AttrDamage {
public:
  AttrDamage(const Vocabulary &vocabulary, const std::vector<std::string> &functions,
             Random &random)
      : vocabulary(vocabulary), functions(functions), random(random) {}

  void change(pb::AttrValue &attr) {
    if (oneIn(random, 10))
      return setKind(attr, pick(random, 9));
    switch (attr.value_case()) {
    case pb::AttrValue::kS:
      return attr.set_s(anyString());
    case pb::AttrValue::kI:
      return attr.set_i(edgeCaseInteger(random));
    case pb::AttrValue::kF:
      return attr.set_f(edgeCaseFloat(random));
    case pb::AttrValue::kB:
      return attr.set_b(!attr.b());
    case pb::AttrValue::kType:
      return attr.set_type(anyDType(random));
    case pb::AttrValue::kShape:
      return damageShape(*attr.mutable_shape(), random);
    case pb::AttrValue::kTensor:
      return damageTensor(*attr.mutable_tensor(), random);
    case pb::AttrValue::kList:
      return changeList(*attr.mutable_list());
    case pb::AttrValue::kFunc:
      return changeFunction(*attr.mutable_func());
    default:
      return attr.set_i(edgeCaseInteger(random));
    }
  }

private:
  std::string anyString() {
    return vocabulary.strings.empty() || oneIn(random, 10) ? std::string(pick(random, 300), 'x')
                                                           : anyOf(random, vocabulary.strings);
  }

  void changeFunction(pb::NameAttrList &function) {
    if (!function.attr().empty() && oneIn(random, 2))
      return change(function.mutable_attr()->at(anyName(random, function.attr())));
    function.set_name(functions.empty() || oneIn(random, 5) ? "no_such" : anyOf(random, functions));
  }

  template <typename Values, typename New> void changeElements(Values &values, New &&value) {
    if (!values.empty() && oneIn(random, 3))
      values.RemoveLast();
    else if (values.empty() || oneIn(random, 3))
      values.Add(value());
    else
      values[static_cast<int>(pick(random, static_cast<size_t>(values.size())))] = value();
  }

  void changeList(pb::AttrValue::ListValue &list) {
    if (oneIn(random, 8))
      return list.Clear();
    auto integer = [&] { return edgeCaseInteger(random); };
    if (list.i_size() || oneIn(random, 30))
      return changeElements(*list.mutable_i(), integer);
    if (list.f_size())
      return changeElements(*list.mutable_f(), [&] { return edgeCaseFloat(random); });
    if (list.type_size())
      return changeElements(*list.mutable_type(),
                            [&] { return static_cast<int>(anyDType(random)); });
    if (list.b_size())
      return changeElements(*list.mutable_b(), [&] { return oneIn(random, 2); });
    if (list.s_size())
      return changeElements(*list.mutable_s(), [&] { return anyString(); });
    if (list.shape_size())
      return damageShape(anyOf(random, *list.mutable_shape()), random);
    if (list.func_size())
      return changeFunction(anyOf(random, *list.mutable_func()));
    list.add_type(anyDType(random));
  }

  void setKind(pb::AttrValue &attr, size_t kind) {
    switch (kind) {
    case 0:
      return attr.set_s(anyString());
    case 1:
      return attr.set_i(edgeCaseInteger(random));
    case 2:
      return attr.set_f(edgeCaseFloat(random));
    case 3:
      return attr.set_b(oneIn(random, 2));
    case 4:
      return attr.set_type(anyDType(random));
    case 5:
      return damageShape(*attr.mutable_shape(), random);
    case 6:
      return damageTensor(*attr.mutable_tensor(), random);
    case 7:
      return changeList(*attr.mutable_list());
    default:
      return changeFunction(*attr.mutable_func());
    }
  }

  const Vocabulary &vocabulary;
  const std::vector<std::string> &functions;
  Random &random;
};

// --- nodes ---------------------------------------------------------------------------------------

class NodeDamage {
public:
  NodeDamage(Nodes &nodes, const Vocabulary &vocabulary, const std::vector<std::string> &functions,
             bool isFunction, Random &random)
      : nodes(nodes), vocabulary(vocabulary), attrs(vocabulary, functions, random),
        isFunction(isFunction), random(random) {}

  void change() {
    pb::NodeDef &node = anyOf(random, nodes);
    size_t how = pick(random, 20);
    if (how < 10)
      return changeAttr(*node.mutable_attr());
    if (how < 15)
      return changeInputs(node);
    switch (how) {
    case 15:
      return node.set_name(oneIn(random, 2) ? anyOf(random, nodes).name() : "other name");
    case 16:
      return node.set_op(vocabulary.ops.empty() ? "NoSuchOp" : anyOf(random, vocabulary.ops));
    case 17:
      *nodes.Add() = node;
      return nodes.rbegin()->set_name(node.name() + "_again");
    case 18:
      return nodes.DeleteSubrange(static_cast<int>(pick(random, static_cast<size_t>(nodes.size()))),
                                  1);
    default:
      return nodes.SwapElements(static_cast<int>(pick(random, static_cast<size_t>(nodes.size()))),
                                0);
    }
  }

private:
  void changeAttr(Attrs &of) {
    if (of.empty())
      return;
    std::string name = anyName(random, of);
    if (oneIn(random, 12))
      of.erase(name);
    else
      attrs.change(of.at(name));
  }

  std::string anyInput() {
    const pb::NodeDef &from = anyOf(random, nodes);
    if (oneIn(random, 12))
      return "no_such:0";
    if (oneIn(random, 6))
      return "^" + from.name();
    std::string number = std::to_string(oneIn(random, 3) ? pick(random, 5) : 0);
    if (oneIn(random, 40))
      number = std::to_string(edgeCaseInteger(random));
    if (!isFunction)
      return from.name() + ":" + number;
    constexpr const char *outputs[] = {"output", "z", "y", "value", "output_false", "out"};
    return from.name() + ":" + anyOf(random, outputs) + ":" + number;
  }

  void changeInputs(pb::NodeDef &node) {
    auto &inputs = *node.mutable_input();
    if (inputs.empty() || oneIn(random, 8))
      *inputs.Add() = anyInput();
    else if (oneIn(random, 8))
      inputs.RemoveLast();
    else if (oneIn(random, 8))
      inputs.SwapElements(0, static_cast<int>(pick(random, static_cast<size_t>(inputs.size()))));
    else
      anyOf(random, inputs) = oneIn(random, 4) ? anyOf(random, inputs) : anyInput();
  }

  Nodes &nodes;
  const Vocabulary &vocabulary;
  AttrDamage attrs;
  bool isFunction;
  Random &random;
};

void damageSignature(pb::FunctionDef &function, Random &random) {
  pb::OpDef &signature = *function.mutable_signature();
  auto &args = oneIn(random, 2) ? *signature.mutable_input_arg() : *signature.mutable_output_arg();
  if (args.empty())
    return;
  if (oneIn(random, 3))
    args.RemoveLast();
  else if (oneIn(random, 2))
    anyOf(random, args).set_type(anyDType(random));
  else
    *args.Add() = anyOf(random, args);
}

} // namespace

int64_t edgeCaseInteger(Random &random) {
  constexpr int64_t values[] = {0,
                                1,
                                2,
                                3,
                                4,
                                5,
                                7,
                                8,
                                16,
                                -1,
                                -2,
                                -3,
                                100,
                                127,
                                255,
                                256,
                                1000,
                                65535,
                                65536,
                                65537,
                                1 << 20,
                                INT32_MAX,
                                INT32_MIN,
                                int64_t{1} << 31,
                                int64_t{1} << 32,
                                int64_t{1} << 40,
                                int64_t{1} << 62,
                                INT64_MAX,
                                INT64_MIN};
  return anyOf(random, values);
}

float edgeCaseFloat(Random &random) {
  constexpr float values[] = {0.0f,
                              -0.0f,
                              1.0f,
                              -1.0f,
                              1e-30f,
                              3e38f,
                              -3e38f,
                              std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()};
  return anyOf(random, values);
}

std::string edgeCaseText(Random &random) {
  using namespace std::string_literals;
  static const std::string values[] = {"",          "0",        "-1",
                                       "1e999",     "nan",      "%s%n",
                                       "{}",        "(",        "[a-",
                                       "(a*)*",     "\\1",      "\xff\xfe",
                                       "\xed\xa0"s, "\0a"s,     "a,b",
                                       "a->b",      "...,ab->", "ij,jk->ik",
                                       "UTF-8",     "NHWC",     "SAME",
                                       "VALID",     "a=1;b",    "//",
                                       "3 2 0,1:-", "-:-",      "\x08\x01\x12"s,
                                       "\"\",",     "1,2,3",    "\xf0\x9f\x98",
                                       "a\nb\r\n"};
  if (oneIn(random, 20))
    return std::string(pick(random, 5000), 'x');
  return anyOf(random, values);
}

Vocabulary::Vocabulary(const std::vector<pb::GraphDef> &graphs) {
  std::set<std::string> foundOps, foundStrings;
  for (const pb::GraphDef &graph : graphs)
    for (const pb::NodeDef &node : graph.node()) {
      foundOps.insert(node.op());
      for (const auto &[name, value] : node.attr())
        if (value.value_case() == pb::AttrValue::kS && value.s().size() < 100)
          foundStrings.insert(value.s());
    }
  ops.assign(foundOps.begin(), foundOps.end());
  strings.assign(foundStrings.begin(), foundStrings.end());
}

void damage(pb::GraphDef &graph, const Vocabulary &vocabulary, Random &random) {
  std::vector<std::string> functions;
  for (const pb::FunctionDef &function : graph.library().function())
    functions.push_back(function.signature().name());
  size_t changes = 1 + pick(random, 3);
  for (size_t i = 0; i < changes && graph.node_size() > 0; ++i) {
    bool inFunction = !functions.empty() && oneIn(random, 2);
    pb::FunctionDef *function =
        inFunction ? &anyOf(random, *graph.mutable_library()->mutable_function()) : nullptr;
    if (function && oneIn(random, 8))
      damageSignature(*function, random);
    else if (function && function->node_def_size() > 0)
      NodeDamage(*function->mutable_node_def(), vocabulary, functions, true, random).change();
    else
      NodeDamage(*graph.mutable_node(), vocabulary, functions, false, random).change();
  }
}

} // namespace treadle::fuzz
