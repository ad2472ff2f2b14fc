#include "workers.h"

#include "block.h"

namespace nautilus::emulated {

Workers::Workers() : own_block_(new Block) {}

Workers::~Workers() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        stopping_ = true;
    }
    work_given_.notify_all();
    for (pthread_t thread : threads_) pthread_join(thread, nullptr);
}

bool Workers::start_thread() {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, worker_main, this) != 0) return false;
    threads_.push_back(thread);
    return true;
}

void *Workers::worker_main(void *workers) {
    static_cast<Workers *>(workers)->serve();
    return nullptr;
}

void Workers::serve() {
    Block block;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        work_given_.wait(lock, [this] { return stopping_ || places_left_ > 0; });
        if (stopping_) return;
        --places_left_;
        ++running_;
        lock.unlock();
        job_(context_, block);
        lock.lock();
        if (--running_ == 0) work_done_.notify_all();
    }
}

void Workers::run(unsigned count, void (*job)(void *, Block &), void *context) {
    // Fewer threads than asked for are enough.
    while (threads_.size() + 1 < count && start_thread()) {
    }
    if (count > 1) {
        const std::lock_guard<std::mutex> lock(mutex_);
        job_ = job;
        context_ = context;
        places_left_ = count - 1;
    }
    for (unsigned i = 1; i < count; ++i) work_given_.notify_one();
    job(context, *own_block_);
    if (count > 1) {
        std::unique_lock<std::mutex> lock(mutex_);
        places_left_ = 0;  // who has not come yet would find nothing to do
        work_done_.wait(lock, [this] { return running_ == 0; });
    }
}

}  // namespace nautilus::emulated
