// A cache of pairs with a limit, as WHISPER's memcached on Mnemosyne: a hash table whose items are in a list by the
// time of their last use, too, of which the last one gives way. Half of the operations get a key, half set one. In
// memcached threads share items, get does not move an item that was moved within the last minute, and there are many
// more statistics; here each thread has a cache of its own, and each hit moves its item.
#include <sim/guest/part_program.hpp>

namespace {

using namespace holdfast::guest;

struct memcached {
    static constexpr const char* name = "memcached";
    static constexpr std::uint64_t bytes_per_operation = 0;
    static constexpr std::uint64_t set_percent = 50;

    struct item {
        std::uint64_t key;
        std::int64_t value;
        item* in_bucket;
        item* newer;
        item* older;
    };

    struct root {
        item** buckets;
        item* newest;
        item* oldest;
        std::uint64_t count;
        std::uint64_t hits;
        std::uint64_t sets;
    };

    template <class Element, class Access>
    class on {
    public:
        static constexpr std::uint64_t entry_bytes = 48 + 8 + Element::bytes;

        on(const Access& memory, root* of, const part_size& part) noexcept
            : memory_(memory), root_(of), part_(part), limit_(part.bytes / entry_bytes + 2) {}

        /// Half of them have room.
        std::uint64_t keys() const noexcept { return 2 * limit_; }

        void fill() noexcept {
            auto* const made = static_cast<item**>(memory_.allocate(limit_ * sizeof(item*)));
            for (std::uint64_t i = 0; i < limit_; ++i) memory_.store(made + i, nullptr);
            memory_.store(&root_->buckets, made);
            for (std::uint64_t key = 0; key < limit_; ++key) set(2 * key, 0);
            memory_.store(&root_->sets, 0);
        }

        template <class Numbers>
        void operate(Numbers& numbers) noexcept {
            const std::uint64_t key = numbers.below(keys());
            if (is_set(numbers)) return set(key, memory_.load(&root_->sets) + 1);
            item* const found = find(key);
            if (found == nullptr) return;
            memory_.store(&root_->hits, memory_.load(&root_->hits) + 1);
            read_ += static_cast<std::uint64_t>(memory_.load(&found->value));
            use(found);
        }

        const char* problem(std::uint64_t& sum) noexcept {
            model expected(keys());
            for (std::uint64_t key = 0; key < limit_; ++key) expected.set(2 * key, 0, limit_);
            auto numbers = part_.drawing(keys());
            std::uint64_t hits = 0, sets = 0;
            for (std::uint64_t i = 0; i < part_.operations; ++i) {
                const std::uint64_t key = numbers.below(keys());
                if (is_set(numbers)) expected.set(key, ++sets, limit_);
                else if (expected.get(key)) ++hits;
            }
            if (root_->hits != hits || root_->sets != sets) return "other numbers of hits or sets";
            std::uint64_t count = 0, key = expected.newest();
            const item* newer = nullptr;
            for (const item* at = root_->newest; at != nullptr; newer = at, at = at->older, key = expected.older(key)) {
                if (++count > limit_ || key == expected.keys || at->key != key || at->newer != newer)
                    return "items are in another order";
                const std::uint64_t content = Element::content(at->value);
                if (content != Element::expected(seed_of(key, expected.version(key))))
                    return "an item has another value";
                if (find(key) != at) return "an item is not in its bucket";
                sum += mixed(content, mixed(key, count));
            }
            if (root_->oldest != newer || root_->count != count || key != expected.keys) return "items are missing";
            return problem_of_buckets();
        }

    private:
        /// The same in arrays: of each key its version, and its neighbours in the order of use. Key `keys` is no key.
        struct model {
            explicit model(std::uint64_t count) noexcept : keys(count), of_(words_for_check(4 * (count + 1))) {
                at(keys)[1] = at(keys)[2] = keys;
            }
            bool get(std::uint64_t key) noexcept {
                if (at(key)[0] == 0) return false;
                take_out(key);
                put_first(key);
                return true;
            }
            void set(std::uint64_t key, std::uint64_t version, std::uint64_t limit) noexcept {
                if (!get(key)) {
                    if (count_ == limit) {
                        const std::uint64_t gone = at(keys)[1];
                        take_out(gone);
                        at(gone)[0] = 0;
                    } else {
                        ++count_;
                    }
                    put_first(key);
                }
                at(key)[0] = 1;
                at(key)[3] = version;
            }
            std::uint64_t newest() const noexcept { return at(keys)[2]; }
            std::uint64_t older(std::uint64_t key) const noexcept { return at(key)[2]; }
            std::uint64_t version(std::uint64_t key) const noexcept { return at(key)[3]; }

