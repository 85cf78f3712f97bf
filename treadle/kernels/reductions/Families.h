// Many elements become few: sums and extremes over axes and over segments, running ones, counts,
// the largest, tests of numbers.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// Counts of small integers: Bincount and its dense, sparse and ragged forms; and Bucketize.
std::span<const KernelEntry> bincountKernels();
/// Running sums, products and log-sums along an axis.
std::span<const KernelEntry> cumulativeKernels();
/// What debuggers want to know of a tensor: how many elements are odd, and where they range.
std::span<const KernelEntry> debugNumberKernels();
/// CheckNumerics, and counts and places: histograms of values, and flat indices as coordinates.
std::span<const KernelEntry> numericCheckKernels();
/// Reductions over axes.
std::span<const KernelEntry> reductionKernels();
/// ArgMax, ArgMin and own ones: where along an axis the first extreme element is.
std::span<const KernelEntry> reductionArgKernels();
/// Sums, products and extremes of the rows of a tensor that share a segment id: SegmentX with
/// sorted ids, UnsortedSegmentX with ids in any order and of any rank.
std::span<const KernelEntry> segmentKernels();
/// Elements of rows by their order: the nth, approximately the largest (which are the largest
/// here), the nearest points; and the falling sequence that is nearest to a row.
std::span<const KernelEntry> selectionKernels();
/// The largest elements of rows, and whether a target is among them.
std::span<const KernelEntry> topKKernels();

inline constexpr KernelFamily reductionsFamilies[] = {
    TREADLE_FAMILY(bincountKernels),    TREADLE_FAMILY(cumulativeKernels),
    TREADLE_FAMILY(debugNumberKernels), TREADLE_FAMILY(numericCheckKernels),
    TREADLE_FAMILY(reductionKernels),   TREADLE_FAMILY(reductionArgKernels),
    TREADLE_FAMILY(segmentKernels),     TREADLE_FAMILY(selectionKernels),
    TREADLE_FAMILY(topKKernels)};

} // namespace treadle
