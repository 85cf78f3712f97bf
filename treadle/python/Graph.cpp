// treadle.Graph.
#include "treadle/graph/Diff.h"
#include "treadle/python/Arrays.h"
#include "treadle/python/Attributes.h"
#include "treadle/python/Errors.h"
#include "treadle/python/Module.h"
#include "treadle/runtime/ValueName.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace treadle::python {

nb::object toValue(const Graph::Value &value) {
  nb::object type = nb::module_::import_("treadle").attr("Value");
  nb::object shape = nb::none();
  if (value.hasRank) {
    nb::list dims;
    for (int64_t dim : value.dims)
      dims.append(dim < 0 ? nb::none() : nb::object(nb::int_(dim)));
    shape = nb::tuple(dims);
  }
  return type(value.name, std::string(dtypeName(value.dtype)), shape);
}

std::string toPath(nb::handle path) {
  PyObject *bytes = nullptr;
  if (!PyUnicode_FSConverter(path.ptr(), static_cast<void *>(&bytes)))
    throw nb::python_error();
  nb::object owner = nb::steal(bytes);
  return PyBytes_AsString(bytes);
}

namespace {

nb::list valueList(const std::vector<Graph::Value> &values) {
  nb::list out;
  for (const Graph::Value &value : values)
    out.append(toValue(value));
  return out;
}

/// Returns the graph after raising a Python warning for each of its notes.
Graph orRaiseWithWarnings(Expected<Graph> read) {
  Graph graph = orRaise(std::move(read));
  for (const std::string &note : graph.notes())
    if (PyErr_WarnEx(PyExc_UserWarning, note.c_str(), 1))
      throw nb::python_error();
  return graph;
}

Graph graphFromFile(nb::handle path) {
  std::string name = toPath(path);
  Expected<Graph> graph = [&] {
    nb::gil_scoped_release release;
    return Graph::fromFile(name);
  }();
  return orRaiseWithWarnings(std::move(graph));
}

Graph graphFromBytes(nb::handle data) {
  Py_buffer view;
  if (PyObject_GetBuffer(data.ptr(), &view, PyBUF_SIMPLE))
    throw nb::python_error();
  Expected<Graph> graph = [&] {
    nb::gil_scoped_release release;
    return Graph::fromBytes({static_cast<const char *>(view.buf), static_cast<size_t>(view.len)});
  }();
  PyBuffer_Release(&view);
  return orRaiseWithWarnings(std::move(graph));
}

void graphToFile(const Graph &graph, nb::handle path) {
  std::string name = toPath(path);
  Expected<void> written = [&] {
    nb::gil_scoped_release release;
    return graph.toFile(name);
  }();
  orRaise(std::move(written));
}

nb::bytes graphToBytes(const Graph &graph) {
  std::string bytes = orRaise(graph.toGraphDef());
  return nb::bytes(bytes.data(), bytes.size());
}

Graph runPasses(const Graph &graph, const std::string &pipeline) {
  Expected<Graph> result = [&] {
    nb::gil_scoped_release release;
    return graph.runPasses(pipeline);
  }();
  return orRaise(std::move(result));
}

// ---- editing: wrapped by Node in _graph.py

nb::dict nodeAttrs(const Graph &graph, const std::string &name) {
  Graph::NodeInfo node = orRaise(graph.node(name));
  nb::dict out;
  for (const auto &[key, value] : node.attrs)
    out[key.c_str()] = attrObject(value);
  return out;
}

std::string addNode(Graph &graph, const std::string &op, const std::vector<std::string> &inputs,
                    const std::string &name, nb::dict attrs, const std::string &device,
                    const std::vector<std::string> &outputs) {
  Graph::NodeInfo node{name, op, device, inputs, {}, {}};
  for (auto [key, value] : attrs) {
    std::string text = toName(key, "attrs");
    node.attrs.set(text, toAttr(op, text, value));
  }
  for (const std::string &dtype : outputs) {
    AttrValue type = toAttr("Identity", "T", nb::str(dtype.c_str()));
    node.outputs.push_back({"", std::get<TypeAttr>(type).dtype, false, {}});
  }
  return orRaise(graph.addNode(std::move(node)));
}

void setAttr(Graph &graph, const std::string &name, const std::string &key, nb::object value) {
  std::string op = orRaise(graph.nodeOp(name));
  orRaise(graph.setNodeAttr(name, key, toAttr(op, key, value)));
}

nb::list checkGraph(const Graph &graph, const std::vector<std::string> &asked) {
  nb::object type = nb::module_::import_("treadle").attr("Problem");
  nb::list out;
  for (Problem &problem : orRaise(check(graph, asked)))
    out.append(type(problem.kind, nb::tuple(nb::cast(problem.nodes)), problem.message));
  return out;
}

/// Converts feeds to the dtypes of their nodes.
std::vector<std::pair<std::string, Tensor>> feedsOf(const Graph &graph, const nb::dict &feeds) {
  std::vector<std::pair<std::string, Tensor>> out;
  for (auto [key, value] : feeds) {
    std::string name = toName(key, "feeds");
    TensorConversion want{str("feed '", name, "'"), std::nullopt, false};
    if (auto node = graph.node(nodeOf(name)); node && !node->outputs.empty())
      want.want = node->outputs.front().dtype;
    out.emplace_back(name, toTensor(value, want));
  }
  return out;
}

nb::object exploreGraph(const Graph &graph, std::vector<std::string> fetches, nb::dict feeds,
                        std::vector<std::string> targets, std::vector<std::string> setup,
                        int64_t limit) {
  ExploreRequest request{std::move(fetches), std::move(targets), feedsOf(graph, feeds),
                         std::move(setup), limit};
  Exploration found = orRaise(explore(graph, request));
  nb::object module = nb::module_::import_("treadle");
  nb::list difference;
  for (const auto &schedule : found.difference)
    difference.append(
        module.attr("Schedule")(nb::tuple(nb::cast(schedule.firings)), schedule.outcome));
  return module.attr("Exploration")(found.schedules, found.isComplete, found.isAmbiguous,
                                    found.isRandom, nb::tuple(difference),
                                    nb::tuple(nb::cast(found.notes)));
}

/// Returns the page as HTML.
nb::bytes viewGraph(const Graph &graph, std::string title, std::string signature, bool all,
                    std::optional<Graph> other, std::string trace,
                    std::optional<std::tuple<std::vector<std::string>, nb::dict,
                                             std::vector<std::string>, std::vector<std::string>>>
                        steps) {
  ViewRequest request;
  request.title = std::move(title);
  request.signature = std::move(signature);
  request.all = all;
  request.other = std::move(other);
  request.otherTitle = "other";
  request.trace = std::move(trace);
  if (steps) {
    auto &[fetches, feeds, targets, setup] = *steps;
    request.steps = {fetches, targets, feedsOf(graph, feeds), setup, 2000, 20};
  }
  Expected<std::string> page = [&] {
    nb::gil_scoped_release release;
    return viewParts(graph, request).map([](const auto &parts) { return viewPage(parts); });
  }();
  std::string bytes = orRaise(std::move(page));
  return nb::bytes(bytes.data(), bytes.size());
}

nb::list addGradients(Graph &graph, const std::vector<std::string> &ys,
                      const std::vector<std::string> &xs, const std::vector<std::string> &gradYs,
                      const std::vector<std::string> &stops) {
  nb::list out;
  for (const std::string &name : orRaise(addGradients(graph, {ys, xs, gradYs, stops})))
    out.append(name.empty() ? nb::none() : nb::object(nb::str(name.c_str())));
  return out;
}

nb::list preserveOrder(Graph &graph, const std::vector<std::pair<std::string, std::string>> &order,
                       bool soft) {
  std::vector<Following> wishes;
  for (const auto &[node, after] : order)
    wishes.push_back({node, after});
  nb::list leftOut;
  for (const Following &wish : orRaise(preserveOrder(graph, wishes, soft)))
    leftOut.append(nb::make_tuple(wish.node, wish.after));
  return leftOut;
}

nb::object explainGraph(const Graph &graph, std::vector<std::string> fetches,
                        std::vector<std::string> targets, const std::string &signature, bool all) {
  nb::object module = nb::module_::import_("treadle.explanation");
  auto tupleOf = [](const auto &items, auto make) {
    nb::list out;
    for (const auto &item : items)
      out.append(make(item));
    return nb::tuple(out);
  };
  auto text = [](const std::string &s) { return nb::cast(s); };
  auto op = [&](const Explanation::Op &o) {
    return module.attr("Op")(o.name, o.op, o.where, o.line);
  };
  auto access = [&](const Explanation::Access &a) {
    return module.attr("Access")(op(a.op), a.writes, a.isInCondition);
  };
  auto order = [&](const Explanation::Order &o) {
    return module.attr("Order")(o.kind, o.subject, tupleOf(o.by, access), o.isOrder, o.isRace,
                                tupleOf(o.wouldBeFree, op));
  };
  auto loop = [&](const Explanation::Loop &l) {
    return module.attr("Loop")(
        l.name, l.kind, l.line, l.parallelIterations, tupleOf(l.functions, text), l.overlapsInAuto,
        l.overlapsWhenOn, l.inAuto, l.whenOn, tupleOf(l.orders, order), tupleOf(l.inTurns, op),
        tupleOf(l.overlapping, op), tupleOf(l.advice, text), tupleOf(l.starved, text));
  };
  auto body = [&](const Explanation::Body &b) {
    return module.attr("Body")(b.function, tupleOf(b.users, text), tupleOf(b.loops, loop));
  };
  std::shared_ptr<const RegisteredOps> ops = currentOps();
  Explanation found = orRaise(
      explain(graph, {std::move(fetches), std::move(targets), &ops->traits, signature, all}));
  auto cluster = [&](const Explanation::Cluster &c) {
    return module.attr("Cluster")(c.where, tupleOf(c.nodes, op), c.ops, tupleOf(c.inputs, text));
  };
  auto interpreted = [&](const Explanation::Interpreted &i) {
    return module.attr("Interpreted")(i.why, tupleOf(i.nodes, op));
  };
  return module.attr("Explanation")(tupleOf(found.bodies, body), tupleOf(found.clusters, cluster),
                                    tupleOf(found.interpreted, interpreted), found.text());
}

void bindEditing(nb::class_<Graph> &graph) {
  graph
      .def(
          "_node_names", [](const Graph &g, const std::string &op) { return g.nodeNames(op); },
          nb::arg("op") = "")
      .def("_functions", &Graph::functionNames)
      .def("_op", [](const Graph &g, const std::string &name) { return orRaise(g.nodeOp(name)); })
      .def("_inputs",
           [](const Graph &g, const std::string &name) { return orRaise(g.nodeInputs(name)); })
      .def("_users",
           [](const Graph &g, const std::string &name) { return orRaise(g.nodeUsers(name)); })
      .def("_device",
           [](const Graph &g, const std::string &name) { return orRaise(g.node(name)).device; })
      .def("_outputs",
           [](const Graph &g, const std::string &name) {
             return valueList(orRaise(g.node(name)).outputs);
           })
      .def("_attrs", nodeAttrs)
      .def("_add", addNode)
      .def("_remove", [](Graph &g, const std::string &name) { orRaise(g.removeNode(name)); })
      .def("_rename", [](Graph &g, const std::string &name,
                         const std::string &newName) { orRaise(g.renameNode(name, newName)); })
      .def("_set_inputs",
           [](Graph &g, const std::string &name, const std::vector<std::string> &inputs) {
             orRaise(g.setNodeInputs(name, inputs));
           })
      .def("_add_control",
           [](Graph &g, const std::string &name, const std::string &before) {
             orRaise(g.addControlInput(name, before));
           })
      .def("_set_attr", setAttr)
      .def("_remove_attr",
           [](Graph &g, const std::string &name, const std::string &key) {
             orRaise(g.setNodeAttr(name, key, std::nullopt));
           })
      .def("_set_device", [](Graph &g, const std::string &name,
                             const std::string &device) { orRaise(g.setNodeDevice(name, device)); })
      .def("_replace_uses", [](Graph &g, const std::string &from,
                               const std::string &to) { orRaise(g.replaceUses(from, to)); })
      .def("_gradients", addGradients)
      .def("_preserve_order", preserveOrder)
      .def("_schedule_communication",
           [](Graph &g, const std::string &costs, int64_t ranks, int64_t memory, int64_t bucket,
              double jitter) {
             return orRaise(scheduleCommunication(g, {costs, ranks, memory, bucket, jitter}));
           })
      .def(
          "_extract_part",
          [](const Graph &g, std::vector<std::string> fetches,
             const std::vector<std::string> &feeds) { return orRaise(extract(g, fetches, feeds)); })
      .def("_assign", [](Graph &g, const Graph &other) { g = other; })
      .def("__contains__",
           [](const Graph &g, const std::string &name) { return g.nodeOp(name).has_value(); })
      .def("_check", checkGraph)
      .def("_explain", explainGraph)
      .def("_explore", exploreGraph)
      .def("_view", viewGraph, nb::arg("title"), nb::arg("signature"), nb::arg("all"),
           nb::arg("other").none(), nb::arg("trace"), nb::arg("steps").none())
      .def("_draw",
           [](const Graph &g, const std::string &function, const std::string &loop, bool isDot) {
             DrawRequest request{"", function, loop};
             return orRaise(isDot ? drawDot(g, request) : drawSvg(g, request));
           })
      .def_static("_check_pipeline",
                  [](const std::string &pipeline) { orRaise(checkPipeline(pipeline)); })
      .def("__copy__", [](const Graph &g) { return g; });
}

nb::list diff(nb::handle before, nb::handle after) {
  Graph first = toGraph(before), second = toGraph(after);
  Expected<std::vector<Difference>> found = [&] {
    nb::gil_scoped_release release;
    return diffGraphs(first, second);
  }();
  nb::object type = nb::module_::import_("treadle").attr("Difference");
  nb::list out;
  for (const Difference &one : orRaise(std::move(found)))
    out.append(type(one.kind, one.function, one.node, one.message, formatDifference(one)));
  return out;
}

std::string graphRepr(const Graph &graph) {
  GraphSummary summary = summarize(graph);
  return str("<treadle.Graph: ", summary.nodes, " nodes, ", summary.functions.size(),
             " functions>");
}

} // namespace

