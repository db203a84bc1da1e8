/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The condition of a planted fault. Only the library of the faults' test and the module of the rig's controls have
 * them: everywhere else the condition is 0, and nothing of it is compiled.
 */
#pragma once

#ifdef HF_SAVE_FAULTS
#define FAULT_NAME(name) hf_fault_##name,
enum hf_fault {
	hf_no_fault,
#include "save_faults.def"
	hf_faults_end
};

extern enum hf_fault hf_fault_planted;
#undef FAULT_NAME
#define FAULT(name) (hf_fault_planted == hf_fault_##name)
#else
#define FAULT(name) 0
#endif
