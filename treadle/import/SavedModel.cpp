// Imports the message of a SavedModel; File.cpp handles its folder.
#include "treadle/import/SavedModel.h"

#include "treadle/dialect/Tfg.h"
#include "treadle/import/Attributes.h"
#include "treadle/import/GraphDef.h"
#include "treadle/import/Keywords.h"
#include "treadle/import/Signatures.h"
#include "treadle/import/TextForm.h"
#include "treadle/import/WireFields.h"

#include "llvm/ADT/StringExtras.h"

#include <google/protobuf/stubs/logging.h>

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;

namespace {

using ImportedModule = Expected<OwningOpRef<ModuleOp>>;

std::string tagsOf(const pb::MetaGraphDef &meta) {
  return str("meta graph {", llvm::join(meta.meta_info_def().tags(), ","), "}");
}

/// A meta graph with its graph still serialized, if it was parsed from bytes.
struct MetaGraph {
  pb::MetaGraphDef message;
  // A message split over several fields is the concatenation of their bytes.
  std::vector<std::string_view> graphBytes;
};

ImportedModule importGraph(MLIRContext &context, MetaGraph &meta) {
  const pb::OpList &ops = meta.message.meta_info_def().stripped_op_list();
  if (meta.graphBytes.empty())
    return importGraphDef(context, std::move(*meta.message.mutable_graph_def()), ops);
  if (meta.graphBytes.size() == 1)
    return importGraphDef(context, meta.graphBytes[0], ops);
  return importGraphDef(context, llvm::join(meta.graphBytes, ""), ops);
}

/// Imports the graph and the signatures.
ImportedModule importMetaGraph(MLIRContext &context, MetaGraph &from) {
  pb::MetaGraphDef &meta = from.message;
  bool hasGraph = meta.has_graph_def() || !from.graphBytes.empty();
  ImportedModule module = importGraph(context, from);
  if (!module)
    return module;
  if (!hasGraph)
    for (tfg::GraphOp graph : llvm::make_early_inc_range((*module)->getOps<tfg::GraphOp>()))
      graph.erase();
  meta.clear_graph_def();

  TypeTable types(&context);
  AttributeImporter attributes(&context, types);
  NamedAttrList signatures;
  for (const auto &[name, signature] : meta.signature_def())
    if (DictionaryAttr converted = importSignature(attributes, types, signature);
        converted && !name.empty())
      signatures.append(name, converted);
  for (NamedAttribute signature : signatures)
    meta.mutable_signature_def()->erase(signature.getName().str());
  if (!signatures.empty())
    (**module)->setAttr(signaturesKey, signatures.getDictionary(&context));
  (**module)->setAttr(metaGraphKey, attributes.message("MetaGraphDef", meta));
  return module;
}

ImportedModule importMetaGraphs(MLIRContext &context, std::vector<MetaGraph> &metas) {
  if (metas.size() == 1)
    return importMetaGraph(context, metas[0]);
  OwningOpRef<ModuleOp> outer = ModuleOp::create(UnknownLoc::get(&context));
  for (MetaGraph &meta : metas) {
    ImportedModule module = importMetaGraph(context, meta);
    if (!module)
      return Unexpected(
          Error{module.error().code, str(tagsOf(meta.message), ": ", module.error().message)});
    outer->push_back(module->release());
  }
  return outer;
}

/// `model`: all fields except the meta graphs.
ImportedModule importParts(MLIRContext &context, const pb::SavedModel &model,
                           std::vector<MetaGraph> metas) {
  context.loadDialect<tfg::TfgDialect, tf_type::TfTypeDialect>();
  ImportedModule module = importMetaGraphs(context, metas);
  if (!module)
    return module;
  TypeTable types(&context);
  (**module)->setAttr(savedModelKey,
                      AttributeImporter(&context, types).message("SavedModel", model));
  return module;
}

Unexpected malformedSavedModel() {
  return Unexpected(invalidArgument("the bytes don't parse as a SavedModel: they are corrupted, or "
                                    "not all there; expected a serialized "
                                    "SavedModel (saved_model.pb)"));
}

/// Parses all fields except the graph, whose nodes are most of the bytes and are read one by one.
Expected<MetaGraph> readMetaGraph(std::string_view bytes) {
  WireFields fields = TREADLE_TRY(splitFields(bytes, pb::MetaGraphDef::kGraphDefFieldNumber));
  MetaGraph meta;
  if (!meta.message.ParseFromString(fields.rest))
    return malformedSavedModel();
  meta.graphBytes = std::move(fields.taken);
  return meta;
}

} // namespace

ImportedModule treadle::importSavedModel(MLIRContext &context, pb::SavedModel &&model) {
  google::protobuf::LogSilencer silencer;
  std::vector<MetaGraph> metas(model.meta_graphs_size());
  for (auto [meta, message] : llvm::zip(metas, *model.mutable_meta_graphs()))
    meta.message.Swap(&message);
  model.clear_meta_graphs();
  return importParts(context, model, std::move(metas));
}

ImportedModule treadle::importSavedModel(MLIRContext &context, std::string_view bytes) {
  google::protobuf::LogSilencer silencer;
  Expected<WireFields> fields = splitFields(bytes, pb::SavedModel::kMetaGraphsFieldNumber);
  pb::SavedModel model;
  if (!fields || !model.ParseFromString(fields->rest))
    return malformedSavedModel();
  std::vector<MetaGraph> metas;
  for (std::string_view one : fields->taken) {
    Expected<MetaGraph> meta = readMetaGraph(one);
    if (!meta)
      return malformedSavedModel();
    metas.push_back(std::move(*meta));
  }
  return importParts(context, model, std::move(metas));
}

ImportedModule treadle::importSavedModelText(MLIRContext &context, std::string_view text) {
  pb::SavedModel model;
  TREADLE_TRY(parseTextForm(text, "SavedModel", "saved_model.pbtxt", model));
  return importSavedModel(context, std::move(model));
}

SmallVector<ModuleOp> treadle::metaGraphs(ModuleOp module) {
  if (!module->hasAttr(savedModelKey))
    return {};
  if (module->hasAttr(metaGraphKey))
    return {module};
  return llvm::to_vector(module.getOps<ModuleOp>());
}
