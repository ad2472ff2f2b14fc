// What instructions of other warps cost tensor cores: a warpgroup multiplies 64×128 tiles in shared memory, two bands of rows in turn, and one
// beside it repeats a kind of instruction, as many chains of which are independent as KIND has; both tell how many cycles they took.
#include <nautilus/core/arguments.cuh>
#include <nautilus/core/math.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/device/wgmma.cuh>

namespace beside {

using namespace nautilus;

constexpr int kWarpgroup = 128, kColumns = 128, kBands = 2, kSteps = 4, kRepeats = 32;
constexpr int kBandBytes = 64 * 128, kTileBytes = kColumns * 128;  // of 128 bytes of depth

template <int kChains>
struct Multiplications {
  static constexpr int kCount = kChains;
  template <int kN>
  NAUTILUS_DEVICE static float next(float (&x)[kN], const float (&y)[kN], int i) {
    return device::fma(x[i], y[i], 1.25f);
  }
};
struct Maxima {
  static constexpr int kCount = 8;
  template <int kN>
  NAUTILUS_DEVICE static float next(float (&x)[kN], const float (&y)[kN], int i) {
    return device::fmin(device::fmax(x[i], y[i]), y[(i + 1) % kN]);
  }
};
struct Exponentials {
  static constexpr int kCount = 8;
  template <int kN>
  NAUTILUS_DEVICE static float next(float (&x)[kN], const float (&)[kN], int i) {
    return device::fast_exp2(x[i]);
  }
};
struct Alternating {  // a multiplication and a maximum
  static constexpr int kCount = 8;
  template <int kN>
  NAUTILUS_DEVICE static float next(float (&x)[kN], const float (&y)[kN], int i) {
    return device::fmax(device::fma(x[i], y[i], 1.25f), y[(i + 1) % kN]);
  }
};
template <int kForm>
struct Gelu {
  static constexpr int kCount = 8;
  template <int kN>
  NAUTILUS_DEVICE static float next(float (&x)[kN], const float (&y)[kN], int i) {
    return math::gelu(x[i] + y[i], static_cast<float>(kForm));
  }
};

// Pointer 0: cycles of the products, cycles of the others, times that these went round, and what keeps the compiler from leaving work out.
template <class Kind, class A>
NAUTILUS_DEVICE void measure(const A &arguments) {
  const int products = static_cast<int>(arguments.scalars[0]), rounds = static_cast<int>(arguments.scalars[1]);
  unsigned char *const tiles = device::dynamic_shared<unsigned char>();
  volatile int *const is_done = device::dynamic_shared<int>(kBands * kBandBytes + kTileBytes);
  const int thread = device::thread_index().x;
  for (int i = thread; i < (kBands * kBandBytes + kTileBytes) / 4 + 1; i += 2 * kWarpgroup) reinterpret_cast<int *>(tiles)[i] = 0;
  device::async_proxy_fence();
  device::block_barrier();
  long long *const out = static_cast<long long *>(arguments.pointers[0]) + device::block_index().x * 4;
  float kept = 0;
  const long long begin = clock64();
  if (thread < kWarpgroup) {
    float sums[kBands][kColumns / 2] = {};
    for (int n = 0; n < products; ++n) {
      NAUTILUS_UNROLL
      for (int band = 0; band < kBands; ++band) device::register_fence(sums[band]);
      device::wgmma_fence();
      NAUTILUS_UNROLL
      for (int step = 0; step < kSteps; ++step) {
        NAUTILUS_UNROLL
        for (int band = 0; band < kBands; ++band) {
          device::wgmma<half>(sums[band], device::wgmma_descriptor<device::Swizzle::k128>(tiles + band * kBandBytes + step * 32, 16, 1024),
                              device::wgmma_descriptor<device::Swizzle::k128>(tiles + kBands * kBandBytes + step * 32, 16, 1024));
        }
      }
      device::wgmma_commit();
      if (n > 0) device::wgmma_wait<1>();
    }
    device::wgmma_wait<0>();
    NAUTILUS_UNROLL
    for (int band = 0; band < kBands; ++band) device::register_fence(sums[band]);
    if (thread == 0 && products > 0) {
      *is_done = 1;
      out[0] = clock64() - begin;
    }
    NAUTILUS_UNROLL
    for (int band = 0; band < kBands; ++band) {
      NAUTILUS_UNROLL
      for (int i = 0; i < kColumns / 2; ++i) kept += sums[band][i];
    }
  } else {
    float x[Kind::kCount], y[Kind::kCount];
    NAUTILUS_UNROLL
    for (int i = 0; i < Kind::kCount; ++i) {
      x[i] = static_cast<float>(thread + i);
      y[i] = 0.25f * static_cast<float>(thread - i);
    }
    int round = 0;
    for (; round < rounds; ++round) {
      const int seen = *is_done;
      NAUTILUS_UNROLL
      for (int repeat = 0; repeat < kRepeats; ++repeat) {
        NAUTILUS_UNROLL
        for (int i = 0; i < Kind::kCount; ++i) x[i] = Kind::next(x, y, i);
      }
      if (seen != 0) break;
    }
    if (thread == kWarpgroup) {
      out[1] = clock64() - begin;
      out[2] = round;
    }
    NAUTILUS_UNROLL
    for (int i = 0; i < Kind::kCount; ++i) kept += x[i];
  }
  if (kept == 1.2345f) out[3] = 1;
}

}  // namespace beside

#define NAUTILUS_BESIDE(name, ...)                                                                                       \
  extern "C" __global__ void NAUTILUS_LAUNCH_BOUNDS(2 * beside::kWarpgroup)                                              \
      name(const NAUTILUS_GRID_CONSTANT nautilus::Arguments<1, 2> arguments) {                                           \
    beside::measure<__VA_ARGS__>(arguments);                                                                             \
  }
NAUTILUS_BESIDE(multiplications_1, beside::Multiplications<1>)
NAUTILUS_BESIDE(multiplications_2, beside::Multiplications<2>)
NAUTILUS_BESIDE(multiplications_3, beside::Multiplications<3>)
NAUTILUS_BESIDE(multiplications_4, beside::Multiplications<4>)
NAUTILUS_BESIDE(multiplications_8, beside::Multiplications<8>)
NAUTILUS_BESIDE(maxima, beside::Maxima)
NAUTILUS_BESIDE(exponentials, beside::Exponentials)
NAUTILUS_BESIDE(alternating, beside::Alternating)
NAUTILUS_BESIDE(gelu_short, beside::Gelu<2>)
NAUTILUS_BESIDE(gelu_beside, beside::Gelu<3>)
