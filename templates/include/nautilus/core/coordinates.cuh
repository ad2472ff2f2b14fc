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

// A place whose elements a store leaves at STAGED in shared memory, side by side, and not in its tensor: a bulk copy takes them there. With
// kBeside they are computed while other warps keep the tensor cores busy.
template <class Index, int kRankCount, bool kBeside = false>
struct StagedCoordinates : Coordinates<Index, kRankCount> {
  void *staged;
};

template <class At>
inline constexpr bool kIsStaged = false;
template <class Index, int kRank, bool kBeside>
inline constexpr bool kIsStaged<StagedCoordinates<Index, kRank, kBeside>> = true;

template <class At>
inline constexpr bool kIsBeside = false;
template <class Index, int kRank>
inline constexpr bool kIsBeside<StagedCoordinates<Index, kRank, true>> = true;

template <class Index, class... Values>
NAUTILUS_DEVICE constexpr Coordinates<Index, sizeof...(Values)> coordinates(Values... values) {
  return {{static_cast<Index>(values)...}};
}

}  // namespace nautilus
