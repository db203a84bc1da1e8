// Blocks of isolated_entry_test.cpp, compiled with -fgnu-tm, and what they call.
#pragma once

#include <atomic>
#include <functional>
#include <string>

namespace holdfast::itm {

void set(long* home, long value);
long read_in_block(const long* home);
long add_in_block(long* home, long more);
bool add_and_cancel(long* home);

/// Adds one to the last of 64 words, takes one from some word and gives it to another; calls `pause` in between.
void move_some(long* words, int round, void (*pause)());
/// Adds one to the first and takes one from the second of two words.
void move_one(long* words, void (*pause)());
/// Now and then gives the processor away.
void let_others_run();

/// Reads words[0]; if `wants`, calls `change`, which stores to it in another thread; reads words[8], and counts.
void read_change_read(long* words, const std::function<void()>& change, std::atomic<bool>& wants, int& behind);
/// The same, with a variable of the caller changed by plain stores.
void add_to_own_and_read(long* own, long* words, const std::function<void()>& change, std::atomic<bool>& wants);
/// The same, with undo actions.
void tell_and_read(long* words, const std::function<void()>& change, std::atomic<bool>& wants);
inline std::string undone;
/// Adds one to a word, with an action for the commit, which adds one to `told`, and one for the undoing.
void add_and_tell(long* home);
inline int told = 0;

/// Made and deleted in blocks.
struct counted_object {
    long value;
    char others_are_not_of_this_size[5000];
};
inline std::atomic<long> balance_of_news = 0;
counted_object* make_counted(long value);
void delete_counted(counted_object* object);

}  // namespace holdfast::itm
