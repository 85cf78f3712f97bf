// Formats profiles as tables.
#include "treadle/Profile.h"

#include "treadle/tensor/Suggestions.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <span>
#include <tuple>

namespace treadle {
namespace {

using Row = Profile::Row;

struct Word {
  std::string_view text;
  int value;
};
constexpr Word byWords[] = {{"op", static_cast<int>(Profile::By::Op)},
                            {"node", static_cast<int>(Profile::By::Node)}};
constexpr Word sortWords[] = {{"own", static_cast<int>(Profile::Sort::Own)},
                              {"all", static_cast<int>(Profile::Sort::All)},
                              {"wait", static_cast<int>(Profile::Sort::Wait)},
                              {"calls", static_cast<int>(Profile::Sort::Calls)},
                              {"bytes", static_cast<int>(Profile::Sort::Bytes)}};

Expected<int> parseWord(std::string_view text, std::span<const Word> words) {
  std::vector<std::string_view> names;
  std::string list;
  for (const Word &word : words) {
    if (word.text == text)
      return word.value;
    names.push_back(word.text);
    list += str(list.empty() ? "" : names.size() == words.size() ? " or " : ", ", word.text);
  }
  return Unexpected(invalidArgument("'", text, "'", didYouMean(text, names), ", expected ", list));
}

double valueOf(const Row &row, Profile::Sort sort) {
  switch (sort) {
  case Profile::Sort::Own:
    return row.own;
  case Profile::Sort::All:
    return row.all;
  case Profile::Sort::Wait:
    return row.wait;
  case Profile::Sort::Calls:
    return static_cast<double>(row.calls);
  case Profile::Sort::Bytes:
    return static_cast<double>(row.bytes);
  }
  return 0;
}

std::string rounded(const char *format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// Formats a size like `1.23 MB`.
std::string bytesText(double bytes) {
  if (bytes < 1e3)
    return rounded("%.0f B", bytes);
  if (bytes < 1e6)
    return rounded("%.1f kB", bytes / 1e3);
  return bytes < 1e9 ? rounded("%.1f MB", bytes / 1e6) : rounded("%.1f GB", bytes / 1e9);
}

std::string countText(double count) {
  return rounded(count == static_cast<double>(static_cast<int64_t>(count)) ? "%.0f" : "%.1f",
                 count);
}

std::string compiledText(const Row &row) {
  if (!row.isCluster)
    return "";
  if (row.compiledCalls == row.calls)
    return "yes";
  return row.compiledCalls ? str(row.compiledCalls, " of ", row.calls) : "no";
}

/// Aligns a table: numbers to the right, the last cell unpadded.
std::string aligned(const std::vector<std::vector<std::string>> &lines) {
  std::vector<size_t> widths(lines.front().size());
  for (const auto &line : lines)
    for (size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], line[i].size());
  std::string out;
  for (const auto &line : lines) {
    for (size_t i = 0; i + 1 < line.size(); ++i)
      out += std::string(widths[i] - line[i].size(), ' ') + line[i] + "  ";
    out += line.back() + "\n";
  }
  return out;
}

} // namespace

Expected<Profile::By> parseProfileBy(std::string_view text) {
  return parseWord(text, byWords).map([](int value) { return static_cast<Profile::By>(value); });
}

Expected<Profile::Sort> parseProfileSort(std::string_view text) {
  return parseWord(text, sortWords).map([](int value) {
    return static_cast<Profile::Sort>(value);
  });
}

void sortRows(std::vector<Row> &rows, Profile::Sort sort) {
  std::ranges::sort(rows, [&](const Row &a, const Row &b) {
    return std::tuple(-valueOf(a, sort), std::string_view(a.op), std::string_view(a.name)) <
           std::tuple(-valueOf(b, sort), std::string_view(b.op), std::string_view(b.name));
  });
}

std::vector<Row> Profile::ops() const {
  std::map<std::string, Row> byOp;
  for (const Row &node : nodes) {
    Row &row = byOp[node.op];
    row.op = node.op;
    row.calls += node.calls;
    row.own += node.own;
    row.all += node.all;
    row.wait += node.wait;
    row.bytes += node.bytes;
    row.isCluster |= node.isCluster;
    row.compiledCalls += node.compiledCalls;
    if (!node.contents.empty())
      row.contents = row.contents.empty() ? node.contents : "several nodes; see them one by one";
  }
  std::vector<Row> rows;
  for (auto &[op, row] : byOp)
    rows.push_back(std::move(row));
  sortRows(rows, Sort::Own);
  return rows;
}

std::string Profile::text(By by, Sort sort, size_t limit) const {
  std::vector<Row> rows = by == By::Op ? ops() : nodes;
  sortRows(rows, sort);
  double computed = 0;
  for (const Row &row : rows)
    computed += row.own;
  double perRun = runs ? 1.0 / static_cast<double>(runs) : 0;
  auto ms = [&](double time) { return rounded("%.4f", time * 1e3 * perRun); };
  std::vector<std::vector<std::string>> lines = {{"own ms", "share", "all ms", "wait ms", "calls",
                                                  "bytes", "compiled",
                                                  by == By::Op ? "op" : "node"}};
  for (const Row &row : std::span(rows).first(std::min(limit, rows.size()))) {
    std::string what = by == By::Op ? row.op : str(row.name, " (", row.op, ")");
    lines.push_back({ms(row.own), rounded("%.1f%%", computed > 0 ? 100 * row.own / computed : 0),
                     ms(row.all), ms(row.wait), countText(static_cast<double>(row.calls) * perRun),
                     bytesText(static_cast<double>(row.bytes) * perRun), compiledText(row),
                     row.contents.empty() ? what : str(what, ": ", row.contents)});
  }
  std::string out =
      str(runs, runs == 1 ? " run of " : " runs of ", ms(seconds), " ms, ", ms(measuring),
          " of it for measuring; a run's share in each column\n", aligned(lines));
  if (rows.size() > limit)
    out += str("... and ", rows.size() - limit, " more rows\n");
  if (leftOut)
    out += str(leftOut, " calls were left out: their time is counted for their callers\n");
  return out;
}

} // namespace treadle
