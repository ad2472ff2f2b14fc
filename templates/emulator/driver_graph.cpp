// The emulated driver: graphs of kernels. A node may depend only on nodes added before it, so the order of adding is an order to run in.

#include <algorithm>
#include <memory>
#include <vector>

#include "driver_state.h"

struct cu_graph_node_struct {
    std::size_t number;  // in its graph
    nautilus::emulated::driver::PreparedLaunch launch;
};

struct cu_graph_struct {
    // Handles are addresses of nodes, so these stay where they are.
    std::vector<std::unique_ptr<cu_graph_node_struct>> nodes;
};

struct cu_graph_exec_struct {
    std::vector<nautilus::emulated::driver::PreparedLaunch> launches;
};

namespace nautilus::emulated::driver {
namespace {

cu_result graph_create(cu_graph *graph, unsigned flags) {
    if (const cu_result result = check_context()) return result;
    if (flags != 0) return error(CU_ERROR_INVALID_VALUE, "cuGraphCreate: flags must be 0");
    *graph = new cu_graph_struct;
    return CU_OK;
}

cu_result graph_add_kernel_node(cu_graph_node *node, cu_graph graph, const cu_graph_node *dependencies, std::size_t dependency_count,
                                const cu_kernel_node_params *parameters) {
    if (const cu_result result = check_context()) return result;
    for (std::size_t i = 0; i < dependency_count; ++i) {
        const auto is_dependency = [&](const auto &other) { return other.get() == dependencies[i]; };
        if (std::none_of(graph->nodes.begin(), graph->nodes.end(), is_dependency)) {
            return error(CU_ERROR_INVALID_VALUE, "cuGraphAddKernelNode: a dependency on a node of no such graph");
        }
    }
    auto added = std::make_unique<cu_graph_node_struct>();
    added->number = graph->nodes.size();
    if (const cu_result result = added->launch.prepare(*parameters)) return result;
    *node = added.get();
    graph->nodes.push_back(std::move(added));
    return CU_OK;
}

// Nodes run in the order in which they were added, so that an edge from an earlier to a later one needs nothing.
cu_result graph_add_dependencies(cu_graph graph, const cu_graph_node *from, const cu_graph_node *to, const cu_graph_edge *edges,
                                 std::size_t count) {
    if (const cu_result result = check_context()) return result;
    for (std::size_t i = 0; i < count; ++i) {
        const auto is_node = [&](cu_graph_node node) {
            return std::any_of(graph->nodes.begin(), graph->nodes.end(), [&](const auto &other) { return other.get() == node; });
        };
        if (!is_node(from[i]) || !is_node(to[i]) || from[i]->number >= to[i]->number)
            return error(CU_ERROR_INVALID_VALUE, "cuGraphAddDependencies: not from an earlier node of the graph to a later one");
        if (edges && (edges[i].from_port > CU_GRAPH_PORT_PROGRAMMATIC || edges[i].to_port != 0 ||
                      (edges[i].type == CU_GRAPH_DEPENDENCY_PROGRAMMATIC) != (edges[i].from_port == CU_GRAPH_PORT_PROGRAMMATIC)))
            return error(CU_ERROR_INVALID_VALUE, "cuGraphAddDependencies: ports that do not belong to the type of the edge");
        if (edges && edges[i].type == CU_GRAPH_DEPENDENCY_PROGRAMMATIC) to[i]->launch.set_dependent();
    }
    return CU_OK;
}

cu_result graph_instantiate(cu_graph_exec *exec, cu_graph graph, unsigned long long) {
    if (const cu_result result = check_context()) return result;
    *exec = new cu_graph_exec_struct;
    for (const auto &node : graph->nodes) (*exec)->launches.push_back(node->launch);
    return CU_OK;
}

cu_result graph_exec_kernel_node_set_params(cu_graph_exec exec, cu_graph_node node, const cu_kernel_node_params *parameters) {
    if (const cu_result result = check_context()) return result;
    if (node->number >= exec->launches.size())
        return error(CU_ERROR_INVALID_VALUE, "cuGraphExecKernelNodeSetParams: a node of another graph");
    return exec->launches[node->number].prepare(*parameters);
}

cu_result graph_launch(cu_graph_exec exec, cu_stream stream) {
    if (const cu_result result = check_stream(stream)) return result;
    for (const PreparedLaunch &launch : exec->launches) {
        if (const cu_result result = launch.run()) return result;
    }
    return CU_OK;
}

cu_result graph_destroy(cu_graph graph) {
    delete graph;
    return CU_OK;
}

cu_result graph_exec_destroy(cu_graph_exec exec) {
    delete exec;
    return CU_OK;
}

}  // namespace

void fill_graph(nautilus_driver &table) {
    table.cuGraphCreate = graph_create;
    table.cuGraphAddKernelNode = graph_add_kernel_node;
    table.cuGraphAddDependencies = graph_add_dependencies;
    table.cuGraphInstantiateWithFlags = graph_instantiate;
    table.cuGraphExecKernelNodeSetParams = graph_exec_kernel_node_set_params;
    table.cuGraphLaunch = graph_launch;
    table.cuGraphDestroy = graph_destroy;
    table.cuGraphExecDestroy = graph_exec_destroy;
}

}  // namespace nautilus::emulated::driver
