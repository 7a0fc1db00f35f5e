// A small pool of threads that is started once and kept.
//
// `parallel_for(tasks, threads, body)` calls body(0) .. body(tasks - 1), each once, from the calling thread and at
// most `threads - 1` helpers. Work is taken by a shared counter, so uneven tasks balance. Results must not depend on
// which thread ran a task: every kernel writes to places that belong to the task's index.
//
// The caller always works too, so a pool without a free thread (a nested call, a forked child whose helpers did not
// survive the fork) is slow, never stuck.
#pragma once

#include <cstddef>
#include <functional>

namespace steelyard {

// Number of threads to use: `asked` if positive, else what was set for the process, else the machine's.
std::size_t thread_count(long asked);

// Sets the number for calls that do not ask for one, 0 for the machine's; gives what was set before.
long set_threads(long count);

void parallel_for(std::size_t tasks, std::size_t threads, const std::function<void(std::size_t)>& body);

}  // namespace steelyard
