// The workload of rig_guest_dnv: atomic blocks on a dnv pool. Each thread has a list of its last transactions; each of
// them adds a node at the front and drops the last, and adds to a total of all threads, which makes them conflict.
#include "armed.hpp"
#include "guest.hpp"

#include <holdfast/dnv/audit.hpp>
#include <holdfast/dnv/dnv.hpp>

#include <stdexcept>
#include <thread>

namespace holdfast::rig {
namespace {

constexpr std::uint64_t threads_at_most = 8;
constexpr std::uint64_t list_length = 12;

struct node {
    node* older;
    std::uint64_t number;
    std::uint64_t words;  ///< that follow
};

struct list {
    node* newest;
    std::uint64_t done;
};

DNV_POD list lists[threads_at_most];
DNV_POD std::uint64_t total = 0;

std::uint64_t words_of(std::uint64_t number) { return number * 7 % 40; }
std::uint64_t* payload_of(node* of) { return reinterpret_cast<std::uint64_t*>(of + 1); }

void drop_last(list& from) {
    node** at = &from.newest;
    for (std::uint64_t i = 0; i < list_length; ++i) {
        if (*at == nullptr) return;
        at = &(*at)->older;
    }
    dnv_free(*at);
    *at = nullptr;
}

/// False where there is no room.
bool run_transaction(std::uint64_t thread, std::uint64_t number, std::uint64_t seed) {
    bool has_room = false;
    __transaction_atomic {
        const std::uint64_t words = words_of(number);
        node* const made = static_cast<node*>(dnv_malloc(sizeof(node) + words * sizeof(std::uint64_t)));
        if (made != nullptr) {
            list& mine = lists[thread];
            made->older = mine.newest;
            made->number = number;
            made->words = words;
            for (std::uint64_t at = 0; at < words; ++at) payload_of(made)[at] = stored_word(seed, number, at);
            mine.newest = made;
            mine.done = number;
            drop_last(mine);
            ++total;
            has_room = true;
        }
    }
    return has_room;
}

struct seen_list {
    std::uint64_t done = 0;
    std::uint64_t right_nodes = 0;  ///< from the newest on
    bool ends = false;              ///< behind them
};

seen_list look_at(std::uint64_t thread, std::uint64_t seed) {
    seen_list seen;
    __transaction_atomic {
        seen = seen_list{};
        seen.done = lists[thread].done;
        node* at = lists[thread].newest;
        for (bool is_right = true; at != nullptr && is_right && seen.right_nodes <= list_length;) {
            const std::uint64_t number = seen.done - seen.right_nodes;
            is_right = at->number == number && at->words == words_of(number);
            for (std::uint64_t word = 0; is_right && word < at->words; ++word)
                is_right = payload_of(at)[word] == stored_word(seed, number, word);
            if (!is_right) break;
            ++seen.right_nodes;
            at = at->older;
        }
        seen.ends = at == nullptr;
    }
    return seen;
}

std::uint64_t read_total() {
    __transaction_atomic { return total; }
}

dnv_options options_for(const request& of) {
    dnv_options of_pool;
    of_pool.bytes = 16 << 20;
    of_pool.durability = is_armed_name(of.engine) ? level::on_power_fail : level::power;
    return of_pool;
}

void open_for(const request& of) {
    if (of.threads > threads_at_most)
        throw std::runtime_error("at most " + std::to_string(threads_at_most) + " threads, not " +
                                 std::to_string(of.threads));
    dnv_open(of.path, options_for(of)).value();
}

void work_in_blocks(const request& of) {
    const auto work_as = [&of](std::uint64_t thread) {
        for (std::uint64_t number = look_at(thread, of.seed + thread).done + 1;; ++number) {
            if (!run_transaction(thread, number, of.seed + thread))
                give_up(thread, std::runtime_error("the pool has no room for transaction " + std::to_string(number)));
            acknowledge(thread, number);
        }
    };
    std::vector<std::jthread> others;
    for (std::uint64_t thread = 1; thread < of.threads; ++thread) others.emplace_back(work_as, thread);
    work_as(0);
}

void work(const request& of) {
    open_for(of);
    work_in_blocks(of);
}

/// Without a fence, and saved by the module.
void work_armed(const request& of) {
    armed_by_module armed(of.engine);
    armed.listen();
    open_for(of);
    armed.check();
    work_in_blocks(of);
}

void audit(std::uint64_t nodes, findings& found) {
    const dnv::audit_report audit = dnv::audit_open_pool(false);
    for (const error& each : audit.problems) found.problems.push_back(each.text());
    if (audit.blocks != nodes)
        found.problems.push_back(std::to_string(audit.blocks) + " blocks are given out, expected " +
                                 std::to_string(nodes));
    if (audit.flipped_words != 0)
        found.problems.push_back(std::to_string(audit.flipped_words) + " words do not match their codes");
}

findings verify(const request& of) {
    open_for(of);
    findings found;
    std::uint64_t sum = 0, nodes = 0;
    for (std::uint64_t thread = 0; thread < of.threads; ++thread) {
        const seen_list seen = look_at(thread, of.seed + thread);
        found.done.push_back(seen.done);
        sum += seen.done;
        nodes += seen.right_nodes;
        const std::uint64_t wanted = seen.done < list_length ? seen.done : list_length;
        if (seen.right_nodes != wanted || !seen.ends)
            found.problems.push_back("the list of thread " + std::to_string(thread) + " has " +
                                     std::to_string(seen.right_nodes) + " right nodes, expected " +
                                     std::to_string(wanted) + " and no more");
    }
    if (read_total() != sum)
        found.problems.push_back("the total is " + std::to_string(read_total()) + ", the threads did " +
                                 std::to_string(sum));
    audit(nodes, found);
    dnv_close().value();
    return found;
}

const workload of_dnv{&work, &verify};
const workload of_armed_dnv{&work_armed, &verify};

}  // namespace

const workload* workload_named(const std::string& engine) {
    if (engine == "dnv") return &of_dnv;
    return engine == "dnv_armed" || engine == "dnv_declined" ? &of_armed_dnv : nullptr;
}

}  // namespace holdfast::rig
