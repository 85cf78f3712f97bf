// Draws one body as SVG or DOT.
#include "treadle/graph/GraphImpl.h"
#include "treadle/ops/OpTable.h"
#include "treadle/tensor/Suggestions.h"
#include "treadle/view/Layers.h"
#include "treadle/view/Nodes.h"

#include <cstdio>

using namespace mlir;

namespace treadle {
namespace {

using view::EdgeKind;

constexpr size_t maxDrawnNodes = 400;

struct Point {
  double x, y;
};

struct Edge {
  uint32_t from, to;
  EdgeKind kind;
  std::string type;
};

/// A node, or a loop with its contents. Positions are those of the upper left corner, first
/// relative to the enclosing box, then to the picture.
struct Box {
  int32_t node = -1, frame = -1;
  double x = 0, y = 0, width = 0, height = 0;
  std::vector<Box> inner;
};

/// Returns the class of a node, which determines its color.
std::string_view classOf(std::string_view op) {
  OpKind kind = opKind(op);
  if (forwardsInput(kind) || kind == OpKind::OtherV1)
    return "flow";
  if (runsFunctions(kind))
    return "call";
  if (op == "Const" || op.starts_with("_") || kind == OpKind::Placeholder || kind == OpKind::NoOp)
    return "plain";
  return "op";
}

std::string_view edgeClass(EdgeKind kind) {
  constexpr std::string_view names[] = {"data", "control", "back", "soft", "chain"};
  return names[static_cast<size_t>(kind)];
}

/// Shortens a text so that it fits into a box.
std::string shortened(std::string_view text, size_t longest = 26) {
  std::string valid = view::validText(text);
  size_t count = 0, end = 0;
  for (; end < valid.size(); ++end) // by code points
    if ((valid[end] & 0xC0) != 0x80 && count++ == longest)
      return valid.substr(0, end) + "…";
  return valid;
}

/// Escapes text for XML and replaces characters that XML doesn't allow.
std::string xmlText(std::string_view text) {
  std::string out;
  for (char c : view::validText(text))
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      static_cast<unsigned char>(c) < 0x20 ? out += "\uFFFD" : out += c;
    }
  return out;
}

std::string numberOf(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

/// The requested body, with its columns.
class Picture {
public:
  static Expected<Picture> of(const Graph &given, const DrawRequest &request) {
    if (!given.impl)
      return Unexpected(invalidArgument("the graph is empty; read one with Graph::fromFile"));
    Picture picture(TREADLE_TRY(withoutRegions(given)));
    tfg::ShapeAnalysis shapes(*picture.graph.impl->module);
    shapes.run();
    picture.nodes->setShapes(&shapes);
    TREADLE_TRY(picture.addBody(request));
    TREADLE_TRY(picture.choose(request.loop));
    picture.findEdges();
    return picture;
  }

  Expected<std::string> svg(const std::string &title);
  std::string dot() const;

private:
  explicit Picture(Graph graph) : graph(std::move(graph)), nodes(std::make_unique<view::Nodes>()) {}

  Expected<void> addBody(const DrawRequest &request) {
    const ModuleIndex &index = graph.impl->index();
    if (request.function.empty()) {
      if (index.graph())
        nodes->addBody(index.graph().getNodes().front(), {"", "graph", 0, 0});
      return {};
    }
    tfg::FuncOp function = index.function(request.function);
    if (!function || function.isExternal()) {
      std::vector<std::string_view> names;
      for (const auto &entry : index.allFunctions())
        names.push_back(entry.getKey());
      return Unexpected(notFound("there is no function '", request.function, "'",
                                 didYouMean(request.function, names)));
    }
    nodes->addFunction(function);
    return {};
  }

  Expected<void> choose(const std::string &loop) {
    std::vector<std::string_view> names;
    for (const view::SceneFrame &frame : nodes->frames)
      names.push_back(frame.name);
    auto found = std::ranges::find(names, loop);
    if (!loop.empty() && found == names.end())
      return Unexpected(notFound("there is no v1 loop '", loop, "'", didYouMean(loop, names)));
    only = loop.empty() ? -1 : static_cast<int32_t>(found - names.begin());
    // Inner frames follow the enclosing one.
    std::vector<bool> isInside;
    for (const view::SceneFrame &frame : nodes->frames)
      isInside.push_back(static_cast<int32_t>(isInside.size()) == only ||
                         (frame.parent >= 0 && isInside[static_cast<size_t>(frame.parent)]));
    for (uint32_t node = 0; node < nodes->size(); ++node)
      if (int32_t frame = nodes->frameOf(node);
          only < 0 || (frame >= 0 && isInside[static_cast<size_t>(frame)]))
        chosen.push_back(node);
    return {};
  }

  void findEdges() {
    llvm::DenseSet<uint32_t> shown(chosen.begin(), chosen.end());
    for (uint32_t node : chosen)
      nodes->forEachInput(node, [&](uint32_t from, std::string_view type, EdgeKind kind) {
        if (shown.contains(from))
          edges.push_back({from, node, kind, std::string(type)});
      });
    markCycles();
  }

  /// Makes edges of other cycles than loops back edges.
  void markCycles() {
    std::vector<std::vector<size_t>> out(nodes->size());
    for (size_t e = 0; e < edges.size(); ++e)
      if (edges[e].kind != EdgeKind::Back)
        out[edges[e].from].push_back(e);
    enum State : uint8_t { New, Open, Done };
    std::vector<State> states(nodes->size(), New);
    for (uint32_t root : chosen) {
      std::vector<std::pair<uint32_t, size_t>> path; // nodes and their next edges
      if (states[root] == New)
        path.emplace_back(root, 0);
      while (!path.empty()) {
        auto &[node, next] = path.back();
        states[node] = Open;
        if (next == out[node].size()) {
          states[node] = Done;
          path.pop_back();
          continue;
        }
        Edge &edge = edges[out[node][next++]];
        if (states[edge.to] == Open || isAround(edge))
          edge.kind = EdgeKind::Back;
        else if (states[edge.to] == New)
          path.emplace_back(edge.to, 0);
      }
    }
  }

  /// Returns whether the edge leads from a NextIteration to its Merge.
  bool isAround(const Edge &edge) const { return feedsNextIteration(opKind(nodes->op(edge.from))); }

  std::string label(uint32_t node) const {
    std::string_view name = nodes->name(node);
    size_t slash = name.rfind('/');
    return shortened(slash == name.npos ? name : name.substr(slash + 1));
  }

  // ---- layout

  Box boxOf(uint32_t node) const {
    constexpr double perCharacter = 7.2, padding = 20, height = 38, least = 64;
    auto longest =
        static_cast<double>(std::max(label(node).size(), shortened(nodes->op(node)).size()));
    return {static_cast<int32_t>(node),
            -1,
            0,
            0,
            std::max(least, longest * perCharacter + padding),
            height,
            {}};
  }

  Box place(int32_t frame) {
    Box box;
    box.frame = frame;
    for (uint32_t node : chosen)
      if (nodes->frameOf(node) == frame)
        box.inner.push_back(boxOf(node));
    for (size_t i = 0; i < nodes->frames.size(); ++i)
      if (nodes->frames[i].parent == frame && static_cast<int32_t>(i) != only)
        if (Box loop = place(static_cast<int32_t>(i)); !loop.inner.empty())
          box.inner.push_back(std::move(loop));
    std::vector<int32_t> within(nodes->size(), -1); // the element of `inner` that contains a node
    for (size_t i = 0; i < box.inner.size(); ++i)
      mark(box.inner[i], static_cast<int32_t>(i), within);
    std::vector<view::LayeredBox> boxes;
    boxes.reserve(box.inner.size());
    for (const Box &one : box.inner)
      boxes.push_back({one.width, one.height});
    std::vector<view::LayeredEdge> layered;
    std::vector<size_t> numbers;
    size_t numBack = 0;
    for (size_t e = 0; e < edges.size(); ++e) {
      int32_t from = within[edges[e].from], to = within[edges[e].to];
      if (from < 0 || to < 0 || (from == to && edges[e].kind != EdgeKind::Back))
        continue;
      if (edges[e].kind == EdgeKind::Back) {
        numBack += nodes->frameOf(edges[e].from) == frame;
        continue;
      }
      layered.push_back({static_cast<size_t>(from), static_cast<size_t>(to), {}});
      numbers.push_back(e);
    }
    auto [width, height] = view::layer(boxes, layered);
    bool isLoop = frame >= 0;
    double left = isLoop ? 16 : 0, top = isLoop ? 44 : 0, bottom = isLoop ? 26 : 0;
    for (size_t i = 0; i < boxes.size(); ++i) {
      box.inner[i].x = left + boxes[i].x - boxes[i].width / 2;
      box.inner[i].y = top + boxes[i].y - boxes[i].height / 2;
    }
    for (size_t k = 0; k < layered.size(); ++k) {
      const auto &points = layered[k].points;
      for (size_t i = 1; i + 1 < points.size(); ++i)
        bends[numbers[k]].push_back({frame, {left + points[i].first, top + points[i].second}});
    }
    box.width = left + width + left + lane * static_cast<double>(numBack);
    box.height = top + height + bottom;
    return box;
  }

  static void mark(const Box &box, int32_t number, std::vector<int32_t> &within) {
    if (box.node >= 0)
      within[static_cast<size_t>(box.node)] = number;
    for (const Box &one : box.inner)
      mark(one, number, within);
  }

  /// Converts positions relative to boxes to positions in the picture.
  void toPicturePositions(Box &box, double x, double y) {
    box.x += x;
    box.y += y;
    if (box.node >= 0)
      nodeBoxes[static_cast<size_t>(box.node)] = &box;
    else
      frameBoxes[box.frame] = &box;
    for (Box &one : box.inner)
      toPicturePositions(one, box.x, box.y);
  }

  // ---- drawing

  std::string boxText(const Box &box) const {
    std::string out;
    if (box.frame >= 0) {
      const view::SceneFrame &frame = nodes->frames[static_cast<size_t>(box.frame)];
      out += rectText("loop", box, 14);
      out +=
          str("<text class=\"title\" x=\"", numberOf(box.x + 14), "\" y=\"", numberOf(box.y + 21),
              "\">", xmlText(shortened(frame.name, 40)), "</text><text class=\"note\" x=\"",
              numberOf(box.x + 14), "\" y=\"", numberOf(box.y + 35), "\">parallel_iterations ",
              frame.parallelIterations, "</text>\n");
    }
    if (box.node >= 0) {
      auto node = static_cast<uint32_t>(box.node);
      out += str("<g><title>", xmlText(str(nodes->name(node), " (", nodes->op(node), ")")),
                 "</title>", rectText(classOf(nodes->op(node)), box, 6),
                 "<text class=\"name\" x=\"", numberOf(box.x + box.width / 2), "\" y=\"",
                 numberOf(box.y + 16), "\">", xmlText(label(node)),
                 "</text><text class=\"kind\" x=\"", numberOf(box.x + box.width / 2), "\" y=\"",
                 numberOf(box.y + 30), "\">", xmlText(shortened(nodes->op(node))), "</text></g>\n");
    }
    return out;
  }

  static std::string rectText(std::string_view kind, const Box &box, int radius) {
    return str("<rect class=\"", kind, "\" x=\"", numberOf(box.x), "\" y=\"", numberOf(box.y),
               "\" width=\"", numberOf(box.width), "\" height=\"", numberOf(box.height), "\" rx=\"",
               radius, "\"/>");
  }

  /// Draws boxes of loops first, outermost first, so that they are behind the edges.
  void drawBoxes(const Box &box, bool isLoops, std::string &out) const {
    if ((box.node < 0) == isLoops)
      out += boxText(box);
    for (const Box &one : box.inner)
      drawBoxes(one, isLoops, out);
  }

  std::string edgeText(size_t e) {
    const Edge &edge = edges[e];
    const Box &from = *nodeBoxes[edge.from], &to = *nodeBoxes[edge.to];
    Point start{from.x + from.width / 2, from.y + from.height}, end{to.x + to.width / 2, to.y};
    std::string path = str("M", numberOf(start.x), " ", numberOf(start.y));
    if (edge.kind == EdgeKind::Back) {
      path += backPath(start, end, nodes->frameOf(edge.from));
    } else {
      std::vector<Point> points = {start};
      for (const auto &[frame, point] : bends[e])
        points.push_back({point.x + frameBoxes[frame]->x, point.y + frameBoxes[frame]->y});
      points.push_back(end);
      for (size_t i = 1; i < points.size(); ++i) {
        std::string middle = numberOf((points[i - 1].y + points[i].y) / 2);
        path += str(" C", numberOf(points[i - 1].x), " ", middle, " ", numberOf(points[i].x), " ",
                    middle, " ", numberOf(points[i].x), " ", numberOf(points[i].y));
      }
    }
    return str("<path class=\"", edgeClass(edge.kind), "\" d=\"", path, "\" marker-end=\"url(#",
               edge.kind == EdgeKind::Back ? "head-back" : "head", ")\">",
               edge.type.empty() ? "" : str("<title>", xmlText(edge.type), "</title>"),
               "</path>\n");
  }

  /// Returns a path down, to a lane at the right side of the loop, up, and to the start of the next
  /// iteration.
  std::string backPath(Point start, Point end, int32_t frame) {
    const Box &box = *frameBoxes[frame];
    constexpr double r = 8, away = 13;
    double x = box.x + box.width - 12 - lane * static_cast<double>(lanesUsed[frame]++);
    double low = start.y + away, high = end.y - away;
    auto at = [](double a, double b) { return str(numberOf(a), " ", numberOf(b)); };
    return str(" V", numberOf(low - r), " Q", at(start.x, low), " ", at(start.x + r, low), " H",
               numberOf(x - r), " Q", at(x, low), " ", at(x, low - r), " V", numberOf(high + r),
               " Q", at(x, high), " ", at(x - r, high), " H", numberOf(end.x + r), " Q",
               at(end.x, high), " ", at(end.x, high + r), " V", numberOf(end.y));
  }

  static constexpr double lane = 12;

  Graph graph;
  std::unique_ptr<view::Nodes> nodes;
  int32_t only = -1;
  std::vector<uint32_t> chosen;
  std::vector<Edge> edges;
  std::map<size_t, std::vector<std::pair<int32_t, Point>>> bends; // by edge, within their frame
  std::vector<Box *> nodeBoxes;
  std::map<int32_t, Box *> frameBoxes;
  std::map<int32_t, int> lanesUsed;
};

// Without CSS variables, which only browsers support.
constexpr std::string_view style = R"(<style>
text { font: 12px ui-sans-serif, system-ui, sans-serif; fill: #1d2530; }
.name, .kind { text-anchor: middle; }
.kind, .note { font-size: 10.5px; fill: #5d6875; }
.title { font-weight: 600; }
rect { stroke: #8a95a3; stroke-width: .8; }
.paper { fill: #ffffff; stroke: none; }
.loop { fill: #f6f3fc; stroke: #b9a7e6; stroke-width: 1.4; }
.flow { fill: #ece5fb; }
.call { fill: #e3f1ea; }
.op { fill: #e7effa; }
.plain { fill: #f1f2f4; }
path { fill: none; stroke: #8a95a3; stroke-width: 1.2; }
.control { stroke-dasharray: 4 3; }
.soft { stroke-dasharray: 1 4; }
.chain { stroke: #c77d1e; }
.back { stroke: #7d5fd0; stroke-width: 1.8; }
.head { fill: #8a95a3; stroke: none; }
.head-back { fill: #7d5fd0; stroke: none; }
@media (prefers-color-scheme: dark) {
  text { fill: #e8ebf0; }
  .kind, .note { fill: #a2adba; }
  .paper { fill: #14181e; }
  .loop { fill: #1d1a29; stroke: #6f5fa6; }
  .flow { fill: #362c55; }
  .call { fill: #1f3a30; }
  .op { fill: #20324b; }
  .plain { fill: #262b33; }
}
</style>
<defs>
<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto"><path class="head" stroke="none" d="M0 1 8 4 0 7z"/></marker>
<marker id="head-back" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto"><path class="head-back" stroke="none" d="M0 1 8 4 0 7z"/></marker>
</defs>
)";

Expected<std::string> Picture::svg(const std::string &title) {
  if (chosen.size() > maxDrawnNodes)
    return Unexpected(invalidArgument("this body has ", chosen.size(),
                                      " nodes, but a picture shows up to ", maxDrawnNodes,
                                      ": name a function with --function or a loop with --loop, or "
                                      "open the page, which shows all"));
  Box whole = place(only);
  nodeBoxes.resize(nodes->size());
  constexpr double margin = 16;
  toPicturePositions(whole, margin, margin);
  std::string drawn;
  drawBoxes(whole, /*isLoops=*/true, drawn);
  for (size_t e = 0; e < edges.size(); ++e)
    drawn += edgeText(e);
  drawBoxes(whole, /*isLoops=*/false, drawn);
  std::string width = numberOf(whole.width + 2 * margin),
              height = numberOf(whole.height + 2 * margin);
  return str("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"", width,
             "\" height=\"", height, "\" viewBox=\"0 0 ", width, " ", height, "\">\n<title>",
             xmlText(title), "</title>\n", style, "<rect class=\"paper\" width=\"", width,
             "\" height=\"", height, "\"/>\n", drawn, "</svg>\n");
}

/// Returns a DOT string literal.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : view::validText(text))
    if (c == '"' || c == '\\')
      out += str("\\", std::string_view(&c, 1));
    else
      out += c == '\n' || c == '\r' || c == '\0' ? ' ' : c;
  return out + "\"";
}

/// Prints nodes in DOT clusters for the enclosing loops.
class Clusters {
public:
  Clusters(const view::Nodes &nodes, const std::vector<uint32_t> &chosen) {
    for (uint32_t node : chosen)
      members[nodes.frameOf(node)].push_back(node);
    for (size_t i = 0; i < nodes.frames.size(); ++i)
      inner[nodes.frames[i].parent].push_back(static_cast<int32_t>(i));
  }

  /// Calls `add(node, indent)` for each node, and `open` and `close` with the index of a loop
  /// around its nodes. Nodes of very deep loops are shown in the deepest one that is drawn.
  template <typename Add, typename Open, typename Close>
  void write(int32_t frame, size_t depth, Add add, Open open, Close close) const {
    constexpr size_t deepest = 50;
    std::string indent(2 * depth, ' ');
    if (auto own = members.find(frame); own != members.end())
      for (uint32_t node : own->second)
        add(node, indent);
    auto loops = inner.find(frame);
    if (loops == inner.end() || depth > deepest)
      return;
    for (int32_t loop : loops->second) {
      open(loop, indent);
      write(loop, depth + 1, add, open, close);
      close(indent);
    }
  }

private:
  std::map<int32_t, std::vector<uint32_t>> members;
  std::map<int32_t, std::vector<int32_t>> inner;
};

std::string Picture::dot() const {
  constexpr std::string_view styles[] = {"", "style=dashed", "color=purple constraint=false",
                                         "style=dotted", "color=orange"};
  std::string out =
      "digraph {\n  node [shape=box style=rounded fontname=\"sans-serif\" fontsize=10];\n";
  Clusters(*nodes, chosen)
      .write(
          only, 1,
          [&](uint32_t node, const std::string &indent) {
            out += str(indent, "n", node,
                       " [label=", quoted(str(label(node), " (", nodes->op(node), ")")),
                       " tooltip=", quoted(nodes->name(node)), "];\n");
          },
          [&](int32_t loop, const std::string &indent) {
            out += str(indent, "subgraph cluster_", loop, " {\n", indent,
                       "  label=", quoted(nodes->frames[static_cast<size_t>(loop)].name), ";\n");
          },
          [&](const std::string &indent) { out += indent + "}\n"; });
  for (const Edge &edge : edges) {
    std::string_view look = styles[static_cast<size_t>(edge.kind)];
    std::string type = edge.type.empty() ? "" : str("tooltip=", quoted(edge.type));
    out += str("  n", edge.from, " -> n", edge.to, " [", look,
               look.empty() || type.empty() ? "" : " ", type, "];\n");
  }
  return out + "}\n";
}

} // namespace

Expected<std::string> drawSvg(const Graph &graph, const DrawRequest &request) {
  return Picture::of(graph, request).and_then([&](Picture picture) {
    return picture.svg(request.title);
  });
}

Expected<std::string> drawDot(const Graph &graph, const DrawRequest &request) {
  return Picture::of(graph, request).map([](const Picture &picture) { return picture.dot(); });
}

} // namespace treadle
