// The emulated driver: launches, streams and events. Work is done when it is given to a stream, so a stream is always idle.

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>

#include "driver_state.h"
#include "launch.h"
#include "lifetime.h"

struct cu_event_struct {
    std::chrono::steady_clock::time_point recorded;
    bool is_recorded = false;
    bool is_timed = true;
};

namespace nautilus::emulated::driver {
namespace {

struct Streams {
    std::mutex mutex;
    std::set<cu_stream> handles;
};

Streams &streams() { return lasting<Streams>(); }

std::string size_text(const unsigned (&size)[3]) {
    return std::to_string(size[0]) + " x " + std::to_string(size[1]) + " x " + std::to_string(size[2]);
}

cu_result check_geometry(const cu_kernel_node_params &parameters) {
    const auto &grid = parameters.grid;
    const auto &block = parameters.block;
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || grid[0] > kMostGridX || grid[1] > kMostGridYZ || grid[2] > kMostGridYZ) {
        return error(CU_ERROR_INVALID_VALUE, "a grid of " + size_text(grid) + " blocks");
    }
    if (block[0] == 0 || block[1] == 0 || block[2] == 0 || block[2] > kMostBlockZ ||
        std::uint64_t{block[0]} * block[1] * block[2] > kMostThreads) {
        return error(CU_ERROR_INVALID_VALUE, "a block of " + size_text(block) + " threads");
    }
    if (parameters.shared_bytes > parameters.function->most_shared_bytes) {
        return error(CU_ERROR_INVALID_VALUE, std::to_string(parameters.shared_bytes) +
                                                 " bytes of shared memory, where the function was given at most " +
                                                 std::to_string(parameters.function->most_shared_bytes));
    }
    return CU_OK;
}

cu_result launch(cu_stream stream, const cu_kernel_node_params &parameters, bool is_dependent = false) {
    if (const cu_result result = check_stream(stream)) return result;
    PreparedLaunch prepared;
    if (is_dependent) prepared.set_dependent();
    if (const cu_result result = prepared.prepare(parameters)) return result;
    return prepared.run();
}

cu_result launch_kernel(cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared_bytes, cu_stream stream, void **parameters, void **extra) {
    return launch(stream,
                  {function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, parameters, extra, nullptr, nullptr});
}

cu_result launch_kernel_extended(const cu_launch_config *config, cu_function function, void **parameters, void **extra) {
    bool is_dependent = false;
    for (unsigned i = 0; i < config->attribute_count; ++i) {
        const cu_launch_attribute &attribute = config->attributes[i];
        if (attribute.id != CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION)
            return error(CU_ERROR_NOT_SUPPORTED, "launch attribute " + std::to_string(attribute.id) + " is not emulated");
        // Kernels that may overlap may also run one after the other.
        is_dependent = attribute.value.programmatic_stream_serialization_allowed != 0;
    }
    cu_kernel_node_params node = {function, {}, {}, config->shared_bytes, parameters, extra, nullptr, nullptr};
    std::memcpy(node.grid, config->grid, sizeof node.grid);
    std::memcpy(node.block, config->block, sizeof node.block);
    return launch(config->stream, node, is_dependent);
}

cu_result stream_create(cu_stream *stream, unsigned) {
    if (const cu_result result = check_context()) return result;
    *stream = reinterpret_cast<cu_stream>(new char);
    const std::lock_guard<std::mutex> lock(streams().mutex);
    streams().handles.insert(*stream);
    return CU_OK;
}

cu_result stream_destroy(cu_stream stream) {
    const std::lock_guard<std::mutex> lock(streams().mutex);
    if (streams().handles.erase(stream) == 0) return error(CU_ERROR_INVALID_HANDLE, "cuStreamDestroy: no such stream");
    delete reinterpret_cast<char *>(stream);
    return CU_OK;
}

cu_result stream_synchronize(cu_stream stream) { return check_stream(stream); }

cu_result stream_wait_event(cu_stream stream, cu_event event, unsigned) {
    if (!event) return error(CU_ERROR_INVALID_HANDLE, "cuStreamWaitEvent: no event");
    return check_stream(stream);
}

cu_result event_create(cu_event *event, unsigned flags) {
    if (const cu_result result = check_context()) return result;
    *event = new cu_event_struct;
    (*event)->is_timed = (flags & CU_EVENT_FLAG_DISABLE_TIMING) == 0;
    return CU_OK;
}

cu_result event_record(cu_event event, cu_stream stream) {
    if (const cu_result result = check_stream(stream)) return result;
    event->recorded = std::chrono::steady_clock::now();
    event->is_recorded = true;
    return CU_OK;
}

cu_result event_synchronize(cu_event) { return check_context(); }

cu_result event_elapsed_time(float *milliseconds, cu_event start, cu_event end) {
    if (const cu_result result = check_context()) return result;
    for (const cu_event event : {start, end}) {
        if (!event->is_recorded || !event->is_timed) return error(CU_ERROR_INVALID_HANDLE, "cuEventElapsedTime: an event without a time");
    }
    *milliseconds = std::chrono::duration<float, std::milli>(end->recorded - start->recorded).count();
    return CU_OK;
}

cu_result event_destroy(cu_event event) {
    delete event;
    return CU_OK;
}

}  // namespace

cu_result check_stream(cu_stream stream) {
    if (const cu_result result = check_context()) return result;
    if (stream == nullptr) return CU_OK;
    const std::lock_guard<std::mutex> lock(streams().mutex);
    return streams().handles.count(stream) ? CU_OK : error(CU_ERROR_INVALID_HANDLE, "no such stream");
}

cu_result PreparedLaunch::prepare(const cu_kernel_node_params &parameters) {
    if (!parameters.function) return error(CU_ERROR_INVALID_HANDLE, "a launch of no function");
    if (!parameters.parameters || parameters.extra)
        return error(CU_ERROR_INVALID_VALUE, "a launch needs its parameters as an array of pointers");
    if (const cu_result result = check_geometry(parameters)) return result;
    kernel_ = parameters.function->kernel;
    grid_ = {parameters.grid[0], parameters.grid[1], parameters.grid[2]};
    block_ = {parameters.block[0], parameters.block[1], parameters.block[2]};
    shared_bytes_ = parameters.shared_bytes;
    arguments_.resize((kernel_->argument_bytes + sizeof(Chunk) - 1) / sizeof(Chunk));
    std::memcpy(arguments_.data(), parameters.parameters[0], kernel_->argument_bytes);
    return CU_OK;
}

cu_result PreparedLaunch::run() const {
    Failure failure = emulated::run({kernel_, grid_, block_, shared_bytes_, arguments_.data(), options(), is_dependent_});
    if (!failure) return CU_OK;
    failure.text = "kernel " + std::string(kernel_->name) + ": " + failure.text;
    return fail_launch(failure);
}

void fill_execution(nautilus_driver &table) {
    table.cuLaunchKernel = launch_kernel;
    table.cuLaunchKernelEx = launch_kernel_extended;
    table.cuStreamCreate = stream_create;
    table.cuStreamDestroy = stream_destroy;
    table.cuStreamSynchronize = stream_synchronize;
    table.cuStreamWaitEvent = stream_wait_event;
    table.cuEventCreate = event_create;
    table.cuEventRecord = event_record;
    table.cuEventSynchronize = event_synchronize;
    table.cuEventElapsedTime = event_elapsed_time;
    table.cuEventDestroy = event_destroy;
}

}  // namespace nautilus::emulated::driver
