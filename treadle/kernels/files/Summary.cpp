#include "treadle/kernels/files/Summary.h"

#include "treadle/kernels/Element.h"
#include "treadle/kernels/SerializedTensor.h"

#include "treadle/tensor/Wire.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <set>

namespace treadle {
namespace {

// Field numbers of messages.
enum SummaryField : uint32_t { summaryValue = 1 };
enum ValueField : uint32_t {
  valueTag = 1,
  valueSimple = 2,
  valueHistogram = 5,
  valueNode = 7,
  valueTensor = 8,
  valueMetadata = 9
};
enum HistogramField : uint32_t {
  histogramMin = 1,
  histogramMax,
  histogramCount,
  histogramSum,
  histogramSquares,
  histogramLimits,
  histogramCounts
};

std::string summaryOf(std::string_view value) {
  std::string summary;
  putBytes(summary, summaryValue, value);
  return summary;
}

std::string taggedValue(std::string_view tag) {
  std::string value;
  if (!tag.empty())
    putBytes(value, valueTag, tag);
  return value;
}

void putDouble(std::string &out, uint32_t field, double value) {
  if (std::bit_cast<uint64_t>(value) == 0)
    return;
  putTag(out, field, WireType::Fixed64);
  putFixed(out, value);
}

void putDoubles(std::string &out, uint32_t field, std::span<const double> values) {
  putTag(out, field, WireType::Bytes);
  putVarint(out, values.size_bytes());
  out.append(reinterpret_cast<const char *>(values.data()), values.size_bytes());
}

// --- histograms --------------------------------------------------------------------------------

/// Upper limits of buckets: they grow by 10% on both sides of zero.
const std::vector<double> &bucketLimits() {
  static const std::vector<double> limits = [] {
    std::vector<double> positive;
    // NOLINTNEXTLINE(bugprone-float-loop-counter): rounded as TensorFlow's limits are
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1)
      positive.push_back(limit);
    positive.push_back(DBL_MAX);
    std::vector<double> all(positive.rbegin(), positive.rend());
    for (double &limit : all)
      limit = -limit;
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    return all;
  }();
  return limits;
}

class Histogram {
public:
  Histogram() : counts(bucketLimits().size()) {}

  void add(double value) {
    const auto &limits = bucketLimits();
    auto bucket = std::ranges::upper_bound(limits, value) - limits.begin();
    counts[std::min<int64_t>(bucket, std::ssize(limits) - 1)] += 1;
    min = std::min(min, value);
    max = std::max(max, value);
    count += 1;
    sum += value;
    squares += value * value;
  }

  std::string bytes() const {
    std::vector<double> ends, inside;
    for (size_t i = 0; i < counts.size(); ++i) {
      bool joinsLast = counts[i] == 0 && !inside.empty() && inside.back() == 0;
      if (joinsLast) {
        ends.back() = bucketLimits()[i];
        continue;
      }
      ends.push_back(bucketLimits()[i]);
      inside.push_back(counts[i]);
    }
    std::string out;
    putDouble(out, histogramMin, min);
    putDouble(out, histogramMax, max);
    putDouble(out, histogramCount, count);
    putDouble(out, histogramSum, sum);
    putDouble(out, histogramSquares, squares);
    putDoubles(out, histogramLimits, ends);
    putDoubles(out, histogramCounts, inside);
    return out;
  }

private:
  std::vector<double> counts; // by bucket
  double min = DBL_MAX, max = -DBL_MAX, count = 0, sum = 0, squares = 0;
};

double numberAt(const Tensor &tensor, int64_t i) {
  double number = 0;
  visitType(tensor.dtype(), Join<RealTypes, TypeList<bool>>(),
            [&]<typename T>() { number = static_cast<double>(tensor.data<T>()[i]); });
  return number;
}

} // namespace

float realAt(const Tensor &tensor, int64_t i) {
  float number = 0;
  visitType(tensor.dtype(), Join<RealTypes, TypeList<bool>>(),
            [&]<typename T>() { number = static_cast<float>(tensor.data<T>()[i]); });
  return number;
}

std::string partSummary(std::string_view tag, uint32_t field, std::string_view bytes) {
  std::string value = taggedValue(tag);
  putBytes(value, field, bytes);
  return summaryOf(value);
}

std::string scalarSummary(std::string_view tag, float number) {
  std::string value = taggedValue(tag);
  putTag(value, valueSimple, WireType::Fixed32);
  putFixed(value, number);
  return summaryOf(value);
}

