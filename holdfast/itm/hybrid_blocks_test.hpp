// Blocks of hybrid_runtime_test.cpp, compiled with -fgnu-tm. `inside` is called in the middle of each, uninstrumented.
#pragma once

namespace holdfast::itm {

using step = void (*)();

void add_both(long* one, long* other, step inside);
bool add_and_take_back(long* word);
void add_around_a_cancelled_block(long* outer, long* inner);
long add_in_nested_blocks(long* word);
long* make_long(long value);
void replace_long(long** place, long value);
void add_and_throw(long* word);
void add_and_tell(long* word, step later);
void add_relaxed(long* word, step has_no_clone);
long read_both(const long* one, const long* other);
/// Changes a variable of its own by plain stores, several times.
long count_in_own_frame(long* word, step inside);

}  // namespace holdfast::itm
