// Writes random programs as text of the tfg dialect.
#include "treadle/ops/OpTable.h"
#include "treadle/tensor/Error.h"
#include "treadle/testing/RandomProgram.h"

namespace treadle::test {
namespace {

enum class Type : uint8_t { Int, Ints, Bool, Resource, List, Flow, String };
using Types = std::vector<Type>;

struct TypeName {
  std::string_view element, dims;
};
constexpr TypeName typeNames[] = {{"i32", ""},
                                  {"i32", "?x"},
                                  {"i1", ""},
                                  {"!tf_type.resource", ""},
                                  {"!tf_type.variant", ""},
                                  {"f32", ""},
                                  {"!tf_type.string", ""}};

std::string_view dtype(Type type) { return typeNames[static_cast<size_t>(type)].element; }
std::string tensor(Type type) {
  return str("tensor<", typeNames[static_cast<size_t>(type)].dims, dtype(type), ">");
}

template <typename Items, typename Text> std::string joined(const Items &items, Text text) {
  std::string out;
  for (const auto &item : items)
    out += str(out.empty() ? "" : ", ", text(item));
  return out;
}
std::string dtypes(const Types &types) { return str("[", joined(types, dtype), "]"); }
std::string function(int number) { return str("#tf_type.func<@f", number, ", {}>"); }

struct TypedValue {
  std::string name;
  Type type = Type::Int;
};
using Values = std::vector<TypedValue>;

/// The lines of a function body.
class FunctionText {
public:
  Values node(std::string_view op, const Values &inputs, const Types &results,
              std::string_view attrs, std::string name = "") {
    ++count;
    Values made;
    for (Type type : results)
      made.push_back({str("%v", count, "_", made.size()), type});
    auto typeOf = [](const TypedValue &value) { return tensor(value.type); };
    auto nameOf = [](const TypedValue &value) { return value.name; };
    if (name.empty())
      name = str("n", count);
    lines += str("  ", joined(made, nameOf), made.empty() ? "" : ", ", "%c", count, " = ", op, "(",
                 joined(inputs, nameOf), ") name(\"", name, "\") {", attrs, "} : (",
                 joined(inputs, typeOf), ") -> (", joined(made, typeOf), ")\n");
    return made;
  }
  TypedValue constant(int32_t value) {
    return node("Const", {}, {Type::Int},
                str("dtype = i32, value = dense<", value, "> : tensor<i32>"))[0];
  }
  TypedValue noDims() {
    return node("Const", {}, {Type::Ints}, "dtype = i32, value = dense<> : tensor<0xi32>")[0];
  }
  TypedValue compute(std::string_view op, const Values &inputs, Type result = Type::Int) {
    return node(op, inputs, {result}, str("T = ", dtype(inputs[0].type)))[0];
  }
  TypedValue variable(int number) {
    std::string name(1, "uvw"[number]);
    return node("VarHandleOp", {}, {Type::Resource},
                str("dtype = i32, shape = #tf_type.shape<>, shared_name = \"", name,
                    "\", container = \"\""))[0];
  }

  std::string lines;

private:
  int count = 0;
};

/// Writes one function; tracks its values, its handles, and the current state of the log.
class Writer {
public:
  Writer(const GeneratedProgram &program, int number)
      : program(program), number(number), function(program.functions[number]) {}

  std::string text();

private:
  bool isMain() const { return number + 1 == static_cast<int>(program.functions.size()); }
  void begin();
  void write(const Statement &s);
  void writeCall(const Statement &s);
  void writeLoop(const Statement &s);
  void print(char letter);
  void append(const TypedValue &value);
  TypedValue peek();
  TypedValue conditionResult();
  Values logged() const;
  void setLogged(const Values &values);
  TypedValue argument(Type type) {
    arguments.push_back({str("%a", arguments.size()), type});
    return arguments.back();
  }
  Values passed(const Statement &s) const;
  static Types typesOf(const Values &values) {
    Types types;
    for (const TypedValue &value : values)
      types.push_back(value.type);
    return types;
  }

