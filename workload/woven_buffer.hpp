// Figure 2's bounded buffer, woven: how sources that no weaver sees reach it. C++17.
#pragma once

#include <stddef.h>

namespace holdfast {
namespace workload {

/// Each works on the woven object that lies in `line`, 64 bytes aligned to 64.
void woven_buffer_construct(void* line);
void woven_buffer_reset(void* line);             ///< empties it; one transaction
void woven_buffer_add(void* line, char byte);    ///< one transaction, also where the buffer is full
char woven_buffer_get(void* line);               ///< one transaction; 0 where it is empty
void woven_buffer_fill(void* line, const char* from, size_t count);  ///< adds them in one transaction
void woven_buffer_drain(void* line, char* to, size_t count);         ///< gets them in one transaction

}  // namespace workload
}  // namespace holdfast
