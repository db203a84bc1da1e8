// Woven objects as probe_test.cpp reaches them.
#pragma once

namespace probed {

void construct(void* line);
void set(void* line, int to);
/// A transaction that sets `a`, and before it returns writes through a pointer that was got before it began.
void set_and_write_past_it(void* line, int to);
/// The same, with a pointer that it got inside.
void set_and_write_inside(void* line, int to);
int get(const void* line);
/// A const function that has a transaction on the same object inside, and what it then reads.
int get_after_a_change(void* line, int to);

bool is_woven_to_lines();
bool fits_a_line_array();

}  // namespace probed
