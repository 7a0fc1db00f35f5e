#include "support/pool.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#ifndef _WIN32
#include <unistd.h>
#endif

namespace steelyard {
namespace {

struct Job {
  std::size_t tasks;
  const std::function<void(std::size_t)>* body;
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> running{0};  // helpers inside work(); the body outlives them
  std::mutex mutex;
  std::condition_variable idle;
  std::exception_ptr error;

  void work() {
    for (;;) {
      std::size_t i = next.fetch_add(1);
      if (i >= tasks) return;
      try {
        (*body)(i);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next.store(tasks);  // the rest is not begun
      }
    }
  }
};

class Pool {
 public:
  explicit Pool(std::size_t helpers) {
    for (std::size_t i = 0; i < helpers; ++i) {
      threads_.emplace_back([this](std::stop_token stop) { serve(stop); });
    }
  }

  // Offers the job to the helpers; they join it while it has tasks left.
  void offer(const std::shared_ptr<Job>& job, std::size_t helpers) {
    {
      std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < helpers; ++i) queue_.push_back(job);
    }
    wake_.notify_all();
  }

  // Takes back the offers nobody has followed, and waits for the helpers that did.
  void finish(const std::shared_ptr<Job>& job) {
    {
      std::lock_guard lock(mutex_);
      std::erase(queue_, job);
    }
    std::unique_lock lock(job->mutex);
    job->idle.wait(lock, [&] { return job->running.load() == 0; });
  }

  std::size_t size() const { return threads_.size(); }

 private:
  void serve(std::stop_token stop) {
    for (;;) {
      std::shared_ptr<Job> job;
      {
        std::unique_lock lock(mutex_);
        if (!wake_.wait(lock, stop, [&] { return !queue_.empty(); })) return;
        job = queue_.front();
        queue_.pop_front();
        job->running.fetch_add(1);  // under the lock that finish() takes first
      }
      job->work();
      std::lock_guard lock(job->mutex);
      if (job->running.fetch_sub(1) == 1) job->idle.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::shared_ptr<Job>> queue_;
  std::vector<std::jthread> threads_;
};

// One pool a process. A forked child gets a fresh one: its parent's threads do not exist there.
// The old pool is leaked on purpose: its threads cannot be joined from the child. Nor is it torn down at exit,
// where joining from a static destructor can hang a process that forked.
Pool& pool() {
  static std::mutex mutex;
  static Pool* current = nullptr;
#ifndef _WIN32
  static pid_t owner = 0;
#endif
  std::lock_guard lock(mutex);
#ifndef _WIN32
  if (current && owner != ::getpid()) current = nullptr;
  owner = ::getpid();
#endif
  if (!current) current = new Pool(std::max(1u, std::thread::hardware_concurrency()) - 1);
  return *current;
}

std::atomic<long> process_threads{0};

}  // namespace

long set_threads(long count) { return process_threads.exchange(std::max(0L, count)); }

std::size_t thread_count(long asked) {
  std::size_t machine = std::max(1u, std::thread::hardware_concurrency());
  if (asked <= 0) asked = process_threads.load();
  return asked > 0 ? std::min<std::size_t>(static_cast<std::size_t>(asked), 4 * machine) : machine;
}

void parallel_for(std::size_t tasks, std::size_t threads, const std::function<void(std::size_t)>& body) {
  if (tasks == 0) return;
  if (threads <= 1 || tasks == 1) {
    for (std::size_t i = 0; i < tasks; ++i) body(i);
    return;
  }
  auto job = std::make_shared<Job>();
  job->tasks = tasks;
  job->body = &body;
  Pool& shared = pool();
  shared.offer(job, std::min({threads - 1, tasks - 1, shared.size()}));
  job->work();
  shared.finish(job);
  if (job->error) std::rethrow_exception(job->error);
}

}  // namespace steelyard