std::string tensorSummary(std::string_view tag, const Tensor &tensor, std::string_view metadata,
                          bool keepsEmptyMetadata) {
  std::string value = taggedValue(tag);
  putBytes(value, valueTensor, serializeTensorProto(tensor, StringEncoding::Listed));
  if (keepsEmptyMetadata || !metadata.empty())
    putBytes(value, valueMetadata, metadata);
  return summaryOf(value);
}

Expected<std::string> histogramSummary(std::string_view tag, const Tensor &values) {
  Histogram histogram;
  for (int64_t i = 0; i < values.count(); ++i) {
    double number = numberAt(values, i);
    if (!std::isfinite(number))
      return Unexpected(invalidArgument("element ", i, " of the histogram '", tag, "' is ", number,
                                        ", expected a finite number"));
    histogram.add(number);
  }
  return partSummary(tag, valueHistogram, histogram.bytes());
}

// --- summary ops -------------------------------------------------------------------------------

namespace {

const std::string *tagInput(OpContext &ctx, int i) {
  if (ctx.input(i).rank() == 0)
    return ctx.input(i).data<std::string>();
  ctx.fail(invalidArgument("the tag is ", tensorTypeText(ctx.input(i)), ", expected a scalar"));
  return nullptr;
}

// Inputs: tags, values.
void scalars(OpContext &ctx) {
  const Tensor &tags = ctx.input(0), &values = ctx.input(1);
  if (!std::ranges::equal(tags.dims(), values.dims()))
    return ctx.fail(invalidArgument("tags and values are ", tensorTypeText(tags), " and ",
                                    tensorTypeText(values), ", expected one shape"));
  std::string summary;
  for (int64_t i = 0; i < values.count(); ++i)
    summary += scalarSummary(tags.data<std::string>()[i], realAt(values, i));
  ctx.setOutput(0, Tensor::scalarString(std::move(summary)));
}

// Inputs: tag, values.
void histogram(OpContext &ctx) {
  const std::string *tag = tagInput(ctx, 0);
  auto summary = tag ? ctx.check(histogramSummary(*tag, ctx.input(1))) : std::nullopt;
  if (summary)
    ctx.setOutput(0, Tensor::scalarString(std::move(*summary)));
}

// Inputs: tag, tensor, metadata.
void tensorV2(OpContext &ctx) {
  const std::string *tag = tagInput(ctx, 0), *metadata = tag ? tagInput(ctx, 2) : nullptr;
  if (metadata)
    ctx.setOutput(0, Tensor::scalarString(tensorSummary(*tag, ctx.input(1), *metadata)));
}

// The tag is the node's name.
void tensorV1(OpContext &ctx) {
  std::string value;
  putBytes(value, valueNode, ctx.state<std::string>());
  putBytes(value, valueTensor, serializeTensorProto(ctx.input(0), StringEncoding::Listed));
  ctx.setOutput(0, Tensor::scalarString(summaryOf(value)));
}

Expected<BoundKernel> bindTensorV1(const BindContext &node) {
  return boundWith(tensorV1, std::string(node.node));
}

/// Collects the tags of a summary's values; returns false if it is malformed.
bool addTags(std::string_view summary, std::vector<std::string_view> &tags) {
  WireReader reader(summary);
  for (WireReader::Field field; reader.next(field);) {
    if (field.number != summaryValue)
      continue;
    WireReader value(field.bytes);
    for (WireReader::Field part; value.next(part);)
      if (part.number == valueTag && !part.bytes.empty())
        tags.push_back(part.bytes);
    if (!value.isGood())
      return false;
  }
  return reader.isGood();
}

void merge(OpContext &ctx) {
  std::set<std::string_view> seen;
  std::string merged;
  for (int i = 0; i < ctx.numInputs(); ++i)
    for (const std::string &summary : ctx.input(i).values<std::string>()) {
      std::vector<std::string_view> tags;
      if (!addTags(summary, tags))
        return ctx.fail(invalidArgument("input ", i, " is not the bytes of a summary"));
      for (std::string_view tag : tags)
        if (!seen.insert(tag).second)
          return ctx.fail(invalidArgument("the tag '", tag,
                                          "' occurs twice among the summaries; give each its own"));
      merged += summary;
    }
  ctx.setOutput(0, Tensor::scalarString(std::move(merged)));
}

const KernelEntry summaryTable[] = {
    {"HistogramSummary", bindPlain<histogram>}, {"MergeSummary", bindPlain<merge>},
    {"ScalarSummary", bindPlain<scalars>},      {"TensorSummary", bindTensorV1},
    {"TensorSummaryV2", bindPlain<tensorV2>},
};

} // namespace

std::span<const KernelEntry> summaryKernels() { return summaryTable; }

} // namespace treadle
