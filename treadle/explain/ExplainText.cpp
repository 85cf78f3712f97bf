// The text of an explanation.
#include "treadle/explain/LoopExplanation.h"

#include <map>

namespace treadle {
namespace {

constexpr std::string_view indent = "    ";

/// Returns a line with its title in a column of its own.
std::string row(std::string_view title, std::string_view text) {
  constexpr size_t width = 13;
  std::string padding(width - std::min(width, title.size()), ' ');
  return str(indent, title, padding, text, "\n");
}

std::vector<Explanation::Op> opsOf(const Explanation::Order &order) {
  std::vector<Explanation::Op> ops;
  for (const Explanation::Access &access : order.by)
    ops.push_back(access.op);
  return ops;
}

/// Returns `'a' (Op) and 'b' (Op) read it, 'c' (Op) writes it`, with `it` as the object.
std::string accessText(const Explanation::Order &order, std::string_view it) {
  std::string text;
  for (bool writes : {false, true}) {
    std::vector<Explanation::Op> ops;
    for (const Explanation::Access &access : order.by)
      if (access.writes == writes)
        ops.push_back(access.op);
    if (!ops.empty())
      text += str(text.empty() ? "" : ", ", opList(ops, 3), " ", writes ? "write" : "read",
                  ops.size() == 1 ? "s " : " ", it);
  }
  return text;
}

/// Returns `a, b and 3 more`.
std::string listText(const std::vector<std::string> &names) {
  constexpr size_t maxShown = 4;
  size_t shown = names.size() <= maxShown + 1 ? names.size() : maxShown;
  std::string text;
  for (size_t i = 0; i < shown; ++i)
    text += str(i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", names[i]);
  return shown == names.size() ? text : str(text, " and ", names.size() - shown, " more");
}

/// Returns one text for all resources that are accessed in the same way.
std::vector<std::string> resourceTexts(const Explanation::Loop &loop, bool isRace) {
  struct Group {
    const Explanation::Order *order;
    std::vector<std::string> subjects;
  };
  std::vector<Group> groups;
  std::map<std::string, size_t> known;
  for (const Explanation::Order &order : loop.orders)
    if (order.kind == "resource" && (isRace ? order.isRace : order.isOrder)) {
      auto [entry, isNew] = known.try_emplace(accessText(order, "it"), groups.size());
      if (isNew)
        groups.push_back({&order, {}});
      groups[entry->second].subjects.push_back(order.subject);
    }
  std::vector<std::string> texts;
  for (const Group &group : groups)
    texts.push_back(
        str(listText(group.subjects), ": ",
            accessText(*group.order, group.subjects.size() == 1 ? "it" : "them"),
            isRace ? "; nothing orders consecutive iterations, see 'treadle check'" : ""));
  return texts;
}

/// Returns rows of which the first one has the title.
std::string rows(std::string_view title, const std::vector<std::string> &texts) {
  std::string out;
  for (const std::string &text : texts)
    out += row(out.empty() ? title : "", text);
  return out;
}

} // namespace

std::vector<std::string> raceTexts(const Explanation::Loop &loop) {
  return resourceTexts(loop, /*isRace=*/true);
}

std::vector<std::string> orderTexts(const Explanation::Loop &loop) {
  std::vector<std::string> texts;
  std::string values;
  for (const Explanation::Order &order : loop.orders) {
    if (order.kind == "condition")
      texts.push_back("the condition and its inputs: " + opList(opsOf(order)));
    else if (order.kind == "values")
      values +=
          str(values.empty() ? "values for the next iteration: " : "; ", opList(opsOf(order)));
  }
  if (!values.empty())
    texts.push_back(values);
  std::vector<std::string> resources = resourceTexts(loop, /*isRace=*/false);
  bool isKnown = !loop.inTurns.empty() || !loop.overlapping.empty();
  if (resources.empty() && isKnown)
    texts.push_back(str(texts.empty() ? "nothing" : "nothing else",
                        " orders its iterations: they share no effects"));
  texts.insert(texts.end(), resources.begin(), resources.end());
  return texts;
}

namespace {

std::string loopText(const Explanation::Loop &loop) {
  std::string text =
      str("  loop '", loop.name, "' (", loop.kind, loop.line.empty() ? "" : ", " + loop.line,
          "), parallel_iterations ", loop.parallelIterations, "\n");
  text += row("auto:", loop.inAuto);
  if (loop.whenOn != loop.inAuto)
    text += row("on:", loop.whenOn);
  text += rows("starves:", loop.starved);
  text += rows("in order:", orderTexts(loop));
  for (const std::string &race : raceTexts(loop))
    text += row("no order:", race);
  std::vector<std::string> onlyRead;
  for (const Explanation::Order &order : loop.orders)
    if (order.kind == "resource" && !order.isOrder && !order.isRace)
      onlyRead.push_back(order.subject);
  if (!onlyRead.empty())
    text += row("only read:", listText(onlyRead) + ", which orders nothing");
  if (!loop.overlapping.empty())
    text += row("can overlap:", opList(loop.overlapping));
  for (const std::string &advice : loop.advice)
    text += row("to free it:", advice);
  return text;
}

std::string bodyText(const Explanation::Body &body) {
  std::string text = body.function.empty() ? "graph" : "function '" + body.function + "'";
  constexpr size_t maxShown = 3;
  for (size_t i = 0; i < std::min(body.users.size(), maxShown); ++i)
    text += ", " + body.users[i];
  if (body.users.size() > maxShown)
    text += str(" and ", body.users.size() - maxShown, " more");
  text += "\n";
  for (const Explanation::Loop &loop : body.loops)
    text += loopText(loop);
  return text;
}

std::string clusterText(const Explanation::Cluster &cluster) {
  std::string text = str("  ", opList(cluster.nodes));
  if (!cluster.where.empty())
    text += str(" in function '", cluster.where, "'");
  return str(text, ": ", cluster.ops, cluster.ops == 1 ? " op" : " ops",
             cluster.inputs.empty() ? "" : ", for " + listText(cluster.inputs), "\n");
}

std::string clustersText(const Explanation &explanation) {
  std::string text;
  if (!explanation.clusters.empty())
    text += "compiled by tiers auto and jit\n";
  for (const Explanation::Cluster &cluster : explanation.clusters)
    text += clusterText(cluster);
  if (!explanation.interpreted.empty())
    text += "always interpreted\n";
  for (const Explanation::Interpreted &part : explanation.interpreted)
    text += str("  ", opList(part.nodes), ": ", part.why, "\n");
  return text;
}

} // namespace

std::string Explanation::text() const {
  std::string text = bodies.empty() ? "no loops\n" : "";
  for (const Body &body : bodies)
    text += bodyText(body);
  return text + clustersText(*this);
}

} // namespace treadle
