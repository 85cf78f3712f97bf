#include "treadle/graph/MetadataNames.h"

#include "treadle/dialect/Tfg.h"
#include "treadle/export/SavedModel.h"
#include "treadle/proto/variable.pb.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <google/protobuf/message.h>

using namespace mlir;

namespace treadle {
namespace {

struct Definitions {
  explicit Definitions(ModuleOp module) {
    for (Operation &op : *module.getBody()) {
      if (auto function = dyn_cast<tfg::FuncOp>(op))
        functions.insert(function.getName());
      if (auto graph = dyn_cast<tfg::GraphOp>(op))
        for (Operation &node : graph.getNodes().front())
          if (tfg::Node::isNode(&node))
            nodes.insert(tfg::Node(&node).name());
    }
  }
  llvm::StringSet<> nodes, functions;
};

/// Collects the module's names that occur anywhere in the messages, whatever the field. A false
/// positive is harmless: it only keeps one node more.
class NameFinder {
public:
  NameFinder(const Definitions &definitions, MetadataNames &found)
      : definitions(definitions), found(found) {}

  void visit(const google::protobuf::Message &message) {
    const google::protobuf::Reflection &reflection = *message.GetReflection();
    std::vector<const google::protobuf::FieldDescriptor *> fields;
    reflection.ListFields(message, &fields);
    for (const auto *field : fields) {
      int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i)
        visitField(message, reflection, *field, i);
    }
  }

private:
  void visitField(const google::protobuf::Message &message,
                  const google::protobuf::Reflection &reflection,
                  const google::protobuf::FieldDescriptor &field, int index) {
    using Field = google::protobuf::FieldDescriptor;
    if (field.cpp_type() == Field::CPPTYPE_MESSAGE)
      visit(field.is_repeated() ? reflection.GetRepeatedMessage(message, &field, index)
                                : reflection.GetMessage(message, &field));
    if (field.cpp_type() != Field::CPPTYPE_STRING)
      return;
    std::string text = field.is_repeated() ? reflection.GetRepeatedString(message, &field, index)
                                           : reflection.GetString(message, &field);
    note(text);
    // Collections store variables as serialized bytes.
    pb::VariableDef variable;
    if (field.type() == Field::TYPE_BYTES && variable.ParseFromString(text))
      visit(variable);
  }

  void note(llvm::StringRef text) {
    llvm::StringRef node = text;
    node.consume_front("^");
    node = node.split(':').first;
    if (definitions.nodes.contains(node))
      found.nodes.insert(node.str());
    if (definitions.functions.contains(text))
      found.functions.insert(text.str());
  }

  const Definitions &definitions;
  MetadataNames &found;
};

} // namespace

Expected<MetadataNames> metadataNames(ModuleOp metaGraph) {
  pb::MetaGraphDef header = TREADLE_TRY(exportMetaGraphHeader(metaGraph));
  MetadataNames found;
  Definitions definitions(metaGraph);
  NameFinder(definitions, found).visit(header);
  return found;
}

Expected<void> verifyNamesExist(ModuleOp metaGraph, const MetadataNames &names) {
  Definitions definitions(metaGraph);
  auto missing = [](const char *what, const std::string &name) {
    return Unexpected(invalidArgument("a pass removed ", what, " '", name,
                                      "', which the SavedModel's metadata refers to; leave out "
                                      "that pass, or let it keep the name"));
  };
  for (const std::string &node : names.nodes)
    if (!definitions.nodes.contains(node))
      return missing("node", node);
  for (const std::string &function : names.functions)
    if (!definitions.functions.contains(function))
      return missing("function", function);
  return {};
}

} // namespace treadle
