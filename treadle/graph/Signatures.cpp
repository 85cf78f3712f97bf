// Graph::signatures: the signatures that a SavedModel offers to callers.
#include "treadle/graph/CompositeTensors.h"
#include "treadle/graph/DisplayedFetches.h"
#include "treadle/graph/GraphImpl.h"
#include "treadle/graph/SavedModel.h"

#include "treadle/export/SavedModel.h"
#include "treadle/import/Keywords.h"
#include "treadle/import/SavedModel.h"
#include "treadle/runtime/ValueName.h"
#include "treadle/tensor/Suggestions.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>
#include <map>

namespace treadle {
namespace {

using Signature = Graph::Signature;

/// Returns the position of each tensor in the meta graph's ordered list.
llvm::StringMap<size_t> listedPlaces(const pb::MetaGraphDef &meta) {
  llvm::StringMap<size_t> places;
  auto it = meta.collection_def().find(std::string(SavedModelFiles::orderCollection));
  if (it != meta.collection_def().end())
    for (const std::string &tensor : it->second.node_list().value())
      places.try_emplace(tensor, places.size());
  return places;
}

/// Sorts values by position, then those without one by key.
template <typename Infos>
NamedValues describeAll(const Infos &infos, const llvm::StringMap<size_t> &places) {
  NamedValues values;
  for (const auto &[name, info] : std::map(infos.begin(), infos.end()))
    llvm::append_range(values, componentsOf(name, info));
  std::ranges::stable_sort(values, {}, [&](const auto &entry) {
    auto it = places.find(entry.second.name);
    return it == places.end() ? places.size() : it->second;
  });
  return values;
}

} // namespace

std::vector<Signature> signaturesOf(const pb::MetaGraphDef &meta) {
  std::vector<Signature> signatures;
  std::string tags = llvm::join(meta.meta_info_def().tags(), ",");
  llvm::StringMap<size_t> places = listedPlaces(meta);
  for (const auto &[name, def] : meta.signature_def()) {
    if (name == SavedModelFiles::initKey)
      continue;
    signatures.push_back({name, def.method_name(), tags, describeAll(def.inputs(), places),
                          describeAll(def.outputs(), places)});
  }
  std::ranges::sort(signatures, {}, &Signature::name);
  return signatures;
}

Expected<const Signature *> findSignature(const std::vector<Signature> &signatures,
                                          std::string_view name) {
  if (auto found = std::ranges::find(signatures, name, &Signature::name); found != signatures.end())
    return &*found;
  std::vector<std::string_view> names;
  std::string list;
  for (const Signature &signature : signatures) {
    names.push_back(signature.name);
    list += str(list.empty() ? "'" : ", '", signature.name, "'");
  }
  return Unexpected(notFound("the model has no signature '", name, "'", didYouMean(name, names),
                             "; its signatures are ", list.empty() ? "none" : list));
}

bool Graph::isSavedModel() const { return (*impl->module)->hasAttr(graphdef::savedModelKey); }

/// Returns the values that a list in `tf.entry_function` names, in order, keyed by node name.
static std::vector<std::pair<std::string, Graph::Value>>
listedValues(mlir::DictionaryAttr entry, llvm::StringRef key,
             const std::vector<Graph::Value> &known) {
  std::vector<std::pair<std::string, Graph::Value>> values;
  auto list = entry.getAs<mlir::StringAttr>(key);
  if (!list)
    return values;
  llvm::StringMap<const Graph::Value *> byName;
  for (const Graph::Value &value : known)
    byName.try_emplace(value.name, &value);
  for (llvm::StringRef name : llvm::split(list.getValue(), ',')) {
    std::string node = name.split(':').first.str();
    if (const Graph::Value *value = byName.lookup(node + ":0"))
      values.emplace_back(node, *value);
  }
  return values;
}

/// Returns the signature of a graph that was imported from one function of a program; the signature
/// has the function's name.
static std::optional<Signature> programSignature(const Graph &graph) {
  tfg::GraphOp op = graph.impl->index().graph();
  auto entry =
      op ? op->getAttrOfType<mlir::DictionaryAttr>("tf.entry_function") : mlir::DictionaryAttr();
  auto name = entry ? entry.getAs<mlir::StringAttr>("name") : mlir::StringAttr();
  if (!name)
    return std::nullopt;
  return Signature{name.str(), "", "", listedValues(entry, "inputs", graph.inputs()),
                   listedValues(entry, "outputs", graph.outputs())};
}

std::vector<Signature> Graph::signatures() const {
  std::vector<Signature> signatures;
  if (std::optional<Signature> program = programSignature(*this))
    return {*program};
  for (mlir::ModuleOp module : metaGraphs(*impl->module))
    if (Expected<pb::MetaGraphDef> meta = exportMetaGraphHeader(module))
      for (Signature &signature : signaturesOf(*meta))
        signatures.push_back(std::move(signature));
  return signatures;
}

Expected<std::vector<std::string>> Graph::signatureFetches(std::string_view name) const {
  std::vector<Signature> all = signatures();
  if (all.empty() && !name.empty() && !isSavedModel())
    return Unexpected(invalidArgument("the graph isn't from a SavedModel, so it has no signature '",
                                      name, "'; name the fetches instead"));
  if (!name.empty()) {
    const Signature *found = TREADLE_TRY(findSignature(all, name));
    all = {Signature(*found)};
  }
  std::vector<std::string> fetches;
  if (metaGraphs(*impl->module).size() > 1)
    return name.empty()
               ? Expected<std::vector<std::string>>(fetches)
               : Unexpected(unimplemented("the SavedModel has several meta graphs; load one of "
                                          "them to select a signature"));
  for (const Signature &signature : all)
    for (const auto &[key, value] : signature.outputs)
      if (!name.empty() || impl->index().node(nodeOf(value.name)))
        fetches.push_back(value.name);
  return fetches;
}

Expected<std::vector<std::string>> displayedFetches(const Graph &graph, std::string_view signature,
                                                    bool all) {
  auto fetches = TREADLE_TRY(graph.signatureFetches(signature));
  if (all || (signature.empty() && !graph.isSavedModel()))
    fetches.clear();
  return fetches;
}

} // namespace treadle
