// One operand's tile of a matrix product on tensor cores whose rows begin anywhere: elements of 16 bits whose depth no vector divides. Words
// of two go to shared memory as they lie in global memory, which needs no registers and no place of a thread's own for each element, and
// fragments are shifted by one element, where their row begins in the middle of a word, as they are read.
#pragma once

#include <nautilus/core/vector.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/kernels/mma_tile.cuh>
#include <nautilus/kernels/product_tile.cuh>

namespace nautilus::kernels {

// Whether a source is brought by words.
template <class T, class Source, int kVector>
NAUTILUS_DEVICE constexpr bool is_brought_by_words() {
  using Functor = typename Source::Functor;
  if constexpr (kVector == 1 && sizeof(T) == 2 && Source::kIsDepthLast && Functor::kIsPlainLoad) {
    using Load = typename Functor::Load0;
    return kIsSameType<typename Load::Storage, T> && Load::Map::kHasRows;
  } else {
    return false;
  }
}

// Where the words of a tile lie: a row is followed by one more word, of which a row that begins in the middle of one has a half. Eight rows
// of four words are in different banks.
template <int kOuter, int kDepth>
struct MmaWordLayout {
  static constexpr int kWords = kDepth / 2;
  static constexpr int kPitch = kWords + 4;
  static constexpr int kBytes = kOuter * kPitch * 4;
  static_assert(kPitch % 8 == 4, "rows are four banks apart, or twelve or twenty");
};

// Where a row begins in a tensor, which itself begins with a whole word: the first element of a word, and whether the row begins with the other.
// Rows behind the last one are the first: nobody takes their results.
template <class T, class Source>
struct WordRow {
  using Index = decltype(Source::batch);
  Index word;
  int middle;

  WordRow() = default;
  template <class A>
  NAUTILUS_DEVICE WordRow(const A &arguments, const Source &source, int outer) {
    typename Source::Row row = source.row(arguments, outer);
    if (!row.is_inside) row = source.row(arguments, 0);
    bool is_inside = true;
    const Index first = Source::Functor::Load0::Map::offset(arguments, source.place(arguments, row, 0, 0).at, is_inside);
    middle = static_cast<int>(first & 1);
    word = first - middle;
  }
};

// Brings tiles of a source of kOuter by kDepth elements into shared memory: MmaTileLoader for such a source.
template <class T, class Source, int kOuter, int kDepth, int kThreads>
struct MmaWordLoader {
  using Layout = MmaWordLayout<kOuter, kDepth>;
  static constexpr bool kIsCopied = true;
  static constexpr int kLanes = least(Layout::kWords, kThreads);  // of a row
  static constexpr int kAcross = Layout::kWords / kLanes;         // words of a thread in a row
  static constexpr int kRowStep = kThreads / kLanes;
  static constexpr int kRows = greatest(1, kOuter / kRowStep);  // of a thread
  static constexpr int kEnds = greatest(1, kOuter / kThreads);  // rows of which a thread brings the word behind, and a last half
  using Row = WordRow<T, Source>;

  Source source;
  int first_row, first_word, thread;
  bool is_active, has_ends;
  Row rows[kRows], ends[kEnds];
  T last[kEnds];  // element of the depth

  template <class A>
  NAUTILUS_DEVICE MmaWordLoader(const A &arguments, const Source &from, int tile_outer, int thread_number)
      : source(from),
        first_row(static_cast<int>(static_cast<unsigned>(thread_number) / kLanes)),
        first_word(static_cast<int>(static_cast<unsigned>(thread_number) % kLanes)),
        thread(thread_number) {
    is_active = kOuter >= kRowStep || first_row < kOuter;
    has_ends = kOuter >= kThreads || thread < kOuter;
    NAUTILUS_UNROLL
    for (int i = 0; i < kRows; ++i) rows[i] = Row(arguments, source, tile_outer + first_row + i * kRowStep);
    NAUTILUS_UNROLL
    for (int i = 0; i < kEnds; ++i) ends[i] = Row(arguments, source, tile_outer + thread + i * kThreads);
  }

  // Starts the copy of the tile that begins at TILE_DEPTH. What lies behind the depth becomes zero; a word that begins a tile may have an
  // element of before. A word of which the depth has one half is no copy: its other half may be no memory.
  template <class A>
  NAUTILUS_DEVICE void start(const A &arguments, int tile_depth, unsigned char *tile) {
    const int left = source.depth(arguments) - tile_depth;
    if (left >= kDepth + 2) {
      copy(arguments, tile_depth, tile, [](const Row &, int) { return 2; });
    } else {
      copy(arguments, tile_depth, tile, [&](const Row &row, int word) { return left + row.middle - 2 * word; });
      NAUTILUS_UNROLL
      for (int i = 0; i < kEnds; ++i) {
        const int elements = left + ends[i].middle;
        if (has_ends && elements % 2 != 0) last[i] = device::load_global<T>(pointer(arguments) + (ends[i].word + tile_depth) + (elements - 1));
      }
    }
  }