Graph toGraph(nb::handle value) {
  if (nb::isinstance<Graph>(value))
    return nb::cast<Graph>(value);
  bool isPath = PyUnicode_Check(value.ptr()) || nb::hasattr(value, "__fspath__");
  if (isPath)
    return graphFromFile(value);
  if (PyObject_CheckBuffer(value.ptr()))
    return graphFromBytes(value);
  raiseTypeError(str("graph is a ", typeName(value),
                     ", expected bytes of a GraphDef, a path or a treadle.Graph"));
}

void bindGraph(nb::module_ &module) {
  nb::class_<Graph> graph(
      module, "Graph",
      "A graph with its functions. Its nodes can be read and edited; a Session or "
      "a\ncopy that was created before keeps the old graph.");
  bindEditing(graph);
  module.def(
      "diff", diff, nb::arg("before"), nb::arg("after"),
      "Returns the differences between two graphs, as 'treadle diff' prints them: a list of\n"
      "Difference, empty if they are equal.\n\n"
      "before, after: graphs, paths, or bytes of a GraphDef.");
  graph
      .def_static(
          "from_file", graphFromFile, nb::arg("path"),
          "Reads a GraphDef (.pb, .pbtxt) or MLIR text (.mlir).\n\n"
          "NotFoundError if there is no such file, InvalidArgumentError if it is malformed.")
      .def_static("from_bytes", graphFromBytes, nb::arg("data"),
                  "Reads a graph from memory: a serialized GraphDef, its text, or MLIR text.")
      .def(
          "to_file", graphToFile, nb::arg("path"),
          "Writes the graph in the format that the extension selects: .pb, .pbtxt, .cpb, .mlir.\n\n"
          "A SavedModel is written as a folder if there is no extension, or a slash at the end.\n"
          "InvalidArgumentError for an unknown extension.")
      .def("to_bytes", graphToBytes,
           "Returns the serialized GraphDef, equal as a message to the one that was read.")
      .def("text", &Graph::text, nb::call_guard<nb::gil_scoped_release>(),
           "Returns the graph as MLIR text.")
      .def(
          "inputs", [](const Graph &graph) { return valueList(graph.inputs()); },
          "Returns the placeholders: a list of Value(name, dtype, shape). A shape is a tuple with\n"
          "None for unknown dimensions, or None for unknown rank.")
      .def(
          "outputs", [](const Graph &graph) { return valueList(graph.outputs()); },
          "Returns the values of nodes without uses: a list of Value(name, dtype, shape).")
      .def("run_passes", runPasses, nb::arg("pipeline"),
           "Returns a copy of the graph after running passes, in MLIR's pipeline syntax:\n"
           "\"tfg-cse{keep=a,b},tfg-toposort\".\n\n"
           "InvalidArgumentError for a malformed pipeline, or if a pass fails.")
      .def("__repr__", graphRepr);
}

} // namespace treadle::python
