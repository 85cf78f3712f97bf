// Reductions: over axes and segments, cumulative ones, counts, top-k, and numeric checks.
#include "treadle/runtime/Kernel.h"

/// Counts of small integers: Bincount with its dense, sparse and ragged forms, and Bucketize.
TREADLE_FAMILY(bincountKernels)
/// Cumulative sums, products and log-sum-exps along an axis.
TREADLE_FAMILY(cumulativeKernels)
/// Tensor statistics for debuggers: numbers of NaN, infinite and other elements, and ranges.
TREADLE_FAMILY(debugNumberKernels)
/// CheckNumerics, histograms of values, and the conversion of flat indices to coordinates.
TREADLE_FAMILY(numericCheckKernels)
/// Reductions over axes.
TREADLE_FAMILY(reductionKernels)
/// ArgMax, ArgMin, _ArgMax and _ArgMin: the index of the first extreme element along an axis.
TREADLE_FAMILY(reductionArgKernels)
/// Sums, products and extremes of the rows that share a segment id: SegmentX with sorted ids,
/// UnsortedSegmentX with ids in any order and of any rank.
TREADLE_FAMILY(segmentKernels)
/// Selection by order within rows: the nth element, approximate top-k (exact here), the nearest
/// points; and isotonic regression.
TREADLE_FAMILY(selectionKernels)
/// The largest elements of rows, and whether a target is among them.
TREADLE_FAMILY(topKKernels)
