// Reads and writes of tensors through index maps, by as few memory transactions as the map allows.
#pragma once

#include <nautilus/core/convert.cuh>
#include <nautilus/core/coordinates.cuh>
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
