// Mean and variance of rows that the epilogue of a product normalises: joined of what the kernel that stored the rows has left of each of their
// parts, as row_statistics.cuh has it.
#pragma once

#include <nautilus/core/splat.cuh>
#include <nautilus/core/vector.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/kernels/row_statistics.cuh>

namespace nautilus::kernels {

// What is read of a row's moments from one part on.
template <int kWidth, class Sink, class A>
NAUTILUS_DEVICE auto read_moments(const A &arguments, const Sink &sink, const typename Sink::Row &row, int part) {
  return Sink::PartMoments::template apply<kWidth>(arguments, sink.at_moments(row, 2 * part));
}

// Mean and variance of kRows rows, each of which kLanes neighbouring lanes have in common: these share out its parts. All lanes call each
// function. SQUARES of a result is the variance.
//
// Means are taken from the first part's on, M: with P parts, (M - mean)² is at most P times the variance between means, since it is one of
// P terms of that. So the difference of both sums below loses a factor of P + 1 to cancellation at most, however far the mean is from zero.
//
// Reads are issued together, and none is in a branch, which would wait for it: what is too much is read where something is, and not added.
// Few parts stay in registers until they are joined, so that nothing waits for them before the products.
template <int kLanes, class Sink, int kRows, bool kIsEmpty = Sink::kMomentParts == 0>
struct LaneMoments {
  static constexpr int kParts = Sink::kMomentParts, kColumns = Sink::kMomentColumns;
  static constexpr int kTogether = kParts % 2 == 0 ? 2 : 1;  // parts that are read at once
  static constexpr int kReads = kParts / kTogether, kOwn = (kReads + kLanes - 1) / kLanes, kBatch = least(kOwn, 8);
  static constexpr bool kIsShared = kReads % kLanes == 0 && kOwn % kBatch == 0;  // out evenly
  static constexpr bool kIsHeld = kOwn <= 4;
  struct Sums {
    float distance, squared, within;
  };
  Moments of[kRows];
  float first[kRows];
  Sums sums[kRows];
  Vector<float, 2 * kTogether> held[kIsHeld ? kRows : 1][kIsHeld ? kOwn : 1];

  // Asks for what the rows have.
  template <class A>
  NAUTILUS_DEVICE void start(const A &arguments, const Sink &sink, const typename Sink::Row (&rows)[kRows]) {
    NAUTILUS_UNROLL
    for (int row = 0; row < kRows; ++row) {
      first[row] = read_moments<1>(arguments, sink, rows[row], 0)[0];
      sums[row] = {};
    }
    if constexpr (kIsHeld) {
      read<kOwn>(arguments, sink, rows, 0, held);
    } else {
      for (int begin = 0; begin < kOwn; begin += kBatch) {
        Vector<float, 2 * kTogether> parts[kRows][kBatch];
        read<kBatch>(arguments, sink, rows, begin, parts);
        add<kBatch>(begin, parts);
      }
    }
  }
  NAUTILUS_DEVICE void join() {
    if constexpr (kIsHeld) add<kOwn>(0, held);
    NAUTILUS_UNROLL
    for (int row = 0; row < kRows; ++row) {
      NAUTILUS_UNROLL
      for (int bit = 1; bit < kLanes; bit *= 2) {
        const Sums other = device::shuffle_xor(sums[row], bit);
        sums[row] = {sums[row].distance + other.distance, sums[row].squared + other.squared, sums[row].within + other.within};
      }
      const float distance = sums[row].distance * (1.0f / kParts);
      const float between = device::multiply_add(-distance, sums[row].distance, sums[row].squared) * (1.0f / kParts);
      of[row] = {first[row] + distance, device::multiply_add(sums[row].within, 1.0f / (kParts * kColumns), between > 0.0f ? between : 0.0f)};
    }
  }
  // What the epilogue makes of sums of the row with a number.
  template <class Epilogue, class A, class At, class Inputs, class T, int kWidth>
  NAUTILUS_DEVICE auto evaluate(int row, const A &arguments, const At &at, const Inputs &inputs, const Vector<T, kWidth> &values) const {
    return Epilogue::template evaluate<kWidth>(arguments, at, inputs, values, Splat<float>{of[row].mean}, Splat<float>{of[row].squares});
  }

 private:
  NAUTILUS_DEVICE static int number(int i) {
    return i * kLanes + static_cast<int>(static_cast<unsigned>(device::lane_index()) % kLanes);
  }
  template <int kCount, class A>
  NAUTILUS_DEVICE static void read(const A &arguments, const Sink &sink, const typename Sink::Row (&rows)[kRows], int begin,
                                   Vector<float, 2 * kTogether> (&parts)[kRows][kCount]) {
    NAUTILUS_UNROLL
    for (int row = 0; row < kRows; ++row) {
      NAUTILUS_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const int place = kIsShared ? number(begin + i) : least(number(begin + i), kReads - 1);
        parts[row][i] = read_moments<2 * kTogether>(arguments, sink, rows[row], place * kTogether);
      }
    }
  }
  template <int kCount>
  NAUTILUS_DEVICE void add(int begin, const Vector<float, 2 * kTogether> (&parts)[kRows][kCount]) {
    NAUTILUS_UNROLL
    for (int row = 0; row < kRows; ++row) {
      NAUTILUS_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const bool is_own = kIsShared || number(begin + i) < kReads;
        NAUTILUS_UNROLL
        for (int part = 0; part < kTogether; ++part) {
          const float distance = is_own ? parts[row][i][2 * part] - first[row] : 0.0f;
          sums[row].distance += distance;
          sums[row].squared = device::multiply_add(distance, distance, sums[row].squared);
          sums[row].within += is_own ? parts[row][i][2 * part + 1] : 0.0f;
        }
      }
    }
  }
};

// Where the epilogue of SINK takes none.
template <int kLanes, class Sink, int kRows>
struct LaneMoments<kLanes, Sink, kRows, true> {
  template <class A>
  NAUTILUS_DEVICE void start(const A &, const Sink &, const typename Sink::Row (&)[kRows]) {}
  NAUTILUS_DEVICE void join() {}
  template <class Epilogue, class A, class At, class Inputs, class T, int kWidth>
  NAUTILUS_DEVICE auto evaluate(int, const A &arguments, const At &at, const Inputs &inputs, const Vector<T, kWidth> &sums) const {
    return Epilogue::template evaluate<kWidth>(arguments, at, inputs, sums);
  }
};

}  // namespace nautilus::kernels
