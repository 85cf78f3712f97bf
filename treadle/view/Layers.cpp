#include "treadle/view/Layers.h"

#include <algorithm>
#include <numeric>

namespace treadle::view {
namespace {

/// A box, or a point of a long edge in a layer that it crosses.
struct Item {
  size_t layer = 0;
  double width = 0, x = 0;
  std::vector<size_t> above, below; // neighbours
};

class Layering {
public:
  Layering(std::vector<LayeredBox> &boxes, std::vector<LayeredEdge> &edges, LayerSpacing spacing)
      : boxes(boxes), edges(edges), spacing(spacing), items(boxes.size()), passed(edges.size()) {}

  std::pair<double, double> run() {
    chooseLayers();
    for (size_t i = 0; i < boxes.size(); ++i)
      items[i].width = boxes[i].width;
    for (size_t e = 0; e < edges.size(); ++e)
      addPassing(e);
    for (size_t i = 0; i < items.size(); ++i) {
      layers.resize(std::max(layers.size(), items[i].layer + 1));
      layers[items[i].layer].push_back(i);
    }
    constexpr int sweeps = 12;
    for (int i = 0; i < sweeps; ++i)
      order(/*isDown=*/i % 2 == 0);
    for (auto &layer : layers)
      spread(layer);
    for (int i = 0; i < sweeps; ++i)
      place(/*isDown=*/i % 2 == 0);
    return write();
  }

private:
  /// Places each box as high as its inputs allow, then moves it down towards its first user. A
  /// remaining cycle is cut at its first box.
  void chooseLayers() {
    std::vector<std::vector<size_t>> users(boxes.size());
    std::vector<size_t> open(boxes.size()), sorted;
    for (const LayeredEdge &edge : edges) {
      users[edge.from].push_back(edge.to);
      ++open[edge.to];
    }
    constexpr size_t isSorted = ~size_t{0};
    size_t done = 0;
    auto sort = [&](size_t box) {
      open[box] = isSorted;
      sorted.push_back(box);
    };
    auto follow = [&] {
      for (; done < sorted.size(); ++done)
        for (size_t user : users[sorted[done]])
          if (open[user] != isSorted) {
            items[user].layer = std::max(items[user].layer, items[sorted[done]].layer + 1);
            if (--open[user] == 0)
              sort(user);
          }
    };
    for (size_t box = 0; box < boxes.size(); ++box)
      if (open[box] == 0)
        sort(box);
    follow();
    for (size_t box = 0; box < boxes.size(); ++box)
      if (open[box] != isSorted) {
        sort(box);
        follow();
      }
    for (size_t i = sorted.size(); i-- > 0;)
      lower(sorted[i], users[sorted[i]]);
  }

  void lower(size_t box, const std::vector<size_t> &users) {
    size_t lowest = ~size_t{0};
    for (size_t user : users)
      if (items[user].layer > items[box].layer)
        lowest = std::min(lowest, items[user].layer - 1);
    if (lowest != ~size_t{0})
      items[box].layer = lowest;
  }

  void addPassing(size_t e) {
    size_t from = edges[e].from, to = edges[e].to;
    if (items[to].layer <= items[from].layer)
      return; // of a cycle
    for (size_t layer = items[from].layer + 1; layer < items[to].layer; ++layer) {
      size_t passing = items.size();
      items.push_back({layer, 2, 0, {}, {}});
      connect(from, passing);
      passed[e].push_back(passing);
      from = passing;
    }
    connect(from, to);
  }

  void connect(size_t from, size_t to) {
    items[from].below.push_back(to);
    items[to].above.push_back(from);
  }

  template <typename Visit> void eachLayer(bool isDown, Visit visit) {
    for (size_t i = 0; i < layers.size(); ++i)
      visit(layers[isDown ? i : layers.size() - 1 - i]);
  }

  /// Sorts by the mean position of neighbours in the previous layer; boxes without neighbours stay.
  void order(bool isDown) {
    eachLayer(!isDown, [&](std::vector<size_t> &layer) { number(layer); });
    eachLayer(isDown, [&](std::vector<size_t> &layer) {
      std::vector<std::pair<double, size_t>> places; // with the index, for a stable order
      for (size_t item : layer) {
        const std::vector<size_t> &near = isDown ? items[item].above : items[item].below;
        places.emplace_back(near.empty() ? items[item].x : meanOf(near), places.size());
      }
      std::ranges::sort(places);
      std::vector<size_t> before = layer;
      for (size_t i = 0; i < layer.size(); ++i)
        layer[i] = before[places[i].second];
      number(layer);
    });
  }

