// What the functions of the emulated driver share.
#pragma once

#include <driver.h>

#include <string>
#include <vector>

#include "failure.h"
#include "options.h"

// The host names these handles in the global namespace and knows no more of them.
struct cu_function_struct {
    const nautilus::emulated::KernelEntry *kernel;
    unsigned most_shared_bytes;
};

namespace nautilus::emulated::driver {

// The limits of an sm_90 device, so that what the emulator accepts a GPU would accept too.
// Source: CUDA C++ Programming Guide, table of technical specifications per compute capability.
constexpr unsigned kMostGridX = 0x7FFFFFFF;
constexpr unsigned kMostGridYZ = 65535;
constexpr unsigned kMostBlockZ = 64;
constexpr unsigned kMostThreads = 1024;
constexpr unsigned kSharedBytesWithoutOptIn = 48 * 1024;
constexpr unsigned kSharedBytesOptIn = 227 * 1024;

Options options();

// Records what is wrong for this thread's nautilus_emulator_last_error, and returns RESULT.
cu_result error(cu_result result, const std::string &text);

// Makes every later call fail as a kernel did, until the primary context is released for the last time; returns the result.
cu_result fail_launch(const Failure &failure);

// CU_OK where the driver is initialised, a context is current and nothing has failed for good.
cu_result check_context();

// One launch, as a node of a graph keeps it: with a copy of the argument block.
class PreparedLaunch {
public:
    // Checks the geometry against the limits of the device and copies the argument block.
    cu_result prepare(const cu_kernel_node_params &parameters);
    cu_result run() const;
    // The launch may begin before the one ahead of it has ended.
    void set_dependent() { is_dependent_ = true; }

private:
    // Kernel arguments may hold a tensor map, which is aligned to 64 bytes.
    struct alignas(64) Chunk {
        unsigned char bytes[64];
    };

    const KernelEntry *kernel_ = nullptr;
    Index3 grid_ = {};
    Index3 block_ = {};
    unsigned shared_bytes_ = 0;
    bool is_dependent_ = false;
    std::vector<Chunk> arguments_;
};

// CU_OK where STREAM is one that work can be given to.
cu_result check_stream(cu_stream stream);

// Frees every allocation.
void release_memory();

// Each sets the members of the table that its file implements.
void fill_memory(nautilus_driver &table);
void fill_execution(nautilus_driver &table);
void fill_graph(nautilus_driver &table);
void fill_tensor_map(nautilus_driver &table);

}  // namespace nautilus::emulated::driver
