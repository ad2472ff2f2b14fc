// Threads of the operating system that stay between launches.
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace nautilus::emulated {

class Block;

// Each worker has a block executor; the thread that calls run is the first of them.
class Workers {
public:
    Workers();
    // Waits for its threads, so it must not be called in a child of fork, which has none of them.
    ~Workers();
    Workers(const Workers &) = delete;
    Workers &operator=(const Workers &) = delete;

    // Calls JOB(context, block) on up to COUNT OS threads, each with a block executor of its own, and returns when all are back.
    void run(unsigned count, void (*job)(void *context, Block &block), void *context);

private:
    static void *worker_main(void *workers);
    void serve();
    bool start_thread();

    std::mutex mutex_;
    std::condition_variable work_given_;
    std::condition_variable work_done_;
    void (*job_)(void *, Block &) = nullptr;
    void *context_ = nullptr;
    unsigned places_left_ = 0;  // workers that may still join the job
    unsigned running_ = 0;
    bool stopping_ = false;

    std::vector<pthread_t> threads_;
    std::unique_ptr<Block> own_block_;
};

}  // namespace nautilus::emulated
