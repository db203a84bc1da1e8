// Whether AddressSanitizer or ThreadSanitizer is in this program: they have pthread_create for themselves, and begin
// threads with signals blocked, under a lock.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HOLDFAST_TEST_SANITIZES_THREADS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HOLDFAST_TEST_SANITIZES_THREADS 1
#endif
#endif
