// Threads over places and channels: what kernels share that compute each result from a few elements that lie anywhere.
#pragma once

#include <nautilus/core/dims.cuh>
#include <nautilus/device/device.cuh>

namespace nautilus::kernels {

// What a thread works on: kVector channels of one place of one image. Along a block's threads channels go first.
template <class Index, class Schedule>
struct PlaceOfThread {
  Index image, place, channel;
  bool is_inside;

  NAUTILUS_DEVICE PlaceOfThread(Index images, Index places, Index channels) {
    constexpr int kPlacesBlock = Schedule::kThreads / Schedule::kLanes;
    const int channel_blocks = static_cast<int>(ceil_divide(channels, Schedule::kLanes * Schedule::kVector));
    const int thread = device::thread_index().x;
    const int block = device::block_index().x;
    image = static_cast<Index>(device::block_index().z) * device::grid_extent().y + device::block_index().y;
    place = static_cast<Index>(block / channel_blocks) * kPlacesBlock + thread / Schedule::kLanes;
    channel = (static_cast<Index>(block % channel_blocks) * Schedule::kLanes + thread % Schedule::kLanes) * Schedule::kVector;
    is_inside = image < images && place < places && channel < channels;
  }
};

}  // namespace nautilus::kernels