  // Finishes what is no copy.
  template <class A>
  NAUTILUS_DEVICE void finish(const A &arguments, int tile_depth, unsigned char *tile) const {
    const int left = source.depth(arguments) - tile_depth;
    if (left >= kDepth + 2 || !has_ends) return;
    NAUTILUS_UNROLL
    for (int i = 0; i < kEnds; ++i) {
      const int elements = left + ends[i].middle;
      T *const row = reinterpret_cast<T *>(tile) + (thread + i * kThreads) * 2 * Layout::kPitch;
      if (elements % 2 != 0) device::store_shared(row + elements - 1, Vector<T, 2>{{last[i], T{}}});
    }
  }

 private:
  template <class A>
  NAUTILUS_DEVICE static const T *pointer(const A &arguments) {
    return Source::Functor::Load0::pointer(arguments);
  }

  // ELEMENTS says how many the depth has from a row's word on, where they are no more than two.
  template <class A, class Elements>
  NAUTILUS_DEVICE void copy(const A &arguments, int tile_depth, unsigned char *tile, Elements elements) const {
    const auto bring = [](unsigned char *to, const T *from, int count) {
      if (count != 1) device::cp_async<4>(to, from, count > 1 ? 4 : 0);
    };
    if (is_active) {
      unsigned char *const own = tile + (first_row * Layout::kPitch + first_word) * 4;
      NAUTILUS_UNROLL
      for (int i = 0; i < kRows; ++i) {
        const T *const row = pointer(arguments) + (rows[i].word + (tile_depth + 2 * first_word));
        NAUTILUS_UNROLL
        for (int j = 0; j < kAcross; ++j) {
          bring(own + (i * kRowStep * Layout::kPitch + j * kLanes) * 4, row + 2 * j * kLanes, elements(rows[i], first_word + j * kLanes));
        }
      }
    }
    if (has_ends) {
      unsigned char *const own = tile + (thread * Layout::kPitch + Layout::kWords) * 4;
      NAUTILUS_UNROLL
      for (int i = 0; i < kEnds; ++i) {
        bring(own + i * kThreads * Layout::kPitch * 4, pointer(arguments) + (ends[i].word + tile_depth) + kDepth, elements(ends[i], Layout::kWords));
      }
    }
  }
};

// How a warp reads kTiles times 16 rows of A or columns of B from FIRST on: by how many bits words of the rows that a lane reads are shifted.
template <class T, class Source, bool kIsLeft, int kTiles>
struct WordFragments {
  int shifts[kTiles][2];  // of the first eight rows and the second

  template <class A>
  NAUTILUS_DEVICE WordFragments(const A &arguments, const Source &source, int first) {
    NAUTILUS_UNROLL
    for (int i = 0; i < kTiles; ++i) {
      NAUTILUS_UNROLL
      for (int half = 0; half < 2; ++half) {
        shifts[i][half] = 16 * WordRow<T, Source>(arguments, source, first + 16 * i + 8 * half + device::lane_index() / 4).middle;
      }
    }
  }

  // load_fragments of mma_operand.cuh.
  template <class Layout>
  NAUTILUS_DEVICE void load(uint32 (&fragments)[kTiles][4], const unsigned char *tile, int first, int depth) const {
    const int lane = device::lane_index();
    const uint32 *const own = reinterpret_cast<const uint32 *>(tile) + (first + lane / 4) * Layout::kPitch + depth / 2 + lane % 4;
    NAUTILUS_UNROLL
    for (int i = 0; i < kTiles; ++i) {
      NAUTILUS_UNROLL
      for (int r = 0; r < 4; ++r) {
        const int half = kIsLeft ? r % 2 : r / 2;
        const uint32 *const word = own + (16 * i + 8 * half) * Layout::kPitch + (kIsLeft ? r / 2 : r % 2) * 4;
        const unsigned long long two = device::load_shared<uint32>(word) | static_cast<unsigned long long>(device::load_shared<uint32>(word + 1)) << 32;
        fragments[i][r] = static_cast<uint32>(two >> shifts[i][half]);
      }
    }
  }
};

}  // namespace nautilus::kernels
