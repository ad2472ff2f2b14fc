// Top-k family: the k first elements of a row in the order of their values, equal ones in the order of their places.
//
// Values become unsigned keys whose ascending order is the order wanted; key and place together are different for every element, so
// that the result does not depend on how threads run. A team of threads takes a row in one of two ways:
//
// - Ranked: each element counts the elements before it, which is its place in the result. Columns squared of work, spread over any
//   number of blocks, and no limit on k.
// - Selected: digit by digit, histograms find the last pair of key and place that belongs to the result; what is not beyond it is
//   collected in shared memory and ranked there. Columns times the bytes of a pair, at most, plus k squared.
#pragma once

#include <nautilus/core/arguments.cuh>
#include <nautilus/core/constants.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/math.cuh>
#include <nautilus/core/splat.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus::kernels {

template <class Problem, class Schedule, class X, class Epilogue, class A>
struct TopKKernel {
  using Index = typename Problem::Index;
  using Value = typename X::Result;
  using Key = decltype(math::ordered_bits(Value()));
  enum : int {
    kTeam = Schedule::kRowThreads,
    kItems = Schedule::kItems,
    kTile = Schedule::kTile,
    kTeams = Schedule::kThreads / kTeam,
    kBins = 256,
    kKeyDigits = sizeof(Key),
    kPlaceDigits = 4,
    kAhead = 4  // elements that are read before any is used
  };
  static_assert(static_cast<int>(kTeam) <= device::kWarpThreads || kTeams == 1, "a team is part of a warp, or the block");
  static_assert(!Schedule::kIsSelected || kTeam == 1 || kTeam >= device::kWarpThreads, "teams of one warp go different ways");

  const A &arguments;
  Index row;
  Index columns;
  int count;  // k
  int place;  // among the threads of the team
  bool is_active;
  unsigned char *shared;  // of the team

  NAUTILUS_DEVICE explicit TopKKernel(const A &kernel_arguments) : arguments(kernel_arguments) {
    const int team = device::thread_index().x / kTeam;
    const Index first = static_cast<Index>(device::block_index().x) * kTeams;
    // Teams without a row go along with the first, and store nothing.
    is_active = team < static_cast<Index>(Problem::Rows::get(arguments)) - first;
    row = is_active ? first + team : first;
    place = device::thread_index().x % kTeam;
    columns = static_cast<Index>(Problem::Columns::get(arguments));
    count = static_cast<int>(Problem::Count::get(arguments));
    shared = device::dynamic_shared<unsigned char>(team * team_bytes());
  }

  NAUTILUS_DEVICE void run() const {
    device::dependency_wait();
    if (has_rows()) {
      if constexpr (Schedule::kIsSelected) {
        select();
      } else {
        rank_all();
      }
    }
    device::dependency_trigger();
  }

 private:
  // Whether the block has a row to read: of no rows there is a block, too.
  NAUTILUS_DEVICE bool has_rows() const {
    if constexpr (Problem::Rows::kIsStatic) {
      return true;
    } else {
      return static_cast<Index>(device::block_index().x) * kTeams < static_cast<Index>(Problem::Rows::get(arguments));
    }
  }

  // A pair of key and place.
  struct Pair {
    Key key;
    unsigned int place;

    // Digits from the most significant: those of the key, then those of the place.
    NAUTILUS_DEVICE int digit(int number) const {
      if (number < kKeyDigits) return static_cast<int>(key >> 8 * (kKeyDigits - 1 - number)) & (kBins - 1);
      return static_cast<int>(place >> 8 * (kKeyDigits + kPlaceDigits - 1 - number)) & (kBins - 1);
    }
    // Puts DIGIT in place NUMBER and ones behind it; everything before stays.
    NAUTILUS_DEVICE void set_digit(int number, int digit) {
      if (number < kKeyDigits) {
        const int shift = 8 * (kKeyDigits - 1 - number);
        const Key behind = (static_cast<Key>(1) << shift) - 1;
        key = (key & ~(static_cast<Key>(kBins - 1) << shift)) | static_cast<Key>(digit) << shift | behind;
      } else {
        const int shift = 8 * (kKeyDigits + kPlaceDigits - 1 - number);
        place = (place & ~(static_cast<unsigned int>(kBins - 1) << shift)) | static_cast<unsigned int>(digit) << shift | ((1u << shift) - 1);
      }
    }
    // Whether all digits before NUMBER are those of OTHER.
    NAUTILUS_DEVICE bool begins_like(const Pair &other, int number) const {
      if (number == 0) return true;
      if (number <= kKeyDigits) return (key ^ other.key) >> 8 * (kKeyDigits - number) == 0;
      return key == other.key && (place ^ other.place) >> 8 * (kKeyDigits + kPlaceDigits - number) == 0;
    }
    NAUTILUS_DEVICE bool is_before(const Pair &other) const { return key < other.key || (key == other.key && place < other.place); }
  };

  NAUTILUS_DEVICE int team_bytes() const {
    if constexpr (Schedule::kIsSelected) {
      const int bytes = kBins * 4 + 16 + count * static_cast<int>(sizeof(Key) + 4);
      return (bytes + 15) / 16 * 16;
    } else {
      return kTile * static_cast<int>(sizeof(Key));
    }
  }

  NAUTILUS_DEVICE static void meet() {
    if constexpr (kTeam == 1) {
      return;
    } else if constexpr (static_cast<int>(kTeam) <= device::kWarpThreads) {
      device::warp_barrier();
    } else {
      device::block_barrier();
    }
  }

