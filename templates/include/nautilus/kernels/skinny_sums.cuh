// The arithmetic of skinny products: what a thread adds up of the weights that it holds and of A's rows in shared memory.
//
// Both ways have `Element`, the type of both operands; `Rows`, where A's rows lie; `add`, for what one load of every column brought, at the
// run of depths of that number; and `put`, which hands each sum once, with its row and its column among those of the thread's warp.
#pragma once

#include <nautilus/core/vector.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/device/outer_products.cuh>
#include <nautilus/kernels/product_tile.cuh>

namespace nautilus::kernels {

// Threads of a block; how weights lie has no say in it.
template <class Schedule>
inline constexpr int kSkinnyThreads =
    Schedule::kTileN / (Schedule::kThreadN * (device::kWarpThreads / Schedule::kLanesK)) * Schedule::kSlicesK * device::kWarpThreads;

// Which weights of a warp's columns a lane loads. Where the depth is last, kThreadN columns times kLanesK lanes side by side along it; else
// kThreadN neighbouring columns at once, of kLanesK depths.
template <class Schedule, bool kIsDepthLastN>
struct WarpLoads {
  static constexpr bool kIsDepthLast = kIsDepthLastN;
  static constexpr int kVector = Schedule::kVectorB;
  static constexpr int kLanesK = Schedule::kLanesK;
  static constexpr int kLanesN = device::kWarpThreads / kLanesK;
  static constexpr int kRun = kIsDepthLast ? kVector : 1;                  // of a load, along the depth
  static constexpr int kItems = kIsDepthLast ? Schedule::kThreadN : 1;     // loads at one depth
  static constexpr int kColumns = Schedule::kThreadN * kLanesN;            // of a warp
  static constexpr int kRuns = Schedule::kLoads * kLanesK;                  // along the depth, that a warp has on its way
  static constexpr int kGroups = Schedule::kTileN / kColumns;              // of warps, each with columns of its own
  static constexpr int kStep = kRuns * kRun * Schedule::kSlicesK;            // depth that all slices have on its way
  static constexpr int kThreads = kGroups * Schedule::kSlicesK * device::kWarpThreads;
  static_assert(kIsDepthLast || Schedule::kThreadN == kVector, "a thread's columns are those of one load");

  NAUTILUS_DEVICE static int column(int number) {
    const int lane = static_cast<int>(static_cast<unsigned>(device::lane_index()) / kLanesK);
    return kIsDepthLast ? number * kLanesN + lane : lane * kVector + number;
  }
};

// Rows of floats. Vectors of more than 16 bytes are cut into pieces that lie apart, so that lanes side by side read from different banks.
template <int kDepth, int kVector>
struct PieceRows {
  static constexpr int kNeighbours = 4;  // depths that lie together
  static constexpr int kPiece = least(kVector, 4);
  static constexpr int kPieces = kVector / kPiece;
  NAUTILUS_DEVICE static constexpr int place_of(int row, int vector, int piece) {
    return row * kDepth + (piece * (kDepth / kVector) + vector) * kPiece;
  }
  NAUTILUS_DEVICE static constexpr int place(int row, int depth) {
    const unsigned from = static_cast<unsigned>(depth);  // cheaper to divide
    return place_of(row, static_cast<int>(from / kVector), static_cast<int>(from % kVector / kPiece)) + static_cast<int>(from % kPiece);
  }
};

// Rows of 16-bit elements in chunks of 16 bytes. Lanes read four chunks of two rows at once: these lie in different halves of a line.
template <int kDepth>
struct ChunkRows {
  static constexpr int kNeighbours = 8, kChunk = 8;
  NAUTILUS_DEVICE static constexpr int place_of(int row, int chunk) {
    return row * kDepth + (kDepth % (8 * kChunk) == 0 ? chunk ^ (row & 1) * 4 : chunk) * kChunk;
  }
  NAUTILUS_DEVICE static constexpr int place(int row, int depth) {
    const unsigned from = static_cast<unsigned>(depth);
    return place_of(row, static_cast<int>(from / kChunk)) + static_cast<int>(from % kChunk);
  }
};

// Adds VALUES over groups of kLanes lanes, halving how many a lane keeps as long as there are several, and returns the number of the first
// one that it keeps; at the end it has greatest(1, kValues / kLanes), and lanes from kValues on have what others have.
template <int kLanes, int kBit = 1, int kValues>
NAUTILUS_DEVICE int add_over_lanes(float (&values)[kValues]) {
  if constexpr (kBit >= kLanes) {
    return 0;
  } else if constexpr (kValues == 1) {
    values[0] += device::shuffle_xor(values[0], kBit);
    return add_over_lanes<kLanes, 2 * kBit>(values);
  } else {
    constexpr int kHalf = kValues / 2;
    struct Half {
      float values[kHalf];
    } half;
    float kept[kHalf];
    const bool is_second = (device::lane_index() & kBit) != 0;
    NAUTILUS_UNROLL
    for (int i = 0; i < kHalf; ++i) half.values[i] = is_second ? values[i] : values[kHalf + i];
    half = device::shuffle_xor(half, kBit);
    NAUTILUS_UNROLL
    for (int i = 0; i < kHalf; ++i) kept[i] = (is_second ? values[kHalf + i] : values[i]) + half.values[i];
    const int first = add_over_lanes<kLanes, 2 * kBit>(kept);
    NAUTILUS_UNROLL
    for (int i = 0; i < kHalf; ++i) values[i] = kept[i];
    return first + (is_second ? kHalf : 0);
  }
}

// Dot products in float, one multiply-add after another.
template <class Schedule, bool kIsDepthLast>
struct DotSums {
  using Element = float;
  using Loads = WarpLoads<Schedule, kIsDepthLast>;
  using Rows = PieceRows<Schedule::kTileK, Loads::kRun>;
  static constexpr int kRows = Schedule::kTileM, kColumns = Schedule::kThreadN;
  float sums[kColumns * kRows] = {};

