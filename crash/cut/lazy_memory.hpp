// A pool's memory after a cut, in which an uncertain line takes shape only when it is read: of its
// possible contents those stay that agree on what was read. Lines that recovery never reads cost
// nothing. Source: Gorjiara, Xu, Demsky, Jaaru, ASPLOS 2021.
//
// Protocol
//   1. `settle` puts the certain words into the memory and lists the uncertain units.
//   2. `begin` starts a run. Instrumented code calls `read` before each load and `write` before each store.
//   3. A read that uncertain contents answer in several ways is a choice: the first answer not yet
//      tried after the same choices before. What a store has overwritten is certain.
//   4. `end` undoes what the run changed. `begin` again, until no choice is left.
#pragma once

#include <crash/cut/medium.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace holdfast::crash {

/// How far above a program's own addresses of a pool the medium is mapped once more, where a pool does that.
inline constexpr std::uint64_t medium_distance = std::uint64_t{1} << 40;

/// The choices of one run.
using choices = std::vector<std::uint32_t>;

/// A read that uncertain contents answer in several ways, or the file's size or name after the cut.
struct question {
    enum class about : std::uint8_t { contents, file_bytes, file_name };
    about kind = about::contents;
    std::uint32_t answers = 0;                 ///< how many there are
    const unit* of = nullptr;                  ///< whose contents
    std::uint64_t offset = 0;                  ///< what is read, in bytes of the granule: from here
    std::uint64_t end = 0;                     ///< to before here
    std::span<const std::uint32_t> left = {};  ///< versions of the unit that are possible still
    std::span<const std::uint32_t> answer_of = {};  ///< for each of these, which answer it gives
};

/// Decides what uncertain words were.
class chooser {
public:
    virtual ~chooser() = default;
    virtual std::uint32_t choose(const question& asked) = 0;
};

/// Hears of a store of instrumented code to the image right before it.
class store_listener {
public:
    virtual void before_store(const void* at, std::size_t size) = 0;

protected:
    ~store_listener() = default;
};
/// Who hears of those of a run; nullptr: nobody.
extern store_listener* instrumented_stores;


class lazy_memory {
public:
    /// `memory` is where the image lies, `seen_at` where the program's pointers expect it: the same, or a
    /// mapping of the file that `memory` maps too. One thread.
    explicit lazy_memory(std::span<std::byte> memory, std::byte* seen_at = nullptr);

    void settle(const medium& after_cut);
    /// Starts a run that makes these choices, and from there on the first of each.
    void begin(choices made);
    /// Starts a run whose choices are drawn.
    void begin(std::mt19937_64& random);
    /// Starts a run whose choices somebody else makes.
    void begin(chooser& decides);
    void end();
    /// Out of a run: the image again, where calls that no run sees (another size of the file) changed it.
    void put_back();
    /// In a run: the bits of the word at this offset that are set in `bits` are the other way round.
    void damage(std::uint64_t offset, std::uint64_t bits);

    void read(const void* at, std::size_t size) {
        const std::uint64_t offset = offset_of(at);
        if (offset < memory_.size()) [[unlikely]]
            read_inside(offset, size);
    }
    void write(const void* at, std::size_t size) {
        const std::uint64_t offset = offset_of(at);
        if (offset >= memory_.size()) [[likely]]
            return;
        write_inside(offset, size);
        if (instrumented_stores != nullptr) instrumented_stores->before_store(at, size);
    }
    /// The same for what is read from the file or written to it.
    void read_file(std::uint64_t offset, std::size_t size) { read_inside(offset, size); }
    void write_file(std::uint64_t offset, std::size_t size) { write_inside(offset, size); }
    /// In a run: the program gave the file this size.
    void resize_file(std::uint64_t size) noexcept { file_bytes_ = size; }
    /// Whether the program sees a copy of its own, which has to take shape with the image.
    void seen_in_copy(bool copied) noexcept { seen_in_copy_ = copied; }
    bool is_seen_at(const void* at) const noexcept { return at == seen_at_; }

    std::span<const std::byte> bytes() const noexcept { return memory_; }
    /// In a run: the file's size, and whether it has a name.
    std::uint64_t file_bytes() const noexcept { return file_bytes_; }
    bool is_named() const noexcept { return is_named_; }

    const choices& made() const noexcept { return made_; }
    /// The choices of the next run in depth-first order; empty when every one was made. Requires:
    /// the last run was begun with `choices`.
    bool next(choices& following) const;
    /// In a run: the image as it was before the run changed it, words that nobody told apart as the
    /// oldest of what they may be; as a trace in which nothing has happened yet.
    trace image() const;
    /// In a run: a hash of the granules that it changed, as they are now.
    std::uint64_t touched_hash() const noexcept;
    /// Tells images apart: the certain words, and what the uncertain ones were found to be.
    std::uint64_t image_hash() const noexcept;

private:
    enum granule_flag : std::uint8_t { uncertain = 1, touched = 2 };
    /// A unit in a run.
    struct state {
        const unit* of = nullptr;
        std::vector<std::uint32_t> left;         ///< versions that agree with what was read
        std::vector<std::uint64_t> overwritten;  ///< bits of each word that a store of the run has covered
    };

    /// By either mapping.
    std::uint64_t offset_of(const void* at) const noexcept {
        const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - seen_at_);
        return offset < medium_distance ? offset : offset - medium_distance;
    }
    std::uint64_t granule_bytes() const noexcept { return std::uint64_t{1} << granule_shift_; }
    unsigned granule_words() const noexcept { return 1u << (granule_shift_ - 3); }
    void read_inside(std::uint64_t offset, std::size_t size);
    void write_inside(std::uint64_t offset, std::size_t size);
    void touch(std::uint64_t granule);
    void resolve(state& unit_state, std::uint64_t offset, std::size_t size);
    void put(const state& unit_state);
    void start(std::mt19937_64* random, chooser* decides);
    void choose_file();
    std::uint32_t choose(const question& asked);
    std::uint32_t draw(std::uint32_t options);
    void set_granule(unsigned words);

    std::span<std::byte> memory_;
    std::byte* seen_at_;
    bool seen_in_copy_ = false;
    unsigned granule_shift_ = 6;
    std::vector<std::uint64_t> certain_;
    std::vector<std::uint8_t> flags_;             ///< by granule
    std::vector<unit> units_;                     ///< by granule
    std::vector<std::uint32_t> first_of_granule_; ///< by granule: its first unit
    std::vector<state> states_;
    std::vector<std::uint64_t> touched_;          ///< granules to put back
    std::vector<std::uint64_t> sizes_;
    bool may_lack_name_ = false;
    bool may_have_name_ = true;
    std::uint64_t file_bytes_ = 0;
    bool is_named_ = true;
    choices wanted_;
    choices made_;
    std::vector<std::uint32_t> options_;          ///< of each choice made
    std::mt19937_64* random_ = nullptr;
    chooser* chooser_ = nullptr;
    /// How a run draws: each choice for itself, or all but one alike, or all alike up to one and from there on.
    enum class drawing : std::uint8_t { each, newest_but_one, oldest_but_one, newest_then_oldest, oldest_then_newest };
    drawing drawing_ = drawing::each;
    std::uint64_t turn_ = 0;  ///< that one
    std::uint64_t hash_ = 0;
};

/// Where instrumented code reports to while a run is on; nullptr otherwise.
extern lazy_memory* instrumented_memory;

}  // namespace holdfast::crash