  NAUTILUS_DEVICE Value value_at(Index column) const { return X::template apply<1>(arguments, coordinates<Index>(row, column))[0]; }
  NAUTILUS_DEVICE static Key key_of(Value value) {
    const Key bits = math::ordered_bits(value);
    return Problem::kIsLargest ? static_cast<Key>(~bits) : bits;
  }

  NAUTILUS_DEVICE void put(int rank, Value value, Index column) const {
    if (!is_active) return;
    const Splat<long long> index{static_cast<long long>(column)};
    Epilogue::template apply<1>(arguments, coordinates<Index>(row, rank), splat<1>(value), index);
  }

  NAUTILUS_DEVICE void rank_all() const {
    constexpr int kSpan = kTeam * kItems;
    Key *tile = reinterpret_cast<Key *>(shared);
    const Index parts = static_cast<Index>(device::grid_extent().y);
    for (Index begin = static_cast<Index>(device::block_index().y) * kSpan; begin < columns; begin += parts * kSpan) {
      Value values[kItems];
      Pair own[kItems];
      Index ranks[kItems];
      NAUTILUS_UNROLL
      for (int item = 0; item < kItems; ++item) {
        const Index column = begin + (item * kTeam + place);
        values[item] = value_at(column < columns ? column : begin);
        own[item] = Pair{key_of(values[item]), static_cast<unsigned int>(column)};
        ranks[item] = 0;
      }
      for (Index first = 0; first < columns; first += kTile) {
        const int tile_columns = columns - first < kTile ? static_cast<int>(columns - first) : static_cast<int>(kTile);
        meet();  // the tile before has been read
        for (int column = place; column < tile_columns; column += kTeam) tile[column] = key_of(value_at(first + column));
        meet();
        for (int column = 0; column < tile_columns; ++column) {
          const Pair other{tile[column], static_cast<unsigned int>(first + column)};
          NAUTILUS_UNROLL
          for (int item = 0; item < kItems; ++item) ranks[item] += other.is_before(own[item]) ? 1 : 0;
        }
      }
      NAUTILUS_UNROLL
      for (int item = 0; item < kItems; ++item) {
        const Index column = begin + (item * kTeam + place);
        if (column < columns && ranks[item] < count) put(static_cast<int>(ranks[item]), values[item], column);
      }
    }
  }

  // Calls VISIT with each of this thread's pairs.
  template <class Visit>
  NAUTILUS_DEVICE void for_each_pair(Visit visit) const {
    for (Index first = place; first < columns; first += kAhead * kTeam) {
      Value values[kAhead];
      NAUTILUS_UNROLL
      for (int ahead = 0; ahead < kAhead; ++ahead) {
        const Index column = first + ahead * kTeam;
        if (column < columns) values[ahead] = value_at(column);
      }
      NAUTILUS_UNROLL
      for (int ahead = 0; ahead < kAhead; ++ahead) {
        const Index column = first + ahead * kTeam;
        if (column < columns) visit(Pair{key_of(values[ahead]), static_cast<unsigned int>(column)});
      }
    }
  }

  // The last pair that belongs to the result.
  NAUTILUS_DEVICE Pair last_pair(unsigned int *bins) const {
    Pair last{static_cast<Key>(~static_cast<Key>(0)), ~0u};
    if (count >= columns) return last;
    unsigned int missing = static_cast<unsigned int>(count);  // pairs of the result that begin like LAST
    for (int number = 0; number < kKeyDigits + kPlaceDigits; ++number) {
      if (number >= kKeyDigits && columns - 1 < static_cast<Index>(1) << 8 * (kKeyDigits + kPlaceDigits - 1 - number)) {
        last.set_digit(number, 0);  // every place has it
        continue;
      }
      for (int bin = place; bin < kBins; bin += kTeam) bins[bin] = 0;
      meet();
      for_each_pair([&](const Pair &pair) {
        if (pair.begins_like(last, number)) device::atomic_add(&bins[pair.digit(number)], 1u);
      });
      meet();
      int digit = 0;
      for (; bins[digit] < missing; ++digit) missing -= bins[digit];
      last.set_digit(number, digit);
      const bool is_whole = bins[digit] == missing;
      meet();  // the bins have been read
      if (is_whole) break;
    }
    return last;
  }

  NAUTILUS_DEVICE void select() const {
    unsigned int *bins = reinterpret_cast<unsigned int *>(shared);
    unsigned int *found = bins + kBins;
    Key *keys = reinterpret_cast<Key *>(found + 4);
    unsigned int *places = reinterpret_cast<unsigned int *>(keys + count);
    const Pair last = last_pair(bins);
    if (place == 0) *found = 0;
    meet();
    for_each_pair([&](const Pair &pair) {
      if (last.is_before(pair)) return;
      const unsigned int position = device::atomic_add(found, 1u);
      keys[position] = pair.key;
      places[position] = pair.place;
    });
    meet();
    for (int number = place; number < count; number += kTeam) {
      const Pair own{keys[number], places[number]};
      int rank = 0;
      for (int other = 0; other < count; ++other) rank += Pair{keys[other], places[other]}.is_before(own) ? 1 : 0;
      const Index column = static_cast<Index>(own.place);
      put(rank, value_at(column), column);
    }
  }
};

template <class Problem, class Schedule, class X, class Epilogue, class A>
NAUTILUS_DEVICE void top_k(const A &arguments) {
  TopKKernel<Problem, Schedule, X, Epilogue, A>(arguments).run();
}

}  // namespace nautilus::kernels