            const std::uint64_t keys;

        private:
            /// Whether it is there, newer and older neighbour, version.
            std::uint64_t* at(std::uint64_t key) const noexcept { return of_ + 4 * key; }
            void take_out(std::uint64_t key) noexcept {
                at(at(key)[1])[2] = at(key)[2];
                at(at(key)[2])[1] = at(key)[1];
            }
            void put_first(std::uint64_t key) noexcept {
                at(key)[1] = keys;
                at(key)[2] = at(keys)[2];
                at(at(keys)[2])[1] = key;
                at(keys)[2] = key;
            }

            std::uint64_t* of_;
            std::uint64_t count_ = 0;
        };

        static std::int64_t seed_of(std::uint64_t key, std::uint64_t version) noexcept {
            return static_cast<std::int64_t>(key + (version << 32));
        }
        template <class Numbers>
        static bool is_set(Numbers& numbers) noexcept {
            return holdfast::workload::scaled(numbers.next(), 100) < set_percent;
        }
        item** bucket_of(std::uint64_t key) const noexcept {
            std::uint64_t state = key;
            const std::uint64_t hash = holdfast::workload::splitmix(state);
            return memory_.load(&root_->buckets) + holdfast::workload::scaled(hash, limit_);
        }

        item* find(std::uint64_t key) const noexcept {
            item* at = memory_.load(bucket_of(key));
            while (at != nullptr && memory_.load(&at->key) != key) at = memory_.load(&at->in_bucket);
            return at;
        }

        /// Makes it the newest.
        void use(item* used) const noexcept {
            if (memory_.load(&root_->newest) == used) return;
            take_out(used);
            put_first(used);
        }
        void take_out(item* used) const noexcept {
            item *const newer = memory_.load(&used->newer), *const older = memory_.load(&used->older);
            memory_.store(newer == nullptr ? &root_->newest : &newer->older, older);
            memory_.store(older == nullptr ? &root_->oldest : &older->newer, newer);
        }
        void put_first(item* used) const noexcept {
            item* const newest = memory_.load(&root_->newest);
            memory_.store(&used->newer, nullptr);
            memory_.store(&used->older, newest);
            memory_.store(newest == nullptr ? &root_->oldest : &newest->newer, used);
            memory_.store(&root_->newest, used);
        }

        void set(std::uint64_t key, std::uint64_t version) const noexcept {
            memory_.store(&root_->sets, memory_.load(&root_->sets) + 1);
            item* found = find(key);
            if (found != nullptr) {
                Element::drop(memory_, memory_.load(&found->value));
                use(found);
            } else {
                found = make_item(key);
            }
            memory_.store(&found->value, Element::make(memory_, seed_of(key, version)));
        }
        item* make_item(std::uint64_t key) const noexcept {
            if (memory_.load(&root_->count) == limit_) {
                evict(memory_.load(&root_->oldest));
            } else {
                memory_.store(&root_->count, memory_.load(&root_->count) + 1);
            }
            auto* const made = static_cast<item*>(memory_.allocate(sizeof(item)));
            item** const bucket = bucket_of(key);
            memory_.store(&made->key, key);
            memory_.store(&made->in_bucket, memory_.load(bucket));
            memory_.store(bucket, made);
            put_first(made);
            return made;
        }
        void evict(item* gone) const noexcept {
            item** link = bucket_of(memory_.load(&gone->key));
            while (memory_.load(link) != gone) link = &memory_.load(link)->in_bucket;
            memory_.store(link, memory_.load(&gone->in_bucket));
            take_out(gone);
            Element::drop(memory_, memory_.load(&gone->value));
            memory_.free(gone);
        }

        const char* problem_of_buckets() const noexcept {
            std::uint64_t count = 0;
            for (std::uint64_t i = 0; i < limit_; ++i) {
                for (const item* at = root_->buckets[i]; at != nullptr; at = at->in_bucket) {
                    if (++count > root_->count) return "more items in buckets than counted, or a cycle";
                }
            }
            return count == root_->count ? nullptr : "fewer items in buckets than counted";
        }

        Access memory_;
        root* root_;
        part_size part_;
        std::uint64_t limit_;
        std::uint64_t read_ = 0;
    };
};

}  // namespace

int main(int count, char** arguments) { return run_part_program<memcached>(count, arguments); }
