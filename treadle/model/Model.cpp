// Models: SavedModels that are ready to be called.
//
// Loading follows TensorFlow: runs the restore op of the saver with the checkpoint's name and the
// paths of assets fed, then the init op. Keras 3 writes models whose op restores copies of
// variables; their object graph tells which handles refer to the same variable.
#include "treadle/checkpoint/Index.h"
#include "treadle/graph/GraphImpl.h"
#include "treadle/graph/ObjectValues.h"
#include "treadle/graph/SavedModel.h"
#include "treadle/session/SessionFiles.h"
#include "treadle/session/SessionResources.h"

#include "treadle/import/File.h"
#include "treadle/import/SavedModel.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/riegeli/RecordReader.h"
#include "treadle/runtime/ValueName.h"
#include "treadle/tensor/ByName.h"
#include "treadle/tensor/Suggestions.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <unordered_map>

namespace treadle {

struct Model::Impl {
  Graph graph;
  SavedModelFiles files;
  std::vector<SavedModelFiles::Asset> assets;
  std::vector<Graph::Signature> signatures;
  Session session;

  /// The functions, with everything that calls need; created at first use.
  const ObjectFunctions &allFunctions();
  Expected<Session> functionSession();

  Expected<void> restore();
  Expected<void> checkVariables() const;
  Expected<void> initialize();
  Expected<void> saveTo(const std::string &prefix);
  Session::Feeds assetFeeds() const;
  /// Returns the default of an input that isn't given; an empty tensor if the signature has none.
  Expected<Tensor> defaultOf(const Graph::Signature &signature, const std::string &key) const;

private:
  std::once_flag functionsPlanned;
  ObjectFunctions functions;
  Expected<Session> functionsRun = Session();
};

namespace {

using Signature = Graph::Signature;

Session::Feeds consumable(Session::Feeds feeds) {
  std::ranges::sort(feeds, {}, &std::pair<std::string, Tensor>::first);
  auto same = std::ranges::unique(feeds, {}, &std::pair<std::string, Tensor>::first);
  feeds.erase(same.begin(), same.end());
  return feeds;
}

/// Adds the failed action to an error message.
Error withContext(const std::string &what, Error error) {
  error.message = str(what, ": ", error.message);
  return error;
}

/// Selects a meta graph; returns it as a graph, with its files.
Expected<std::pair<Graph, SavedModelFiles>> chooseMetaGraph(Graph graph,
                                                            const std::vector<std::string> &tags) {
  size_t count = metaGraphs(*graph.impl->module).size();
  if (!graph.isSavedModel())
    return Unexpected(invalidArgument("the graph isn't from a SavedModel: it has no signatures to "
                                      "call; run it with a Session"));
  if (count == 1)
    return SavedModelFiles::of(graph.impl->module, tags).map([&](SavedModelFiles files) {
      return std::pair(std::move(graph), std::move(files));
    });
  mlir::OwningOpRef<mlir::ModuleOp> module = graph.impl->copy();
  return SavedModelFiles::of(module, tags).map([&](SavedModelFiles files) {
    return std::pair(derivedGraph(graph, std::move(module)), std::move(files));
  });
}

// --- calls -------------------------------------------------------------------------------------

std::string keysOf(const std::vector<std::pair<std::string, Graph::Value>> &values) {
  std::string text;
  for (const auto &[key, value] : values)
    text += str(text.empty() ? "'" : ", '", key, "'");
  return text.empty() ? "none" : text;
}

Expected<void> checkNames(const Signature &signature, const Model::Values &inputs) {
  ByName known(signature.inputs);
  for (const auto &[name, value] : inputs) {
    if (known.find(name))
      continue;
    std::vector<std::string_view> keys;
    for (const auto &input : signature.inputs)
      keys.push_back(input.first);
    return Unexpected(invalidArgument("signature '", signature.name, "' has no input '", name, "'",
                                      didYouMean(name, keys), "; its inputs are ",
                                      keysOf(signature.inputs)));
  }
  return {};
}

Expected<void> checkInput(const Signature &signature, const std::string &key,
                          const Graph::Value &wanted, const Tensor &given) {
  std::string where = str("input '", key, "' of signature '", signature.name, "'");
  PartialShape shape{wanted.hasRank, wanted.dims};
  if (!given)
    return Unexpected(
        missingInput(where, " has no value; expected ", dtypeName(wanted.dtype), shape.text()));
  if (given.dtype() != wanted.dtype || !shape.accepts(given.dims()))
    return Unexpected(invalidArgument(where, " is ", tensorTypeText(given), ", expected ",
                                      dtypeName(wanted.dtype), shape.text()));
  return {};
}

} // namespace

Session::Feeds Model::Impl::assetFeeds() const {
  Session::Feeds feeds;
  for (const SavedModelFiles::Asset &asset : assets)
    feeds.emplace_back(withOutput(asset.tensor), Tensor::scalarString(asset.path));
  return consumable(std::move(feeds));
}

Expected<Tensor> Model::Impl::defaultOf(const Signature &signature, const std::string &key) const {
  auto def = files.meta.signature_def().find(signature.name);
  if (def == files.meta.signature_def().end())
    return Tensor();
  const auto &defaults = def->second.defaults();
  auto it = defaults.find(key);
  return it == defaults.end() ? Tensor() : tensorFromProto(it->second);
}

Expected<void> Model::Impl::restore() {
  const pb::SaverDef &saver = files.meta.saver_def();
  if (saver.restore_op_name().empty())
    return {};
  std::string prefix = files.variables();
  std::string index = BundleIndex::path(prefix);
  if (!std::filesystem::exists(index)) {
    size_t count = summarize(graph).variables.size();
    if (!count)
      return {};
    return Unexpected(notFound("the model has ", count,
                               " variables, but their checkpoint is "
                               "missing: there is no file '",
                               index, "'"));
  }
  Session::Feeds feeds = assetFeeds();
  feeds.emplace_back(withOutput(saver.filename_tensor_name()), Tensor::scalarString(prefix));
  return session.run({}, consumable(std::move(feeds)), {saver.restore_op_name()}).map([](auto &&) {
  });
}

/// The restore op accepts any shape that the checkpoint has.
Expected<void> Model::Impl::checkVariables() const {
  std::unordered_map<std::string, Graph::Value> wanted;
  for (Graph::Value &variable : summarize(graph).variables)
    wanted.try_emplace(variable.name, std::move(variable));
  for (const auto &[name, value] : session.variables()) {
    auto it = wanted.find(name);
    if (it == wanted.end() || !it->second.hasRank)
      continue;
    PartialShape shape = PartialShape::ranked(it->second.dims);
    if (!shape.accepts(value.dims()))
      return Unexpected(invalidArgument("variable '", name, "' is ", dtypeName(it->second.dtype),
                                        shape.text(), " in the graph, but ", tensorTypeText(value),
                                        " in the checkpoint"));
  }
  return {};
}

Expected<void> Model::Impl::initialize() {
  std::string node = files.initOp();
  if (node.empty())
    return {};
  return session.run({}, assetFeeds(), {node}).map([](auto &&) {});
}

Expected<void> Model::Impl::saveTo(const std::string &prefix) {
  const pb::SaverDef &saver = files.meta.saver_def();
  if (saver.save_tensor_name().empty())
    return Unexpected(failedPrecondition("the model can't be saved: it has no saver"));
  Session::Feeds feeds = assetFeeds();
  feeds.emplace_back(withOutput(saver.filename_tensor_name()), Tensor::scalarString(prefix));
  FileAccess files = filesOf(session);
  files.grantPrefix(prefix); // granted to the caller's prefix, regardless of the model
  return runWithFiles(session, files, {saver.save_tensor_name()}, consumable(std::move(feeds)), {})
      .map([](auto &&) {});
}

Expected<Model> Model::load(const std::string &path, SessionOptions options,
                            const std::vector<std::string> &tags) {
  riegeli::ExpansionLimit limit(static_cast<uint64_t>(std::max<int64_t>(options.memory, 0)));
  Graph graph = TREADLE_TRY(Graph::fromFile(path));
  Expected<Model> model = create(std::move(graph), std::move(options), tags);
  if (!model)
    return Unexpected(withContext(path, std::move(model.error())));
  return model;
}

/// A program has no state to restore.
Expected<Model> Model::ofProgram(Graph graph, SessionOptions options) {
  auto impl = std::make_shared<Impl>();
  impl->graph = std::move(graph);
  impl->signatures = impl->graph.signatures();
  return Session::create(impl->graph, std::move(options)).map([&](Session session) {
    impl->session = std::move(session);
    Model model;
    model.impl = std::move(impl);
    return model;
  });
}

Expected<Model> Model::create(Graph graph, SessionOptions options,
                              const std::vector<std::string> &tags) {
  if (!graph.isSavedModel() && !graph.signatures().empty())
    return ofProgram(std::move(graph), std::move(options));
  auto chosen = TREADLE_TRY(chooseMetaGraph(std::move(graph), tags));
  auto impl = std::make_shared<Impl>();
  impl->files = std::move(chosen.second);
  impl->graph = TREADLE_TRY(withUnifiedHandles(std::move(chosen.first), impl->files));
  impl->signatures = signaturesOf(impl->files.meta);
  auto assets = TREADLE_TRY(impl->files.assets());
  impl->assets = std::move(assets);
  Session session = TREADLE_TRY(Session::create(impl->graph, std::move(options)));
  impl->session = std::move(session);
  if (Expected<void> ok = impl->restore(); !ok)
    return Unexpected(withContext("the variables can't be restored", std::move(ok.error())));
  TREADLE_TRY(impl->checkVariables());
  if (Expected<void> ok = impl->initialize(); !ok)
    return Unexpected(withContext("the model can't be initialized", std::move(ok.error())));
  Model model;
  model.impl = std::move(impl);
  return model;
}

const std::vector<Signature> &Model::signatures() const { return impl->signatures; }

Expected<const Signature *> Model::signature(std::string_view name) const {
  return findSignature(impl->signatures, name);
}

Expected<Model::Values> Model::call(std::string_view name, const Values &inputs) const {
  const Signature *found = TREADLE_TRY(signature(name));
  const Signature &signature = *found;
  TREADLE_TRY(checkNames(signature, inputs));
  ByName named(inputs);
  Session::Feeds feeds;
  for (const auto &[key, wanted] : signature.inputs) {
    const Tensor *given = named.find(key);
    Tensor value = TREADLE_TRY(given ? *given : impl->defaultOf(signature, key));
    TREADLE_TRY(checkInput(signature, key, wanted, value));
    feeds.emplace_back(withOutput(wanted.name), std::move(value));
  }
  std::vector<std::string> fetches;
  for (const auto &[key, output] : signature.outputs)
    fetches.push_back(withOutput(output.name));
  return impl->session.run(fetches, feeds).map([&](std::vector<Tensor> results) {
    Values values;
    for (size_t i = 0; i < results.size(); ++i)
      values.emplace_back(signature.outputs[i].first, std::move(results[i]));
    return values;
  });
}

// --- functions ---------------------------------------------------------------------------------

const ObjectFunctions &Model::Impl::allFunctions() {
  std::call_once(functionsPlanned, [&] {
    functions = ObjectFunctions::of(files.meta);
    if (functions.functions.empty())
      functionsRun = session;
    else
      functionsRun = withFunctionCalls(graph, files, functions).and_then([&](Graph called) {
        return sessionSharingState(session, std::move(called));
      });
  });
  return functions;
}

Expected<Session> Model::Impl::functionSession() {
  allFunctions();
  return functionsRun;
}

const std::vector<ModelFunction> &Model::functions() const {
  return impl->allFunctions().functions;
}

Expected<const ModelFunction *> Model::function(std::string_view name) const {
  return impl->allFunctions().find(name);
}

Expected<Session> Model::functionSession() const { return impl->functionSession(); }

Expected<Model::Values> Model::callFunction(std::string_view name, const Values &inputs) const {
  Session session = TREADLE_TRY(impl->functionSession());
  const ModelFunction *called = TREADLE_TRY(function(name));
  const ModelFunction::Variant *variant = TREADLE_TRY(choose(*called, inputs));
  ByName named(inputs);
  Session::Feeds feeds;
  for (const auto &[key, wanted] : variant->signature.inputs)
    feeds.emplace_back(wanted.name, *named.find(key));
  std::vector<std::string> fetches;
  fetches.reserve(variant->signature.outputs.size());
  for (const auto &[key, output] : variant->signature.outputs)
    fetches.push_back(output.name);
  auto results = TREADLE_TRY(session.run(fetches, feeds, {variant->call}));
  Values values;
  for (size_t i = 0; i < results.size(); ++i)
    values.emplace_back(variant->signature.outputs[i].first, std::move(results[i]));
  return values;
}

Expected<void> Model::save() const { return impl->saveTo(impl->files.variables()); }

Expected<void> Model::save(const std::string &folder) const {
  if (std::filesystem::path(folder).has_extension())
    return Unexpected(invalidArgument("'", folder,
                                      "' has an extension, but a SavedModel is a "
                                      "folder"));
  TREADLE_TRY(impl->graph.toFile(folder));
  Expected<void> done = impl->saveTo(folder + "/variables/variables");
  std::error_code ignored;
  if (!done)
    std::filesystem::remove_all(folder, ignored);
  return done;
}

Session Model::session() const { return impl->session; }

} // namespace treadle
