#include "treadle/tensor/Suggestions.h"

#include "treadle/tensor/Error.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace treadle {

static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = std::exchange(row[j], std::min({replaced, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row[b.size()];
}

/// Whether `shorter` is a suffix or prefix of `longer` at a separator: `kernel` of `dense/kernel`,
/// `ids` of `input_ids`, `serving` of `serving_default`.
static bool isAffix(std::string_view longer, std::string_view shorter) {
  if (shorter.empty() || longer.size() <= shorter.size())
    return false;
  char before = longer[longer.size() - shorter.size() - 1], after = longer[shorter.size()];
  return (longer.ends_with(shorter) && (before == '/' || before == '_')) ||
         (longer.starts_with(shorter) && after == '_');
}

/// Returns the edit distance, or some number above `limit` if it exceeds `limit`.
static size_t distance(std::string_view name, std::string_view candidate, size_t limit) {
  if (isAffix(candidate, name) || isAffix(name, candidate))
    return limit;
  if (name.size() > candidate.size() + limit || candidate.size() > name.size() + limit)
    return limit + 1;
  return editDistance(name, candidate);
}

std::string didYouMean(std::string_view name, std::span<const std::string_view> candidates) {
  constexpr size_t maxNamed = 3;
  const size_t limit = std::max<size_t>(2, name.size() / 3);
  size_t best = limit;
  std::vector<std::string_view> near;
  for (std::string_view candidate : candidates) {
    size_t edits = distance(name, candidate, limit);
    if (edits < best)
      near.clear();
    if (edits <= best) {
      best = edits;
      near.push_back(candidate);
    }
  }
  if (near.empty())
    return "";
  std::sort(near.begin(), near.end());
  near.resize(std::min(near.size(), maxNamed));
  std::string text;
  for (std::string_view candidate : near)
    text += str(text.empty() ? " (did you mean '" : " or '", candidate, "'");
  return text + "?)";
}

} // namespace treadle
