// Where in its iteration space a thread is.
#pragma once

#include <nautilus/device/platform.cuh>

namespace nautilus {

template <class IndexType, int kRankCount>
struct Coordinates {
  using Index = IndexType;
  enum : int { kRank = kRankCount };
  Index values[kRankCount];

  NAUTILUS_DEVICE constexpr Index operator[](int dimension) const { return values[dimension]; }

  // The place STEP further along the last coordinate.
  NAUTILUS_DEVICE constexpr Coordinates advanced(Index step) const {
    Coordinates moved = *this;
    moved.values[kRankCount - 1] += step;
    return moved;
  }
};

template <class Index, class... Values>
NAUTILUS_DEVICE constexpr Coordinates<Index, sizeof...(Values)> coordinates(Values... values) {
  return {{static_cast<Index>(values)...}};
}

}  // namespace nautilus
