// Products of floats by wgmma to about float's precision: each element is the sum of what tensor cores read of it as tf32, its upper bits,
// and of the rest, and only the product of two rests is left out.
//
// The upper parts are multiplied where the bulk copies have put them. Consumers write the rests beside them, one tile ahead of the products
// in flight. Tensor cores cut off what they add to a sum; that of one tile loses little, and threads add it to the others with rounding.
#pragma once

#include <nautilus/device/device.cuh>
#include <nautilus/device/wgmma.cuh>
#include <nautilus/kernels/wgmma_operand.cuh>

namespace nautilus::kernels {

// Shared memory for rests. A warp writes those of its own rows of A, so that two tiles do; of the second last tile of B it does not know
// whether others have read it.
template <class OperandA, class OperandB>
struct Rests {
  static constexpr int kTilesA = 2, kTilesB = 3;
  static constexpr int kBytes = kTilesA * OperandA::kBytes + kTilesB * OperandB::kBytes;
  unsigned char *tiles;
  int next_a = 0, next_b = 0;

  NAUTILUS_DEVICE unsigned char *a() const { return tiles + next_a * OperandA::kBytes; }
  NAUTILUS_DEVICE unsigned char *b() const { return tiles + kTilesA * OperandA::kBytes + next_b * OperandB::kBytes; }
  NAUTILUS_DEVICE void advance() {
    next_a = next_a + 1 == kTilesA ? 0 : next_a + 1;
    next_b = next_b + 1 == kTilesB ? 0 : next_b + 1;
  }
};

// Writes what tf32 leaves of kBytes of floats, rounded to tf32, shared out among kThreads threads of which this is number THREAD.
template <int kBytes, int kThreads>
NAUTILUS_DEVICE void write_rests(const unsigned char *from, unsigned char *to, int thread) {
  using Chunk = Vector<float, 4>;
  constexpr int kChunks = kBytes / static_cast<int>(sizeof(Chunk)), kItems = (kChunks + kThreads - 1) / kThreads;
  NAUTILUS_UNROLL
  for (int item = 0; item < kItems; ++item) {
    const int number = thread + item * kThreads;
    if (kChunks % kThreads != 0 && number >= kChunks) break;
    Chunk chunk = reinterpret_cast<const Chunk *>(from)[number];
    NAUTILUS_UNROLL
    for (int i = 0; i < 4; ++i) {
      const float rest = chunk[i] - device::bit_cast<float>(device::bit_cast<uint32>(chunk[i]) & 0xFFFFE000u);
      chunk[i] = device::bit_cast<float>(device::to_tf32(rest));
    }
    reinterpret_cast<Chunk *>(to)[number] = chunk;
  }
}

// The sums of one tile of results, as multiply_tile has them. CONSUMER of kConsumers, which meet at BARRIER, has rows from FIRST_ROW on.
template <class OperandA, class OperandB, int kConsumers, int kBands, int kSums, class Ring>
NAUTILUS_DEVICE void multiply_tile_split(float (&sums)[kBands][kSums], const Ring &ring, typename Ring::Place &place,
                                         Rests<OperandA, OperandB> &rests, int consumer, int barrier, int tiles) {
  constexpr int kSteps = OperandA::kDepth / OperandA::kStepDepth;
  constexpr int kRowsBytes = kBands * OperandA::kRowsBytes, kWarpBytes = OperandA::kRowsBytes / 4;
  static_assert(OperandA::kIsDepthLast && OperandB::kIsDepthLast, "floats have the depth last");
  const int thread = device::thread_index().x % kWarpgroupThreads;
  float partial[2][kBands][kSums];
  int last = 0;

  // Starts the products of the next tile of depth.
  const auto start = [&](float(&into)[kBands][kSums]) {
    device::mbarrier_wait(ring.full + place.stage, place.parity);
    const unsigned char *const rows = ring.a(place.stage) + consumer * kRowsBytes;
    unsigned char *const rests_of_rows = rests.a() + consumer * kRowsBytes;
    NAUTILUS_UNROLL
    for (int band = 0; band < kBands; ++band) {
      const int warps_rows = band * OperandA::kRowsBytes + thread / device::kWarpThreads * kWarpBytes;
      write_rests<kWarpBytes, device::kWarpThreads>(rows + warps_rows, rests_of_rows + warps_rows, thread % device::kWarpThreads);
    }
    write_rests<OperandB::kBytes, kConsumers * kWarpgroupThreads>(ring.b(place.stage), rests.b(), consumer * kWarpgroupThreads + thread);
    device::async_proxy_fence();
    device::named_barrier(barrier, kConsumers * kWarpgroupThreads);
    const uint64 a = OperandA::descriptor(rows), a_rest = OperandA::descriptor(rests_of_rows);
    const uint64 b = OperandB::descriptor(ring.b(place.stage)), b_rest = OperandB::descriptor(rests.b());
    NAUTILUS_UNROLL
    for (int band = 0; band < kBands; ++band) device::register_fence(into[band]);
    device::wgmma_fence();
    const auto multiply = [&](uint64 left, uint64 right, bool accumulates) {
      NAUTILUS_UNROLL
      for (int step = 0; step < kSteps; ++step) {
        NAUTILUS_UNROLL
        for (int band = 0; band < kBands; ++band) {
          device::wgmma<float, OperandA::kMajor, OperandB::kMajor>(
              into[band], device::wgmma_advance(left, band * OperandA::kRowsBytes + step * OperandA::kStepBytes),
              device::wgmma_advance(right, step * OperandB::kStepBytes), accumulates || step > 0);
        }
      }
    };
    multiply(a_rest, b, false);  // the smallest first
    multiply(a, b_rest, true);
    multiply(a, b, true);
    device::wgmma_commit();
    rests.advance();
  };
  // Adds products that have been waited for, and gives their stage back.
  const auto finish = [&](float(&from)[kBands][kSums], int stage) {
    NAUTILUS_UNROLL
    for (int band = 0; band < kBands; ++band) {
      device::register_fence(from[band]);
      NAUTILUS_UNROLL
      for (int i = 0; i < kSums; ++i) sums[band][i] += from[band][i];
    }
    ring.release(stage);
  };
  // While one tile's products are under way, those of the one before are added.
  const auto pass = [&](float(&into)[kBands][kSums], float(&from)[kBands][kSums]) {
    start(into);
    device::wgmma_wait<1>();
    finish(from, last);
    last = place.stage;
    place.advance();
  };

  NAUTILUS_UNROLL
  for (int band = 0; band < kBands; ++band) {
    NAUTILUS_UNROLL
    for (int i = 0; i < kSums; ++i) sums[band][i] = 0.0f;
  }
  start(partial[0]);
  last = place.stage;
  place.advance();
  int tile = 1;
  // Of three or four tiles, where the compiler knows of it, no loop would be left; ptxas then waits behind every product (C7511).
  const int count = tiles == 3 || tiles == 4 ? device::shuffle(tiles, 0) : tiles;
  for (; tile + 1 < count; tile += 2) {
    pass(partial[1], partial[0]);
    pass(partial[0], partial[1]);
  }
  if (tile < count) {
    pass(partial[1], partial[0]);
    device::wgmma_wait<0>();
    finish(partial[1], last);
  } else {
    device::wgmma_wait<0>();
    finish(partial[0], last);
  }
}

}  // namespace nautilus::kernels
