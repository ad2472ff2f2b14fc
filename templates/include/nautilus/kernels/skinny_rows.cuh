// A's rows of products with few rows, which are brought into shared memory.
#pragma once

#include <nautilus/device/device.cuh>
#include <nautilus/kernels/product_tile.cuh>
#include <nautilus/kernels/skinny_sums.cuh>
#include <nautilus/kernels/skinny_weights.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus::kernels {

// Brings kTileM rows of the first DEPTHS depths of a tile into shared memory, zero where there are none: by asynchronous copies where they
// are of that very type, else computed by the functor. Threads go row by row of 8 vectors, so that short depths end early.
template <class Schedule, class T, class Rows, class Source, class A>
NAUTILUS_DEVICE void bring_rows(const A &arguments, const Source &source, int first_row, int first_depth, int depths, T *tile) {
  using Functor = typename Source::Functor;
  constexpr int kThreads = kSkinnyThreads<Schedule>, kVector = Schedule::kVectorA;
  constexpr int kVectorsRow = Schedule::kTileK / kVector, kVectors = Schedule::kTileM * kVectorsRow;
  constexpr int kRun = kVectorsRow % 8 == 0 ? 8 : 1, kRuns = Schedule::kTileM * kRun;  // vectors of a row, and of all
  constexpr int kItems = (kVectors + kThreads - 1) / kThreads;
  constexpr int kTogether = least(kItems, 4);  // reads on their way
  constexpr int kPiece = least(kVector, 16 / static_cast<int>(sizeof(T)));
  constexpr bool kIsCopied = is_copied<T, Functor, kVector>();
  // A tile for the greatest depth is mostly empty at a small one: what no thread has is not stored. What is read is held as words until
  // then, since the compiler would wait for each read before the next one to take it apart.
  using Policy = Weights<Functor, kVector, false>;
  constexpr bool kIsHeld = !kIsCopied && !Source::kIsDepthKnown && Policy::kCanSkip;
  const auto is_behind = [&](int item) { return !Source::kIsDepthKnown && item * kThreads / kRuns * kRun * kVector >= depths; };
  const unsigned thread = static_cast<unsigned>(device::thread_index().x);
#pragma unroll 1
  for (int first = 0; first < kItems; first += kTogether) {
    if (first * kThreads / kRuns * kRun * kVector >= depths) break;
    typename Functor::template Inputs<kVector> inputs[kIsHeld ? 1 : kTogether];
    typename Policy::Held held[kIsHeld ? kTogether : 1];
    bool is_inside[kTogether];
    const auto number = [&](int i) { return static_cast<unsigned>((first + i) * kThreads) + thread; };
    const auto row = [&](int i) { return static_cast<int>(number(i) % kRuns / kRun); };
    const auto depth = [&](int i) { return static_cast<int>((number(i) / kRuns * kRun + number(i) % kRun) * kVector); };
    const auto place = [&](int i) {
      return source.place(arguments, source.row(arguments, first_row + row(i)), first_depth, depth(i));
    };
    NAUTILUS_UNROLL
    for (int i = 0; i < kTogether; ++i) {
      if (kIsCopied && is_behind(first + i)) break;
      is_inside[i] = number(i) < kVectors && source.row(arguments, first_row + row(i)).is_inside &&
                     (Source::is_whole(Schedule::kTileK) || first_depth + depth(i) < source.depth(arguments));
      if constexpr (kIsCopied) {
        using Load = typename Functor::Load0;
        constexpr int kBytes = kVector * static_cast<int>(sizeof(T));
        bool is_there = is_inside[i];
        const auto offset = is_there ? Load::Map::offset(arguments, place(i).at, is_there) : 0;
        if (number(i) < kVectors) {
          device::cp_async<kBytes>(tile + Rows::place(row(i), depth(i)), Load::pointer(arguments) + (is_there ? offset : 0), is_there ? kBytes : 0);
        }
      } else if constexpr (kIsHeld) {
        held[i] = Policy::fetch_if(arguments, place(i).at, is_inside[i]);
      } else {
        inputs[i] = {};
        if (is_inside[i]) inputs[i] = Functor::template load<kVector>(arguments, place(i).at);
      }
    }
    if constexpr (!kIsCopied) {
      NAUTILUS_UNROLL
      for (int i = 0; i < kTogether; ++i) {
        if (is_behind(first + i)) break;
        if (!(kIsHeld && kVectors % kThreads == 0) && number(i) >= kVectors) continue;
        const auto computed = [&] {
          if constexpr (kIsHeld) {
            return Policy::template elements<T>(arguments, place(i).at, held[i]);
          } else {
            return Functor::template compute<kVector>(arguments, place(i).at, inputs[i]);
          }
        }();
        NAUTILUS_UNROLL
        for (int begin = 0; begin < kVector; begin += kPiece) {
          constexpr int kRun = least(kPiece, Rows::kNeighbours);
          NAUTILUS_UNROLL
          for (int part = 0; part < kPiece; part += kRun) {
            Vector<T, kRun> values;
            NAUTILUS_UNROLL
            for (int lane = 0; lane < kRun; ++lane) {
              values[lane] = kIsHeld || is_inside[i] ? device::convert<T>(computed[begin + part + lane]) : T{};
            }
            device::store_shared(tile + Rows::place(row(i), depth(i) + begin + part), values);
          }
        }
      }
    }
  }
}

}  // namespace nautilus::kernels
