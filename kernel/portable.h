/* SPDX-License-Identifier: GPL-2.0 */
/* What the files that compile in the kernel and in user space take from either. */
#pragma once

#include <linux/errno.h>

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/stddef.h>
#else
#include <assert.h>
#include <stddef.h>

#define READ_ONCE(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)
#endif
