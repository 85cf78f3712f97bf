// Runs the graphs of weaknesses.txt in two tiers, with constants and with fed values.
#include "fuzz/readers/Readers.h"
#include "treadle/ops/OpTable.h"
#include "treadle/proto/graph.pb.h"
#include "treadle/tools/cli/Value.h"
#include "treadle/treadle.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include <google/protobuf/text_format.h>
#include <sys/resource.h>

namespace treadle {
namespace {

struct Row {
  std::string kind, op, inputs, attrs, expected;
  int line = 0;
};

std::string trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(' ');
  return begin == text.npos
             ? ""
             : std::string(text.substr(begin, text.find_last_not_of(' ') + 1 - begin));
}

/// Splits at separators outside of brackets.
std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == separator && depth == 0)) {
      parts.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    } else if (separator != '|') {
      depth += (text[i] == '(' || text[i] == '{') - (text[i] == ')' || text[i] == '}');
    }
  }
  while (!parts.empty() && parts.back().empty())
    parts.pop_back();
  return parts;
}

std::vector<Row> readRows() {
  std::ifstream file(TREADLE_WEAKNESSES);
  std::vector<Row> rows;
  std::string text;
  for (int line = 1; std::getline(file, text); ++line) {
    if (text.empty() || text.starts_with('#'))
      continue;
    std::vector<std::string> cells = split(text, '|');
    EXPECT_EQ(cells.size(), 5u) << "line " << line;
    if (cells.size() == 5)
      rows.push_back({cells[0], cells[1], cells[2], cells[3], cells[4], line});
  }
  return rows;
}

/// Builds a graph of the op and of those that produce its inputs.
class SingleOpGraph {
public:
  explicit SingleOpGraph(bool isFed) : isFed(isFed) {}

  std::string add(const std::string &op, const std::string &inputs, const std::string &attrs) {
    pb::NodeDef node;
    node.set_op(op);
    std::vector<DType> dtypes;
    for (const std::string &input : split(inputs, ';')) {
      auto [name, dtype] = addInput(input);
      node.add_input(name);
      dtypes.push_back(dtype);
    }
    for (const std::string &attr : split(attrs, ';')) {
      size_t colon = attr.find(':');
      pb::AttrValue value;
      EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(attr.substr(colon + 1), &value))
          << attr;
      (*node.mutable_attr())[trimmed(attr.substr(0, colon))] = value;
    }
    setDTypes(node, dtypes);
    node.set_name("n" + std::to_string(graph.node_size()));
    *graph.add_node() = node;
    return node.name();
  }

  pb::GraphDef graph;
  Session::Feeds feeds;

private:
  /// Returns the end of the brackets that open at `begin`, if any.
  static size_t endOfBraces(std::string_view text, size_t begin) {
    int depth = 0;
    for (size_t i = begin; i < text.size(); ++i) {
      depth += (text[i] == '{') - (text[i] == '}');
      if (depth == 0)
        return text[i] == '}' ? i + 1 : begin;
    }
    return begin;
  }

  /// `@OP{attributes}(inputs)`; only the name is required.
  std::pair<std::string, DType> addInput(const std::string &input) {
    if (!input.starts_with('@'))
      return addValue(input);
    size_t nameEnd = std::min(input.find_first_of("{("), input.size());
    size_t attrsEnd = endOfBraces(input, nameEnd);
    bool hasAttrs = attrsEnd > nameEnd, hasInputs = attrsEnd < input.size();
    std::string op = input.substr(1, nameEnd - 1);
    std::string node =
        add(op, hasInputs ? input.substr(attrsEnd + 1, input.size() - attrsEnd - 2) : "",
            hasAttrs ? input.substr(nameEnd + 1, attrsEnd - nameEnd - 2) : "");
    auto &attrs = *graph.mutable_node(graph.node_size() - 1)->mutable_attr();
    const OpDef *def = lookupOp(op);
    DType dtype = def && !def->outputs().empty() ? def->outputs()[0].type() : DType::Invalid;
    if (dtype == DType::Invalid && attrs.count("DstT"))
      dtype = static_cast<DType>(attrs["DstT"].type());
    return {node, dtype};
  }

  std::pair<std::string, DType> addValue(const std::string &text) {
    std::string note;
    Expected<Tensor> value =
        text == "empty" ? Tensor::scalarString("")
                        : cli::parseValue(text, {"input", DType::Invalid, false, {}}, 0, note);
    if (!value) {
      ADD_FAILURE() << value.error().message;
      return {};
    }
    pb::NodeDef node;
    node.set_name("n" + std::to_string(graph.node_size()));
    auto dtype = static_cast<pb::DataType>(value->dtype());
    (*node.mutable_attr())["dtype"].set_type(dtype);
    if (isFed) {
      node.set_op("Placeholder");
      feeds.emplace_back(node.name() + ":0", *value);
    } else {
      node.set_op("Const");
      setTensor(*(*node.mutable_attr())["value"].mutable_tensor(), *value);
    }
    *graph.add_node() = node;
    return {node.name(), value->dtype()};
  }

  static void setTensor(pb::TensorProto &proto, const Tensor &value) {
    proto.set_dtype(static_cast<pb::DataType>(value.dtype()));
    proto.mutable_tensor_shape();
    for (int64_t dim : value.dims())
      proto.mutable_tensor_shape()->add_dim()->set_size(dim);
    if (value.dtype() != DType::String)
      return proto.set_tensor_content(value.raw(), value.bytes());
    for (const std::string &text : value.values<std::string>())
      proto.add_string_val(text);
  }

  /// Sets the attributes that follow from the inputs.
  static void setDTypes(pb::NodeDef &node, const std::vector<DType> &dtypes) {
    const OpDef *op = lookupOp(node.op());
    ASSERT_TRUE(op) << node.op();
    auto &attrs = *node.mutable_attr();
    size_t at = 0;
    for (const ArgDef &arg : op->inputs()) {
      size_t count = arg.numberAttr().empty()
                         ? 1
                         : static_cast<size_t>(attrs[std::string(arg.numberAttr())].i());
      std::string list(arg.typeListAttr()), single(arg.typeAttr());
      if (!list.empty() && !attrs.count(list)) {
        auto &types = *attrs[list].mutable_list();
        for (; at < dtypes.size(); ++at)
          types.add_type(static_cast<pb::DataType>(dtypes[at]));
        continue;
      }
      if (!list.empty())
        count = static_cast<size_t>(attrs[list].list().type_size());
      if (!single.empty() && !attrs.count(single) && at < dtypes.size())
        attrs[single].set_type(static_cast<pb::DataType>(dtypes[at]));
      at += count;
    }
  }

  bool isFed;
};

double processorSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/// Returns `value`, or the class of the error and its message.
std::string outcomeOf(const SingleOpGraph &made, const std::string &name, Tier tier) {
  SessionOptions options;
  options.threads = 1;
  options.tier = tier;
  options.timeout = 1;
  options.memory = int64_t{1} << 30;
  options.print = [](std::string_view, std::string_view) {};
  auto done = Graph::fromBytes(made.graph.SerializeAsString()).and_then([&](Graph graph) {
    std::vector<std::string> fetches;
    for (const Graph::Value &output : graph.outputs())
      if (output.name.starts_with(name + ":"))
        fetches.push_back(output.name);
    return Session::create(std::move(graph), options).and_then([&](Session session) {
      return session.run(fetches, made.feeds,
                         fetches.empty() ? std::vector{name} : std::vector<std::string>());
    });
  });
  return done ? "value" : std::string(errorClass(done.error().code)) + ": " + done.error().message;
}

class Weaknesses : public testing::TestWithParam<Row> {};

TEST_P(Weaknesses, GiveAValueOrAnErrorInTime) {
  const Row &row = GetParam();
  constexpr double seconds = 4; // with a sanitizer; otherwise a small fraction of one
  for (bool isFed : {true, false})
    for (Tier tier : {Tier::Interpret, Tier::Jit}) {
      SingleOpGraph made(isFed);
      std::string name = made.add(row.op, row.inputs, row.attrs);
      double begin = processorSeconds();
      std::string outcome = outcomeOf(made, name, tier);
      EXPECT_LT(processorSeconds() - begin, seconds);
      bool isExpected =
          row.expected == "error" ? outcome != "value" : outcome.starts_with(row.expected);
      EXPECT_TRUE(isExpected) << "line " << row.line << ", " << row.op << (isFed ? ", fed" : "")
                              << ": expected " << row.expected << ", but there is " << outcome;
    }
}

INSTANTIATE_TEST_SUITE_P(Table, Weaknesses, testing::ValuesIn(readRows()), [](const auto &info) {
  std::string kind = info.param.kind;
  std::erase(kind, '-');
  return kind + "_" + info.param.op + "_" + std::to_string(info.param.line);
});

TEST(WeaknessesTest, ThePageDescribesEachKind) {
  std::stringstream page;
  page << std::ifstream(TREADLE_WEAKNESSES_PAGE).rdbuf();
  std::set<std::string> kinds;
  for (const Row &row : readRows())
    kinds.insert(row.kind);
  for (const std::string &kind : kinds)
    EXPECT_NE(page.str().find("`" + kind + "`"), std::string::npos) << kind;
}

} // namespace
} // namespace treadle
