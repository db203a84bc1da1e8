// Litmus tests: small programs in the notation of the literature, and every state that a cut may leave of them
// by our own medium.
//
//     x=1          store          nt x=1     store past the cache
//     wb x         write-back     fence      sfence, dsb
//     if x==1      the thread goes on only if it finds that
//     write x=1,y=1   one write to the file      sync   size 2 (sectors, from 1)   publish   dirsync
//     clflush x    rmw z          no events of their own: taken for a write-back and a store
//
// x, x' and x'' are words of one line (of one sector), y and z of others. All are 0 at first.
#pragma once

#include <crash/cut/medium.hpp>

#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::crash {

using states = std::set<std::string>;

/// Where a cut may be: anywhere, or only when all threads are done.
enum class cuts { anywhere, end };

inline std::vector<std::string> split(std::string_view text, char at) {
    std::vector<std::string> parts;
    std::istringstream from{std::string(text)};
    for (std::string part; std::getline(from, part, at);) {
        const auto first = part.find_first_not_of(' ');
        if (first != std::string::npos) parts.push_back(part.substr(first, part.find_last_not_of(' ') + 1 - first));
    }
    return parts;
}

class litmus_program {
public:
    litmus_program(const model& how, const std::vector<std::string>& threads, std::string_view observed, cuts where)
        : how_(how), observed_(split(observed, ' ')), where_(where) {
        for (const std::string& thread : threads) threads_.push_back(split(thread, ';'));
    }

    /// Every state over every interleaving, as the observed values one after another.
    states run() {
        const std::uint64_t sectors = uses("size") ? 1 : 3;
        const std::vector<std::uint64_t> nothing(3 * sector_words);
        const trace begin{nothing, {}, sectors * sector_words * 8, !uses("publish")};
        step(medium(how_, begin), std::vector<std::size_t>(threads_.size()), {});
        return found_;
    }

private:
    static constexpr std::uint64_t sector_words = 64;

    bool uses(std::string_view call) const {
        for (const auto& thread : threads_)
            for (const auto& statement : thread)
                if (statement.starts_with(call)) return true;
        return false;
    }

    static std::uint64_t place_of(const std::string& name) {
        return static_cast<std::uint64_t>(name[0] - 'x') * sector_words + (name.size() - 1);
    }

    /// All ways to go on from here. `at`: each thread's next statement; `values`: what is visible.
    void step(const medium& now, const std::vector<std::size_t>& at,
              const std::map<std::string, std::uint64_t>& values) {
        bool done = true;
        for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
            if (at[thread] >= threads_[thread].size()) continue;
            done = false;
            medium next = now;
            auto next_at = at;
            auto next_values = values;
            ++next_at[thread];
            if (!statement(next, threads_[thread][at[thread]], next_values, static_cast<std::uint8_t>(thread)))
                next_at[thread] = threads_[thread].size();
            step(next, next_at, next_values);
        }
        if (done || where_ == cuts::anywhere) collect(now);
    }

    /// False: the thread does not go on.
    bool statement(medium& to, const std::string& text, std::map<std::string, std::uint64_t>& values,
                   std::uint8_t thread) {
        const auto words = split(text, ' ');
        const auto apply = [&](event_kind kind, std::uint64_t place = 0, std::uint64_t value = 0) {
            to.apply({kind, {}, place, value, nullptr, thread});
        };
        const auto assign = [&](event_kind kind, const std::string& assignment) {
            const auto sides = split(assignment, '=');
            values[sides[0]] = std::stoull(sides[1]);
            apply(kind, place_of(sides[0]), values[sides[0]]);
        };
        if (words[0] == "if") {
            const auto sides = split(words[1], '=');
            return values[sides[0]] == std::stoull(sides[1]);
        }
        if (words[0] == "nt") {
            assign(event_kind::stream, words[1]);
        } else if (words[0] == "wb" || words[0] == "clflush") {
            apply(event_kind::write_back, place_of(words[1]) / 8, 1);
        } else if (words[0] == "rmw") {
            assign(event_kind::store, words[1] + "=1");
        } else if (words[0] == "fence") {
            apply(event_kind::fence);
        } else if (words[0] == "write") {
            for (const auto& each : split(words[1], ',')) assign(event_kind::file_word, each);
            apply(event_kind::file_write);
        } else if (words[0] == "size") {
            apply(event_kind::file_resize, 0, std::stoull(words[1]) * sector_words * 8);
        } else if (words[0] == "sync") {
            apply(event_kind::file_sync);
        } else if (words[0] == "publish") {
            apply(event_kind::file_publish);
        } else if (words[0] == "dirsync") {
            apply(event_kind::directory_sync);
        } else {
            EXPECT_NE(text.find('='), std::string::npos) << "not understood: " << text;
            assign(event_kind::store, words[0]);
        }
        return true;
    }

    /// Adds every state that a cut may leave: the units are independent of each other and of size and name.
    void collect(const medium& left) {
        EXPECT_TRUE(left.complete());
        const auto units = left.uncertain();
        std::vector<std::size_t> chosen(units.size());
        for (bool more = true; more;) {
            auto words = left.durable();
            for (std::size_t i = 0; i < units.size(); ++i) put(units[i], chosen[i], words);
            for (const std::uint64_t bytes : left.sizes())
                for (const bool named : {false, true})
                    if (named ? left.may_have_name() : left.may_lack_name())
                        found_.insert(text_of(words, bytes, named));
            more = false;
            for (std::size_t i = 0; i < units.size() && !more; ++i) {
                more = ++chosen[i] < units[i].count();
                if (!more) chosen[i] = 0;
            }
        }
    }

    void put(const unit& from, std::size_t version, std::vector<std::uint64_t>& words) const {
        std::size_t index = version * from.words();
        for (std::uint64_t word = 0; word < how_.granule_words; ++word)
            if ((from.mask >> word & 1u) != 0) words[from.granule * how_.granule_words + word] = from.versions[index++];
    }

    /// "size" and "name" may be observed, too; what lies behind the end of the file is not there: "-".
    std::string text_of(const std::vector<std::uint64_t>& words, std::uint64_t bytes, bool named) const {
        std::string text;
        for (const std::string& each : observed_) {
            if (each == "size") {
                text += std::to_string(bytes / (sector_words * 8));
            } else if (each == "name") {
                text += named ? "1" : "0";
            } else {
                const std::uint64_t place = place_of(each);
                text += how_.is_file && place * 8 >= bytes ? "-" : std::to_string(words[place]);
            }
        }
        return text;
    }

    model how_;
    std::vector<std::string> observed_;
    cuts where_;
    std::vector<std::vector<std::string>> threads_;
    states found_;
};

}  // namespace holdfast::crash