  const GeneratedProgram &program;
  const int number;
  const Function &function;
  FunctionText body;
  Values arguments, values;
  TypedValue handles[numVariables];
  TypedValue array, items, count; // the log: a TensorArray and its flow, or a list; and its length
};

Values Writer::logged() const { return {items, count}; }
void Writer::setLogged(const Values &made) {
  items = made[made.size() - 2];
  count = made[made.size() - 1];
}

void Writer::begin() {
  if (isMain()) {
    TypedValue size = body.constant(0);
    if (program.logIsArray) {
      Values made = body.node("TensorArrayV3", {size}, {Type::Resource, Type::Flow},
                              "dtype = i32, element_shape = #tf_type.shape<>, dynamic_size = true, "
                              "clear_after_read = false, identical_element_shapes = false, "
                              "tensor_array_name = \"\"");
      array = made[0];
      items = made[1];
    } else {
      items = body.node("TensorListReserve", {body.noDims(), size}, {Type::List},
                        "element_dtype = i32, shape_type = i32")[0];
    }
    count = size;
  } else {
    for (int i = 0; i < function.numArguments; ++i)
      values.push_back(argument(Type::Int));
    for (TypedValue &handle : handles)
      handle = argument(Type::Resource);
    if (program.logIsArray)
      array = argument(Type::Resource);
    items = argument(program.logIsArray ? Type::Flow : Type::List);
    count = argument(Type::Int);
  }
  for (int h = 0; h < numVariables; ++h)
    if (function.isByName[h])
      handles[h] = body.variable(h);
}

/// Returns the arguments of a function that follow its own values.
Values Writer::passed(const Statement &s) const {
  Values out;
  for (int argument : s.arguments)
    out.push_back(values[argument]);
  for (int h : s.handles)
    out.push_back(handles[h]);
  if (program.logIsArray)
    out.push_back(array);
  out.push_back(items);
  out.push_back(count);
  return out;
}

void Writer::print(char letter) {
  TypedValue text = body.node(
      "Const", {}, {Type::String},
      str("dtype = !tf_type.string, value = dense<\"", letter, "\"> : tensor<!tf_type.string>"))[0];
  body.node("PrintV2", {text}, {}, "end = \"\", output_stream = \"stdout\"");
}

void Writer::append(const TypedValue &value) {
  items = program.logIsArray
              ? body.node("TensorArrayWriteV3", {array, count, value, items}, {Type::Flow},
                          "T = i32")[0]
              : body.node("TensorListSetItem", {items, count, value}, {Type::List},
                          "element_dtype = i32, resize_if_index_out_of_bounds = true")[0];
  count = body.compute("AddV2", {count, body.constant(1)});
}

TypedValue Writer::peek() {
  TypedValue index = body.compute("Sub", {count, body.constant(1)});
  return program.logIsArray
             ? body.node("TensorArrayReadV3", {array, index, items}, {Type::Int}, "dtype = i32")[0]
             : body.node("TensorListGetItem", {items, index, body.noDims()}, {Type::Int},
                         "element_dtype = i32")[0];
}

void Writer::write(const Statement &s) {
  TypedValue a = values.empty() ? TypedValue() : values[s.a];
  const TypedValue &handle = handles[s.handle];
  switch (s.kind) {
  case Statement::Constant:
    return values.push_back(body.constant(s.number));
  case Statement::Add:
    return values.push_back(body.compute("AddV2", {a, values[s.b]}));
  case Statement::Multiply:
    return values.push_back(body.compute("Mul", {a, body.constant(s.number)}));
  case Statement::Delay:
    return values.push_back(
        body.node("Delay", {a}, {Type::Int},
                  "tfg.op_traits = #tfg.op_traits<waits = true, touches_world = false, reads = [], "
                  "writes = []>")[0]);
  case Statement::Read:
    return values.push_back(body.node("ReadVariableOp", {handle}, {Type::Int}, "dtype = i32")[0]);
  case Statement::Peek:
    return values.push_back(peek());
  case Statement::Branch:
  case Statement::Call:
    return writeCall(s);
  case Statement::Loop:
    return writeLoop(s);
  case Statement::Assign:
    body.node("AssignVariableOp", {handle, a}, {}, "dtype = i32, validate_shape = false");
    return;
  case Statement::AssignAdd:
    body.node("AssignAddVariableOp", {handle, a}, {}, "dtype = i32");
    return;
  case Statement::Print:
    return print(static_cast<char>(s.number));
  case Statement::Log:
    return append(a);
  }
}

void Writer::writeCall(const Statement &s) {
  Values inputs = passed(s);
  Types types = typesOf(inputs), results = {Type::Int};
  for (const TypedValue &value : logged())
    results.push_back(value.type);
  std::string attrs = str("Tin = ", dtypes(types), ", Tout = ", dtypes(results));
  bool hasEffects = false;
  for (int called : s.functions)
    hasEffects |= program.functions[called].hasEffects;
  std::string op;
  if (s.kind == Statement::Call) {
    op = functionalOp(OpKind::Call, hasEffects);
    attrs += str(", f = ", test::function(s.functions[0]),
                 ", config = \"\", config_proto = \"\", executor_type = \"\"");
  } else {
    auto count = static_cast<int32_t>(s.functions.size());
    TypedValue which = body.compute("FloorMod", {values[s.a], body.constant(count)});
    attrs += ", output_shapes = []";
    if (count == 2) {
      op = functionalOp(OpKind::If, hasEffects);
      which = body.compute("Less", {body.constant(0), which}, Type::Bool);
      attrs += str(", Tcond = i1, then_branch = ", test::function(s.functions[1]),
                   ", else_branch = ", test::function(s.functions[0]));
    } else {
      op = functionalOp(OpKind::Case, hasEffects);
      attrs += str(", branches = [", joined(s.functions, test::function), "]");
    }
    inputs.insert(inputs.begin(), which);
  }
  Values made = body.node(op, inputs, results, attrs);
  values.push_back(made[0]);
  setLogged(made);
}

void Writer::writeLoop(const Statement &s) {
  Values inputs = {body.constant(0), values[s.a]};
  for (const TypedValue &value : passed(s))
    inputs.push_back(value);
  Types types = typesOf(inputs);
  bool hasEffects =
      program.functions[s.functions[0]].hasEffects || program.functions[s.functions[1]].hasEffects;
  Values made = body.node(
      std::string(functionalOp(OpKind::While, hasEffects)), inputs, types,
      str("T = ", dtypes(types), ", cond = ", test::function(s.functions[0]),
          ", body = ", test::function(s.functions[1]),
          ", output_shapes = [], parallel_iterations = ", program.parallelIterations, " : i64"));
  values.push_back(made[1]);
  setLogged(made);
}

TypedValue Writer::conditionResult() {
  TypedValue holds = body.compute("Less", {values[0], body.constant(*function.times)}, Type::Bool);
  if (!function.resultBelow)
    return holds;
  TypedValue limit = body.constant(*function.resultBelow);
  TypedValue isBelow = body.compute("Less", {values[function.result], limit}, Type::Bool);
  return body.node("LogicalAnd", {holds, isBelow}, {Type::Bool}, "")[0];
}

/// Whether the function is the body of a loop, which returns all its arguments.
bool isBody(const GeneratedProgram &program, int number) {
  for (const Function &function : program.functions)
    for (const Statement &s : function.statements)
      if (s.kind == Statement::Loop && s.functions[1] == number)
        return true;
  return false;
}

std::string Writer::text() {
  begin();
  for (const Statement &s : function.statements)
    write(s);
  Values results;
  if (function.times) {
    results = {conditionResult()};
  } else if (isMain()) {
    TypedValue all;
    if (program.logIsArray) {
      TypedValue range = body.node("Range", {body.constant(0), count, body.constant(1)},
                                   {Type::Ints}, "Tidx = i32")[0];
      all = body.node("TensorArrayGatherV3", {array, range, items}, {Type::Ints},
                      "dtype = i32, element_shape = #tf_type.shape<>")[0];
    } else {
      all = body.node("TensorListStack", {items, body.noDims()}, {Type::Ints},
                      "element_dtype = i32, num_elements = -1 : i64")[0];
    }
    results = {values[function.result], all};
    for (const TypedValue &handle : handles)
      results.push_back(body.node("ReadVariableOp", {handle}, {Type::Int}, "dtype = i32")[0]);
  } else if (isBody(program, number)) {
    results = arguments;
    results[0] = body.compute("AddV2", {values[0], body.constant(1)});
    results[1] = values[function.result];
    results[results.size() - 2] = items;
    results[results.size() - 1] = count;
  } else {
    results = {values[function.result], items, count};
  }
  int i = 0;
  std::string takes = joined(arguments, [&](const TypedValue &value) {
    return str(value.name, ": ", tensor(value.type), " {tfg.name = \"a", i++, "\"}");
  });
  i = 0;
  std::string gives = joined(results, [&](const TypedValue &value) {
    return str(tensor(value.type), " {tfg.name = \"r", i++, "\"}");
  });
  return str("tfg.func @f", number, "(", takes, ") -> (", gives, ") {\n", body.lines, "  return(",
             joined(results, [](const TypedValue &value) { return value.name; }),
             ") : ", joined(results, [](const TypedValue &value) { return tensor(value.type); }),
             "\n}\n");
}

} // namespace

std::string GeneratedProgram::text() const {
  Types results(2 + numVariables, Type::Int);
  results[1] = Type::Ints;
  int main = static_cast<int>(functions.size()) - 1;
  FunctionText graph;
  graph.node("StatefulPartitionedCall", {}, results,
             str("Tin = [], Tout = ", dtypes(results), ", f = ", function(main),
                 ", config = \"\", config_proto = \"\", executor_type = \"\""),
             "call");
  std::string text =
      str("tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {\n", graph.lines, "}\n");
  for (int number = 0; number <= main; ++number)
    text += Writer(*this, number).text();
  return text;
}

} // namespace treadle::test