  NAUTILUS_DEVICE void add(const Vector<float, Loads::kVector> (&weights)[Loads::kItems], const float *rows, int run) {
    using Piece = Vector<float, Rows::kPiece>;
    NAUTILUS_UNROLL
    for (int piece = 0; piece < Rows::kPieces; ++piece) {
      NAUTILUS_UNROLL
      for (int m = 0; m < kRows; ++m) {
        const auto a = device::load_shared<Piece>(rows + Rows::place_of(m, run, piece));
        NAUTILUS_UNROLL
        for (int lane = 0; lane < Rows::kPiece; ++lane) {
          NAUTILUS_UNROLL
          for (int n = 0; n < kColumns; ++n) {
            const float weight = kIsDepthLast ? weights[kIsDepthLast ? n : 0][piece * Rows::kPiece + lane] : weights[0][n];
            sums[n * kRows + m] = device::multiply_add(weight, a[lane], sums[n * kRows + m]);
          }
        }
      }
    }
  }

  template <class Put>
  NAUTILUS_DEVICE void put(const Put &put) {
    constexpr int kValues = kColumns * kRows, kKept = greatest(1, kValues / Loads::kLanesK);
    const int first = add_over_lanes<Loads::kLanesK>(sums);
    if (static_cast<unsigned>(device::lane_index()) % Loads::kLanesK >= kValues) return;
    NAUTILUS_UNROLL
    for (int i = 0; i < kKept; ++i) put((first + i) % kRows, Loads::column((first + i) / kRows), sums[i]);
  }
};

// Products by mma: weights are its 16 rows, of which a lane holds two, and A's rows its columns. A lane takes eight neighbouring depths of
// both, which are four of either half of two steps: the order of a sum's terms is free.
template <class Schedule, class T>
struct TensorSums {
  using Element = T;
  using Loads = WarpLoads<Schedule, true>;
  using Rows = ChunkRows<Schedule::kTileK>;
  static constexpr int kPairs = Schedule::kTileM / 16, kTiles = Schedule::kThreadN / 2;
  static_assert(Loads::kVector == 8 && Loads::kLanesK == 4 && sizeof(T) == 2, "16 bytes of a lane are two steps");
  struct alignas(16) Words {
    uint32 words[4];
  };
  float sums[kTiles][2 * kPairs][4] = {};

  NAUTILUS_DEVICE void add(const Vector<T, 8> (&weights)[Loads::kItems], const T *rows, int run) {
    uint32 right[2][kPairs][4];
    const int row = static_cast<int>(static_cast<unsigned>(device::lane_index()) / 4);
    NAUTILUS_UNROLL
    for (int pair = 0; pair < kPairs; ++pair) {
      NAUTILUS_UNROLL
      for (int half = 0; half < 2; ++half) {
        const auto words = device::load_shared<Words>(rows + Rows::place_of(16 * pair + 8 * half + row, run));
        NAUTILUS_UNROLL
        for (int word = 0; word < 4; ++word) right[word / 2][pair][2 * half + word % 2] = words.words[word];
      }
    }
    NAUTILUS_UNROLL
    for (int step = 0; step < 2; ++step) {
      uint32 left[kTiles][4];
      NAUTILUS_UNROLL
      for (int i = 0; i < kTiles; ++i) {
        NAUTILUS_UNROLL
        for (int word = 0; word < 4; ++word) left[i][word] = device::bit_cast<Words>(weights[2 * i + word % 2]).words[2 * step + word / 2];
      }
      device::mma_block<T>(sums, left, right[step]);
    }
  }

  template <class Put>
  NAUTILUS_DEVICE void put(const Put &put) {
    const int columns = static_cast<int>(static_cast<unsigned>(device::lane_index()) % 4) * 2;
    NAUTILUS_UNROLL
    for (int i = 0; i < kTiles; ++i) {
      NAUTILUS_UNROLL
      for (int j = 0; j < 2 * kPairs; ++j) {
        NAUTILUS_UNROLL
        for (int e = 0; e < 4; ++e) put(8 * j + columns + e % 2, Loads::column(2 * i + e / 2), sums[i][j][e]);
      }
    }
  }
};

}  // namespace nautilus::kernels
