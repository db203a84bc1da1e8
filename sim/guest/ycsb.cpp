// YCSB on a table with an index: half of the operations read a record, half update a field of one. As WHISPER's ycsb,
// which runs it on N-store; there the index is a B+ tree, and transactions of N-store log records rather than words.
#include <sim/guest/part_program.hpp>
#include <workload/hash.hpp>

namespace {

using namespace holdfast::guest;

struct ycsb {
    static constexpr const char* name = "ycsb";
    static constexpr std::uint64_t bytes_per_operation = 0;
    static constexpr std::uint64_t fields = 10;
    static constexpr std::uint64_t update_percent = 50;

    struct record {
        std::uint64_t key;
        std::uint64_t version;  ///< how often it was updated
        std::int64_t values[fields];
    };

    struct root {
        holdfast::workload::hash_root index;
    };

    template <class Element, class Access>
    class on {
    public:
        static constexpr std::uint64_t entry_bytes = sizeof(record) + 32 + 8 + fields * Element::bytes;

        on(const Access& memory, root* of, const part_size& part) noexcept
            : memory_(memory), index_(memory, &of->index), part_(part) {}

        std::uint64_t keys() const noexcept { return part_.bytes / entry_bytes + 1; }

        void fill() const noexcept {
            index_.create(keys());
            for (std::uint64_t key = 0; key < keys(); ++key) {
                auto* const made = static_cast<record*>(memory_.allocate(sizeof(record)));
                memory_.store(&made->key, key);
                memory_.store(&made->version, 0);
                for (std::uint64_t i = 0; i < fields; ++i) {
                    memory_.store(&made->values[i], Element::make(memory_, seed_of(key, i, 0)));
                }
                index_.insert(holdfast::workload::scattered_key(key), reinterpret_cast<std::int64_t>(made));
            }
        }

        template <class Numbers>
        void operate(Numbers& numbers) noexcept {
            const std::uint64_t key = numbers.below(keys());
            record* const found = find(key);
            if (found == nullptr) return;
            if (is_update(numbers)) return update(found, numbers);
            // The sum is what a client would be sent.
            for (const std::int64_t& each : found->values) read_ += static_cast<std::uint64_t>(memory_.load(&each));
        }

        const char* problem(std::uint64_t& sum) noexcept {
            // When each field was updated last, and each record how often.
            std::uint64_t* const versions = words_for_check(keys() * (fields + 1));
            auto numbers = part_.drawing(keys());
            for (std::uint64_t i = 0; i < part_.operations; ++i) {
                const std::uint64_t key = numbers.below(keys());
                if (!is_update(numbers)) continue;
                std::uint64_t* const of_record = versions + key * (fields + 1);
                of_record[1 + field_of(numbers)] = ++of_record[0];
            }
            if (!index_.check().ok()) return index_.check().problem;
            for (std::uint64_t key = 0; key < keys(); ++key) {
                const record* const found = find(key);
                const std::uint64_t* const expected = versions + key * (fields + 1);
                if (found == nullptr) return "a record is missing";
                if (found->key != key || found->version != expected[0]) return "a record is of another version";
                for (std::uint64_t i = 0; i < fields; ++i) {
                    const std::uint64_t content = Element::content(found->values[i]);
                    if (content != Element::expected(seed_of(key, i, expected[1 + i])))
                        return "a field has another value";
                    sum += mixed(content, key * fields + i);
                }
            }
            return nullptr;
        }

    private:
        static std::int64_t seed_of(std::uint64_t key, std::uint64_t field, std::uint64_t version) noexcept {
            return static_cast<std::int64_t>(key * fields + field + (version << 40));
        }
        template <class Numbers>
        static bool is_update(Numbers& numbers) noexcept {
            return holdfast::workload::scaled(numbers.next(), 100) < update_percent;
        }
        template <class Numbers>
        static std::uint64_t field_of(Numbers& numbers) noexcept {
            return holdfast::workload::scaled(numbers.next(), fields);
        }

        record* find(std::uint64_t key) const noexcept {
            std::int64_t place = 0;
            if (!index_.get(holdfast::workload::scattered_key(key), place)) return nullptr;
            return reinterpret_cast<record*>(place);
        }

        template <class Numbers>
        void update(record* found, Numbers& numbers) const noexcept {
            const std::uint64_t field = field_of(numbers), version = memory_.load(&found->version) + 1;
            std::int64_t* const value = &found->values[field];
            Element::drop(memory_, memory_.load(value));
            memory_.store(value, Element::make(memory_, seed_of(memory_.load(&found->key), field, version)));
            memory_.store(&found->version, version);
        }

        Access memory_;
        holdfast::workload::hash_table<Access> index_;
        part_size part_;
        std::uint64_t read_ = 0;
    };
};

}  // namespace

int main(int count, char** arguments) { return run_part_program<ycsb>(count, arguments); }