  void number(const std::vector<size_t> &layer) {
    for (size_t i = 0; i < layer.size(); ++i)
      items[layer[i]].x = static_cast<double>(i);
  }

  double meanOf(const std::vector<size_t> &near) const {
    double sum = 0;
    for (size_t item : near)
      sum += items[item].x;
    return sum / static_cast<double>(near.size());
  }

  /// Returns the minimum distance between the centers of two neighbours.
  double distance(size_t left, size_t right) const {
    return (items[left].width + items[right].width) / 2 + spacing.column;
  }

  void spread(const std::vector<size_t> &layer) {
    double x = 0;
    for (size_t i = 0; i < layer.size(); ++i)
      items[layer[i]].x = x += i == 0 ? 0 : distance(layer[i - 1], layer[i]);
  }

  /// Places each box as near to the mean of its neighbours as the order allows: least squares under
  /// order constraints, solved by pooling adjacent violators.
  void place(bool isDown) {
    eachLayer(isDown, [&](const std::vector<size_t> &layer) {
      struct Pool {
        double sum;
        size_t size;
        double mean() const { return sum / static_cast<double>(size); }
      };
      std::vector<Pool> pools;
      std::vector<double> offset(layer.size());
      for (size_t i = 0; i < layer.size(); ++i) {
        offset[i] = i == 0 ? 0 : offset[i - 1] + distance(layer[i - 1], layer[i]);
        const Item &item = items[layer[i]];
        const std::vector<size_t> &near = isDown ? item.above : item.below;
        pools.push_back({(near.empty() ? item.x : meanOf(near)) - offset[i], 1});
        while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
          Pool last = pools.back();
          pools.pop_back();
          pools.back().sum += last.sum;
          pools.back().size += last.size;
        }
      }
      size_t i = 0;
      for (const Pool &pool : pools)
        for (size_t k = 0; k < pool.size; ++k, ++i)
          items[layer[i]].x = pool.mean() + offset[i];
    });
  }

  std::pair<double, double> write() {
    double left = 0, right = 0, y = 0;
    bool isFirst = true;
    for (const Item &item : items) {
      left = isFirst ? item.x - item.width / 2 : std::min(left, item.x - item.width / 2);
      right = isFirst ? item.x + item.width / 2 : std::max(right, item.x + item.width / 2);
      isFirst = false;
    }
    std::vector<double> middles;
    for (const std::vector<size_t> &layer : layers) {
      double height = 0;
      for (size_t item : layer)
        height = std::max(height, item < boxes.size() ? boxes[item].height : 0);
      middles.push_back(y + height / 2);
      y += height + spacing.row;
    }
    for (size_t i = 0; i < boxes.size(); ++i) {
      boxes[i].x = items[i].x - left;
      boxes[i].y = middles[items[i].layer];
    }
    for (size_t e = 0; e < edges.size(); ++e) {
      const LayeredBox &from = boxes[edges[e].from], &to = boxes[edges[e].to];
      edges[e].points = {{from.x, from.y + from.height / 2}};
      for (size_t item : passed[e])
        edges[e].points.emplace_back(items[item].x - left, middles[items[item].layer]);
      edges[e].points.emplace_back(to.x, to.y - to.height / 2);
    }
    return {right - left, std::max(0.0, y - spacing.row)};
  }

  std::vector<LayeredBox> &boxes;
  std::vector<LayeredEdge> &edges;
  const LayerSpacing spacing;
  std::vector<Item> items;                 // boxes first
  std::vector<std::vector<size_t>> passed; // by edge
  std::vector<std::vector<size_t>> layers;
};

} // namespace

std::pair<double, double> layer(std::vector<LayeredBox> &boxes, std::vector<LayeredEdge> &edges,
                                LayerSpacing spacing) {
  return Layering(boxes, edges, spacing).run();
}

} // namespace treadle::view
