// What the tests of dnv do in blocks; the blocks themselves are compiled by holdfast_target_dnv.
#pragma once

#include <holdfast/dnv/dnv.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace holdfast::dnv::test {

/// A list as in the paper's Figure 1, whose nodes have a payload of any size. All of it is in the pool.
void push_front(long id, std::size_t payload_bytes);
/// -1: the list is empty.
long pop_front();
/// Pushes, and pops something else, in one block.
void rotate();
struct list_summary {
    long count;       ///< by following the links
    long said;        ///< by the counter
    long sum_of_ids;
    long sum_said;
    bool payloads_right;
};
list_summary summary();
/// The address of the first node's id; nullptr: there is none.
long* first_node();

long read_count();
const long* address_of_count();
/// A touch outside of blocks.
void touch_count_plainly();
void touch_node_plainly();

/// What a block that ends in another way leaves: nothing.
void push_and_cancel();
/// A nested block that frees the first node and pushes two is cancelled; the outer one pushes one.
void push_one_after_cancelled_block();
/// Pushes in an irrevocable block: it calls what only such blocks may.
void push_irrevocably(long id, void (*call)());
/// An exception leaves the block, which commits.
void push_and_throw();
/// Stores `count` words to one large block, in one transaction; the same, failing as a value.
void fill_words(std::uint64_t* words, std::size_t count, std::uint64_t value);
result<void> try_to_fill_words(std::uint64_t* words, std::size_t count, std::uint64_t value);
std::uint64_t sum_of_words(const std::uint64_t* words, std::size_t count);
result<void> try_to_sum_words(const std::uint64_t* words, std::size_t count, std::uint64_t& sum);
/// Allocates in a block, as much as there is; the blocks are linked, and freed by the other one.
long allocate_all(std::size_t bytes);
/// One block, which leaks. out_of_space: there is none.
result<void> try_to_allocate(std::size_t bytes);
void free_all();
/// `count` blocks in one block of code, linked as those of allocate_all; how many there were.
long allocate_together(std::size_t bytes, long count);
/// The first byte in one half of a word, a flipped bit, the other half; the word that is read at last.
std::uint64_t store_around_a_flip(void (*flip)(void* block));
/// Fills a block without codes, and then calls, in one block; the same and cancels.
std::uint64_t* fill_unprotected(std::size_t words, std::uint64_t value, void (*inside)(void* block));
void fill_unprotected_and_cancel(std::size_t words);
/// Makes blocks of both kinds in one, stores to them and frees them again, in an order that depends on `number`.
/// Returns whether all read what was stored.
bool mix_kinds(unsigned number);
/// Adds one to each of a pair, which must be equal; whether they were.
bool step_pair(std::uint64_t* pair);
/// push_front, with a call in the middle of the block.
void push_front_and_call(long id, std::size_t payload_bytes, void (*what)(void*), void* with);
/// As a handler of damage may: what another block says.
std::uint64_t read_in_block(const std::uint64_t* at);
void add_one(std::uint64_t* at);
/// One byte, and one of four, in the middle of words.
void store_parts(unsigned char* at);

/// An object with a constructor, in a static variable: the number that its constructor was run with, and how often it
/// was touched.
struct object_state {
    long made_as;
    long touched;
};
object_state touch_object();
/// Makes it, and cancels.
void touch_object_and_cancel();

/// Adds one to each word of two arrays in turns, of which one is in ordinary memory, and to single bytes of a last word
/// of each; looks at what it has stored, and calls `inside`. Whether all was as it had stored it.
struct two_arrays {
    std::uint64_t* ordinary;
    std::uint64_t* kept;
    std::size_t words;  ///< but for the last one
};
bool add_to_both(const two_arrays& of, void (*inside)() = nullptr);
/// The same, behind an allocation that it gives back.
bool add_to_both_behind_a_new_block(const two_arrays& of, void (*inside)());
/// The same, ending in other ways: cancelled; failing as a value, where it fails; with the first half in a block of its
/// own that is cancelled; becoming irrevocable in the middle.
void add_to_both_and_cancel(const two_arrays& of);
result<void> try_to_add_to_both(const two_arrays& of);
void add_to_both_behind_cancelled_block(const two_arrays& of);
void add_to_both_irrevocably(const two_arrays& of, void (*inside)());
/// The same, behind which it copies `from` over the words of the pool, then moves those by one word to the right, and
/// clears the first.
bool add_to_both_and_copy(const two_arrays& of, const std::uint64_t* from, bool cancels);
/// The same, behind which it allocates two blocks of the pool, and gives back `kept` and the first of them. The second
/// one, whose ends are the sums of `kept`'s ends and 1, becomes `kept`.
bool add_to_both_and_allocate(const two_arrays& of, std::size_t words, std::uint64_t*& kept, bool cancels);

/// Whether both arrays have the same at both ends.
bool are_equal_in_block(const two_arrays& both);

/// Moves one between two counters of 64 that are in the pool.
void make_counters();
void transfer(unsigned from, unsigned to);
std::uint64_t sum_of_counters();

}  // namespace holdfast::dnv::test
