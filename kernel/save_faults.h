/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults of saves that the test plants, each of which it must find. Only the library of that test has them: everywhere
 * else the condition is 0, and nothing of it is compiled.
 */
#pragma once

#ifdef HF_SAVE_FAULTS
#define HF_FAULTS(X) \
	X(claim_not_exclusive) X(claim_kept) X(others_not_stopped) X(sealed_though_one_runs) X(last_piece_not_copied) \
	X(second_log_not_saved) X(session_of_before) X(sealed_before_copy) X(sealed_before_flush) X(not_flushed) \
	X(no_fence_before_seal) X(seal_not_durable) X(no_resumed_mark) X(resumed_mark_not_durable) X(released_before_mark) \
	X(ended_before_copy) X(ended_not_written_back) X(resumed_counts) X(number_not_compared) \
	X(unsealed_left_open) X(opened_over_a_save) X(void_not_durable) X(header_not_checked) X(sum_not_compared) \
	X(length_not_checked) X(session_not_compared)
#define HF_FAULT_NAME(name) hf_fault_##name,
enum hf_fault { hf_no_fault, HF_FAULTS(HF_FAULT_NAME) hf_faults_end };
extern enum hf_fault hf_fault_planted;
#define FAULT(name) (hf_fault_planted == hf_fault_##name)
#else
#define FAULT(name) 0
#endif
