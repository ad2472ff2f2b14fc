// Everything that kernel text uses of the machine. Each function has two twins: inline PTX or a CUDA builtin, and a C++ one for the
// emulator (NAUTILUS_EMULATED). No CUDA header is included, and this directory is the only place with inline PTX.
//
// In namespace nautilus: int8 int16 int32 int64 uint8 uint16 uint32 uint64.
// Macros: NAUTILUS_DEVICE (forced inline function) NAUTILUS_UNROLL NAUTILUS_LAUNCH_BOUNDS(threads[, blocks]) NAUTILUS_GRID_CONSTANT
//         NAUTILUS_EXPORT(symbol) (after a kernel: extern "C" __global__ void symbol(const NAUTILUS_GRID_CONSTANT Arguments arguments))
//
// Call these qualified, or after `using namespace device;` inside namespace nautilus (at global scope exp and the like are ambiguous).
// In namespace nautilus::device (every synchronising call ends with a defaulted Site, which only the emulator uses):
//   execution.cuh      Index3 {int x, y, z} thread_index() block_index() block_extent() grid_extent(); int lane_index() warp_index();
//                      void pause() (in loops that wait on memory)
//   shared_memory.cuh  T *dynamic_shared<T>(offset_bytes = 0); uint32 shared_address(pointer)
//   barrier.cuh        block_barrier() named_barrier(id, threads) named_barrier_arrive(id, threads) warp_barrier(mask = kFullMask)
//                      device_fence()
//   warp.cuh           T shuffle(value, lane, mask) shuffle_xor(value, lane_mask, mask) shuffle_down(value, delta, mask) shuffle_up;
//                      T warp_reduce<Op>(value, width = 32, mask) (Op()(a, b), result in every lane);
//                      uint32 warp_ballot(predicate, mask); bool warp_any warp_all
//   types.cuh          half bfloat16 {uint16 bits}; Vector<T, kCount> (aligned, [i], .values); float to_float(x); half to_half(float);
//                      bfloat16 to_bfloat16(float); uint32 pack_half(low, high) pack_bfloat16; To convert<To>(x); To bit_cast<To>(x)
//   memory.cuh         Vec load_global<Vec, LoadHint::kDefault | kReadOnly | kStreaming | kNoAllocate>(address);
//                      store_global<Vec, StoreHint::kDefault | kStreaming>(address, value); load_shared<Vec>(address); store_shared
//   async_copy.cuh     cp_async<4 | 8 | 16>(shared, global, source_bytes = all) cp_async16(...) cp_async_commit()
//                      cp_async_wait<groups in flight>() SharedPlace shared_place(shared) cp_async_behind<4 | 8 | 16>(place, bytes, global)
//   matrix.cuh         load_matrices<transposed>(fragment, row) load_matrix_tiles<transposed>(fragments, row(tile)); from sm_90 on
//                      store_matrices<transposed>(row, fragment)
//   mma.cuh            mma_block<half | bfloat16 | float>(sums, a, b) kMmaDepth<T>; uint32 to_tf32(float)
//   mbarrier.cuh       sm_90: Mbarrier; mbarrier_init(barrier, arrivals) mbarrier_init_fence() mbarrier_invalidate mbarrier_arrive(barrier)
//                      mbarrier_expect(barrier, bytes) mbarrier_arrive_expect(barrier, bytes) bool mbarrier_try_wait(barrier, parity)
//                      mbarrier_wait(barrier, parity) cp_async_arrive(barrier) async_proxy_fence()
//   tensor_copy.cuh    sm_90: TensorMap; tensor_map_prefetch(map); tensor_load<CacheHint::kDefault | kEvictFirst | kEvictLast>(shared, map,
//                      barrier, {x, y, ...}) tensor_store(map, shared, {x, y, ...}) tensor_prefetch(map, {x, y, ...});
//                      bulk_load(shared, global, bytes, barrier) bulk_store(global, shared, bytes) bulk_prefetch(global, bytes)
//                      bulk_commit() bulk_wait<groups in flight>() bulk_wait_read<groups in flight>();
//                      sm_90a: tensor_load_multicast(shared, map, barrier, {x, y, ...}, blocks)
//   cluster.cuh        sm_90: int cluster_rank() cluster_blocks(); cluster_barrier() mbarrier_arrive_at(barrier, rank)
//                      cluster_arrive() cluster_wait() float load_shared_at(shared, rank) Vec load_shared_vector_at(shared, rank)
//                      store_shared_async(shared, four floats, barrier, rank)
//   register_share.cuh sm_90a: release_registers<kept>() acquire_registers<wanted>()
//   wgmma.cuh          sm_90a, not included here: wgmma<T, major of A, of B>(sums, a, b, accumulates) wgmma_descriptor<Swizzle>(...) ...
//   atomics.cuh        T atomic_add(address, value) atomic_max atomic_min atomic_exchange;
//                      T atomic_compare_exchange(address, expected, value); uint32 load_acquire(address) store_release(address, value)
//   dependency.cuh     dependency_wait() dependency_trigger()
//   math.cuh           float and double: exp exp2 expm1 log log2 log10 log1p sqrt rsqrt cbrt pow fmod sin cos tan asin acos atan atan2
//                      sinh cosh tanh asinh acosh atanh erf erfc floor ceil trunc rint round fabs copysign fma fmax fmin is_nan
//                      is_infinite; float: max_nan min_nan infinity quiet_nan fast_exp fast_exp2 fast_log fast_divide fast_reciprocal
//                      fast_tanh; integers: multiply_high popcount count_leading_zeros
#pragma once

#include <nautilus/device/async_copy.cuh>
#include <nautilus/device/atomics.cuh>
#include <nautilus/device/barrier.cuh>
#include <nautilus/device/cluster.cuh>
#include <nautilus/device/dependency.cuh>
#include <nautilus/device/execution.cuh>
#include <nautilus/device/export.cuh>
#include <nautilus/device/math.cuh>
#include <nautilus/device/matrix.cuh>
#include <nautilus/device/mbarrier.cuh>
#include <nautilus/device/memory.cuh>
#include <nautilus/device/mma.cuh>
#include <nautilus/device/platform.cuh>
#include <nautilus/device/register_share.cuh>
#include <nautilus/device/shared_memory.cuh>
#include <nautilus/device/tensor_copy.cuh>
#include <nautilus/device/types.cuh>
#include <nautilus/device/warp.cuh>
