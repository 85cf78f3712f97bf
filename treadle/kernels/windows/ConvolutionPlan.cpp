#include "treadle/kernels/windows/ConvolutionPlan.h"
#include "treadle/kernels/products/Tile.h"
#include "treadle/kernels/windows/OrderedFilter.h"
#include "treadle/kernels/windows/TiledConvolution.h"
#include "treadle/kernels/windows/TiledFilterGradient.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace treadle {

std::span<const float> factorOf(const OrderedFilter &filter) { return filter.factor; }

std::span<const char> weightsOf(const OrderedFilter &filter) {
  return {static_cast<const char *>(filter.panels.raw()),
          static_cast<size_t>(filter.panels.count()) * sizeof(float)};
}

namespace {

/// Merges dimensions: adjacent windows of size 1 are the windows of one long line.
PlacedConvolution mergeLines(PlacedConvolution c) {
  Window &w = c.window;
  if (w.size != Volume{1, 1, 1} || w.stride != Volume{1, 1, 1} || w.in != w.out ||
      w.padBefore != Volume{0, 0, 0})
    return c;
  w.in = w.out = {1, 1, c.batch * w.in[0] * w.in[1] * w.in[2]};
  c.batch = 1;
  return c;
}

/// Whether neither operands nor result are empty.
bool hasElements(const PlacedConvolution &c) {
  auto isEmpty = [](const Volume &size) { return std::ranges::min(size) < 1; };
  return c.batch > 0 && c.inChannels > 0 && c.outChannels > 0 && !isEmpty(c.window.in) &&
         !isEmpty(c.window.out) && !isEmpty(c.window.size);
}

/// Whether images and filter have a representable size, and all windows overlap the image.
bool isPlannable(const PlacedConvolution &c) {
  constexpr int64_t maxBytes = std::numeric_limits<int32_t>::max(), maxOfOne = 1 << 20;
  const Window &w = c.window;
  int64_t in = c.batch * c.inChannels, out = c.batch * c.outChannels,
          filter = c.inChannels * c.outChannels;
  if (!hasElements(c) || std::max({c.batch, c.inChannels, c.outChannels}) > maxOfOne)
    return false;
  for (size_t d = 0; d < 3; ++d) {
    if (std::max({w.in[d], w.out[d], w.size[d], w.stride[d], w.dilation[d]}) > maxBytes)
      return false;
    int64_t extent = (w.size[d] - 1) * w.dilation[d] + 1;
    int64_t padAfter = (w.out[d] - 1) * w.stride[d] + extent - w.in[d] - w.padBefore[d];
    if (w.padBefore[d] >= extent || padAfter >= extent || w.padBefore[d] < 0 ||
        padAfter <= -w.stride[d])
      return false;
    for (auto [count, by] : {std::pair{&in, w.in[d]}, {&out, w.out[d]}, {&filter, w.size[d]}})
      if (__builtin_mul_overflow(*count, by, count) || *count > maxBytes / 4)
        return false;
  }
  return true;
}

} // namespace

double ConvolutionForm::products() const {
  const Window &w = place.window;
  double product = static_cast<double>(place.batch * place.outChannels) *
                   (static_cast<double>(place.inChannels) / static_cast<double>(groups));
  for (size_t d = 0; d < 3; ++d)
    product *= static_cast<double>(w.out[d]) * static_cast<double>(w.size[d]);
  return product;
}

double ConvolutionForm::cost() const {
  // For depthwise convolutions, memory traffic dominates.
  constexpr double nsPerLoneProduct = 0.06;
  return products() *
         (groups == place.inChannels && groups > 1 ? nsPerLoneProduct : nsPerTileProduct);
}

int ConvolutionForm::partsFor(int threads) const {
  constexpr double nsPerPart = 20000;
  return static_cast<int>(std::clamp<double>(cost() / nsPerPart, 1, threads));
}

std::shared_ptr<const ConvolutionPlan> ConvolutionPlan::make(const ConvolutionForm &form) {
  ConvolutionForm straight = form;
  straight.place = mergeLines(form.place);
  if (!isPlannable(straight.place))
    return nullptr;
  return form.wanted == ConvolutionOperand::FilterGradient ? makeTiledFilterGradient(straight)
                                                           : makeTiledConvolution(straight);
}

std::shared_ptr<const ConvolutionPlan> ConvolutionPlans::find(const ConvolutionForm &form) const {
  if (auto own = slots.tryTake(); own && *own && (*own)->form == form)
    return (*own)->plan;
  Known found = findKnown(form);
  found.plan = shareWithOwnCount(std::move(found.plan));
  if (auto own = slots.tryTake())
    *own = found;
  return found.plan;
}

ConvolutionPlans::Known ConvolutionPlans::findKnown(const ConvolutionForm &form) const {
  constexpr size_t most = 16;
  std::lock_guard lock(mutex);
  auto found = std::ranges::find(known, form, &Known::form);
  if (found == known.end()) {
    if (known.size() == most)
      known.pop_back();
    found = known.insert(known.end(), {form, ConvolutionPlan::make(form)});
  }
  std::rotate(known.begin(), found, found + 1);
  return known.front();
}

} // namespace treadle
