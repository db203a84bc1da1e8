// A key-value store that takes updates in batches, as WHISPER's echo: a client appends pairs to its own persistent log;
// when a batch is there, the master moves all of it into the store, in one transaction, as new versions. In echo client
// and master are threads with a queue between them; here a thread is both in turn.
#include <sim/guest/part_program.hpp>
#include <workload/hash.hpp>

namespace {

using namespace holdfast::guest;

struct echo {
    static constexpr const char* name = "echo";
    static constexpr std::uint64_t bytes_per_operation = 0;
    static constexpr std::uint64_t batch = 8, versions = 4;

    /// The newest versions of a key, in turn.
    struct entry {
        std::uint64_t count;
        std::int64_t values[versions];
    };
    struct pending {
        std::uint64_t key;
        std::int64_t value;
    };

    struct root {
        holdfast::workload::hash_root store;
        std::uint64_t in_log;
        std::uint64_t moved;  ///< pairs, from the beginning
        pending log[batch];
    };

    template <class Element, class Access>
    class on {
    public:
        static constexpr std::uint64_t entry_bytes = 48 + 32 + 8 + versions * Element::bytes;

        on(const Access& memory, root* of, const part_size& part) noexcept
            : memory_(memory), root_(of), store_(memory, &of->store), part_(part) {}

        std::uint64_t keys() const noexcept { return part_.bytes / entry_bytes + 1; }

        void fill() noexcept {
            store_.create(keys());
            for (std::uint64_t key = 0; key < keys(); ++key) {
                auto* const made = static_cast<entry*>(memory_.allocate(sizeof(entry)));
                memory_.store(&made->count, versions);
                for (std::uint64_t i = 0; i < versions; ++i) {
                    memory_.store(&made->values[i], Element::make(memory_, first_seed(key, i)));
                }
                store_.insert(holdfast::workload::scattered_key(key), reinterpret_cast<std::int64_t>(made));
            }
        }

        template <class Numbers>
        void operate(Numbers& numbers) noexcept {
            const std::uint64_t in_log = memory_.load(&root_->in_log), key = numbers.below(keys());
            const std::uint64_t number = memory_.load(&root_->moved) + in_log;
            memory_.store(&root_->log[in_log].key, key);
            memory_.store(&root_->log[in_log].value, Element::make(memory_, seed_of(number)));
            memory_.store(&root_->in_log, in_log + 1);
            if (in_log + 1 == batch) move();
        }

        const char* problem(std::uint64_t& sum) noexcept {
            const std::uint64_t in_log = part_.operations % batch;
            if (root_->in_log != in_log || root_->moved != part_.operations - in_log) return "pairs were lost";
            // Of each key how many versions, and the numbers of the newest.
            std::uint64_t* const expected = words_for_check(keys() * (1 + versions));
            auto numbers = part_.drawing(keys());
            for (std::uint64_t i = 0; i < part_.operations; ++i) {
                const std::uint64_t key = numbers.below(keys());
                if (i >= root_->moved) {
                    const pending& waiting = root_->log[i - root_->moved];
                    if (waiting.key != key || Element::content(waiting.value) != Element::expected(seed_of(i)))
                        return "the log has another pair";
                    continue;
                }
                std::uint64_t* const of_key = expected + key * (1 + versions);
                of_key[1 + of_key[0]++ % versions] = i;
            }
            if (!store_.check().ok()) return store_.check().problem;
            for (std::uint64_t key = 0; key < keys(); ++key) {
                if (const char* const wrong = problem_of(key, expected + key * (1 + versions), sum)) return wrong;
            }
            return nullptr;
        }

    private:
        static std::int64_t first_seed(std::uint64_t key, std::uint64_t version) noexcept {
            return -static_cast<std::int64_t>(key * versions + version + 1);
        }
        static std::int64_t seed_of(std::uint64_t number) noexcept { return static_cast<std::int64_t>(number << 8); }

        entry* find(std::uint64_t key) const noexcept {
            std::int64_t place = 0;
            if (!store_.get(holdfast::workload::scattered_key(key), place)) return nullptr;
            return reinterpret_cast<entry*>(place);
        }

        /// The master's part. The oldest version of each key gives way.
        void move() const noexcept {
            for (std::uint64_t i = 0; i < batch; ++i) {
                entry* const of_key = find(memory_.load(&root_->log[i].key));
                const std::uint64_t count = memory_.load(&of_key->count);
                std::int64_t* const oldest = &of_key->values[count % versions];
                Element::drop(memory_, memory_.load(oldest));
                memory_.store(oldest, memory_.load(&root_->log[i].value));
                memory_.store(&of_key->count, count + 1);
            }
            memory_.store(&root_->in_log, 0);
            memory_.store(&root_->moved, memory_.load(&root_->moved) + batch);
        }

        const char* problem_of(std::uint64_t key, const std::uint64_t* expected, std::uint64_t& sum) const noexcept {
            const entry* const found = find(key);
            if (found == nullptr) return "a key is missing";
            if (found->count != versions + expected[0]) return "a key has another number of versions";
            for (std::uint64_t i = 0; i < versions; ++i) {
                const bool is_new = expected[0] > i;
                const std::uint64_t content = Element::content(found->values[i]);
                if (content != Element::expected(is_new ? seed_of(expected[1 + i]) : first_seed(key, i)))
                    return "a version has another value";
                sum += mixed(content, key * versions + i);
            }
            return nullptr;
        }

        Access memory_;
        root* root_;
        holdfast::workload::hash_table<Access> store_;
        part_size part_;
    };
};

}  // namespace

int main(int count, char** arguments) { return run_part_program<echo>(count, arguments); }
