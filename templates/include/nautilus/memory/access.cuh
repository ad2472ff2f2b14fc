// Reads and writes of tensors through index maps, by as few memory transactions as the map allows.
#pragma once

#include <nautilus/core/convert.cuh>
#include <nautilus/core/coordinates.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/status.cuh>
#include <nautilus/core/vector.cuh>
#include <nautilus/device/memory.cuh>
#include <nautilus/memory/map.cuh>

namespace nautilus {

// Elements of STORAGE that one transaction of at most 16 bytes moves, of WIDTH that lie together.
template <class Storage>
NAUTILUS_DEVICE constexpr int transaction_width(int width) {
  const int most = 16 / static_cast<int>(sizeof(Storage));
  return width < most ? width : most;
}

// Read of one tensor. PRECONDITION of `at`: the last coordinate is a multiple of WIDTH and all lanes are inside the extents.
template <int kSlotNumber, class StorageType, class MapType>
struct Load {
  using Storage = StorageType;
  using Map = MapType;
  using Compute = typename ComputeOf<Storage>::Type;
  enum : int { kSlot = kSlotNumber };

  template <class A>
  NAUTILUS_DEVICE static const Storage *pointer(const A &arguments) {
    return static_cast<const Storage *>(arguments.pointers[kSlot]);
  }

  // The elements at AT and its followers along the last coordinate; zero where the map holds none, and nothing is read there.
  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static Vector<Compute, kWidth> at(const A &arguments, const At &where) {
    using Index = typename At::Index;
    constexpr int kContiguous = Map::contiguous_width(kWidth);
    constexpr int kRepeated = Map::repeated_width(kWidth);
    constexpr int kChunk = kContiguous > 1 ? transaction_width<Storage>(kContiguous) : 1;
    constexpr int kStep = kContiguous > 1 ? kChunk : kRepeated;
    Vector<Compute, kWidth> result{};
    NAUTILUS_UNROLL
    for (int lane = 0; lane < kWidth; lane += kStep) {
      bool valid = true;
      const Index offset = Map::offset(arguments, where.advanced(static_cast<Index>(lane)), valid);
      if (!Map::kIsGuarded || valid) {
        const auto chunk = device::load_global<Vector<Storage, kChunk>>(pointer(arguments) + offset);
        NAUTILUS_UNROLL
        for (int i = 0; i < kStep; ++i) result[lane + i] = to_compute(chunk[kContiguous > 1 ? i : 0]);
      }
    }
    return result;
  }
};

// Read of one tensor at places that integers of another decide: DATA reads where an index is 0, and each of EXTENT steps of an index adds
// STRIDE to the offset. An index below zero counts from the end, once; with one out of range nothing is read, the value is zero, and the
// status word says so.
template <class DataType, class IndexType, class Extent, class Stride>
struct IndexedLoad {
  using Data = DataType;
  using Storage = typename Data::Storage;
  using Map = typename Data::Map;
  using Compute = typename Data::Compute;

  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static Vector<Compute, kWidth> at(const A &arguments, const At &where) {
    using Index = typename At::Index;
    constexpr int kSame = IndexType::Map::repeated_width(kWidth);  // neighbours with one index
    constexpr int kTogether = Map::contiguous_width(kSame);
    constexpr int kChunk = is_multiple<Stride>(kTogether) ? transaction_width<Storage>(kTogether) : 1;
    const long long extent = static_cast<long long>(Extent::get(arguments));
    Vector<Compute, kWidth> result{};
    NAUTILUS_UNROLL
    for (int first = 0; first < kWidth; first += kSame) {
      bool valid = true;
      Map::offset(arguments, where.advanced(static_cast<Index>(first)), valid);
      if (Map::kIsGuarded && !valid) continue;
      long long index = static_cast<long long>(IndexType::template at<1>(arguments, where.advanced(static_cast<Index>(first)))[0]);
      if (index < 0) index += extent;
      if (index < 0 || index >= extent) {
        report_index_out_of_range(arguments);
        continue;
      }
      const Index shift = static_cast<Index>(index) * static_cast<Index>(Stride::get(arguments));
      NAUTILUS_UNROLL
      for (int lane = first; lane < first + kSame; lane += kChunk) {
        bool is_inside = true;
        const Index offset = Map::offset(arguments, where.advanced(static_cast<Index>(lane)), is_inside);
        if (Map::kIsGuarded && !is_inside) continue;
        const auto chunk = device::load_global<Vector<Storage, kChunk>>(Data::pointer(arguments) + offset + shift);
        NAUTILUS_UNROLL
        for (int i = 0; i < kChunk; ++i) result[lane + i] = to_compute(chunk[i]);
      }
    }
    return result;
  }
};

// Write of one tensor; the map is unguarded. The precondition is that of Load.
template <int kSlotNumber, class StorageType, class MapType>
struct Store {
  using Storage = StorageType;
  using Map = MapType;
  using Compute = typename ComputeOf<Storage>::Type;
  enum : int { kSlot = kSlotNumber };
  static_assert(!Map::kIsGuarded, "a store writes every element");

  template <class A>
  NAUTILUS_DEVICE static Storage *pointer(const A &arguments) {
    return static_cast<Storage *>(arguments.pointers[kSlot]);
  }

  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static void put(const A &arguments, const At &where, const Vector<Compute, kWidth> &values) {
    using Index = typename At::Index;
    constexpr int kChunk = transaction_width<Storage>(kIsStaged<At> ? kWidth : Map::contiguous_width(kWidth));
    NAUTILUS_UNROLL
    for (int lane = 0; lane < kWidth; lane += kChunk) {
      Vector<Storage, kChunk> chunk;
      NAUTILUS_UNROLL
      for (int i = 0; i < kChunk; ++i) chunk[i] = to_storage<Storage>(values[lane + i]);
      if constexpr (kIsStaged<At>) {
        static_cast<Vector<Storage, kChunk> *>(where.staged)[lane / kChunk] = chunk;
      } else {
        bool valid = true;
        const Index offset = Map::offset(arguments, where.advanced(static_cast<Index>(lane)), valid);
        device::store_global<Vector<Storage, kChunk>>(pointer(arguments) + offset, chunk);
      }
    }
  }
};

// Whether the guards of a map hold.
template <class MapType>
struct Inside {
  using Map = MapType;

  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static Vector<bool, kWidth> at(const A &arguments, const At &where) {
    using Index = typename At::Index;
    constexpr int kStep = Map::guard_width(kWidth);
    Vector<bool, kWidth> result{};
    NAUTILUS_UNROLL
    for (int lane = 0; lane < kWidth; lane += kStep) {
      bool valid = true;
      Map::offset(arguments, where.advanced(static_cast<Index>(lane)), valid);
      NAUTILUS_UNROLL
      for (int i = 0; i < kStep; ++i) result[lane + i] = valid;
    }
    return result;
  }
};

}  // namespace nautilus
