// What a dnv pool with the lists of dnv_list.hpp holds, looked at without transactions: a torn list leads anywhere.
#pragma once

#include <crash/subjects/dnv_list.hpp>
#include <crash/subjects/expectation.hpp>

#include <holdfast/ecc/word_code.hpp>
#include <holdfast/stm/algorithm.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::crash {

/// A word of the pool whose bits were flipped on purpose. As long as they are, it counts as what it was before.
struct dnv_flip {
    const stm::word* at;  ///< in the window
    ecc::coded_word right;
    ecc::coded_word flipped;

    bool can_be_corrected() const noexcept;
    /// Whether the word is as flipped, or less, and not one that was stored since.
    bool is_there() const noexcept;
};
using dnv_flips = std::vector<dnv_flip>;

struct dnv_state {
    std::vector<contents> lists;
    std::uint64_t nodes = 0;           ///< of all lists
    std::optional<std::string> wrong;  ///< then the rest is not there

    contents all() const {
        contents together;
        for (const contents& each : lists) together.insert(together.end(), each.begin(), each.end());
        return together;
    }
};

/// Requires: a dnv pool is open.
dnv_state look_at_dnv_lists(const dnv_flips& flips = {});
/// Of a list that no operation has changed.
contents initial_dnv_list();

/// After a look: words, bins and chunks are sound, every block has an owner, and nothing of the pool's heap is lost.
/// Flipped bits are where they are expected, and nowhere else.
std::optional<std::string> wrong_in_dnv_pool(const dnv_state& found, const dnv_flips& flips = {});

/// The same operations of one list on ordinary memory.
class dnv_model {
public:
    explicit dnv_model(const contents& from);

    void push(std::uint64_t value, std::uint64_t bytes);
    void pop();
    void replace(std::uint64_t value);
    void rotate(std::uint64_t value);
    void push_several(std::uint64_t value);
    void pop_all();
    void share();
    contents all() const;

private:
    static constexpr std::size_t payload_words = dnv_node::payload_bytes / 8;
    struct node {
        std::uint64_t value;
        std::uint64_t bytes;
        std::uint64_t payload[payload_words];
    };
    void push_uncounted(std::uint64_t value, std::uint64_t bytes);
    void pop_uncounted();

    std::vector<node> nodes_;  ///< the first one last
    std::uint64_t count_, sum_, marks_, operations_, shares_;
};

}  // namespace holdfast::crash
