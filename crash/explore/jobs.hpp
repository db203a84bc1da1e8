// Independent tasks in processes of their own, a few at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace holdfast::crash {

/// Runs each task in a forked process, at most `jobs` at once, and hands what
/// it returns to `done` in the order of the tasks. A task whose process dies by a signal, or throws, returns
/// nothing: `failed` is told its index and why.
void run_jobs(const std::vector<std::function<std::string()>>& tasks, unsigned jobs,
              const std::function<void(std::size_t, const std::string&)>& done,
              const std::function<void(std::size_t, const std::string&)>& failed);

}  // namespace holdfast::crash
