/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What programs ask of /dev/holdfast, whose region of persistent memory is divided into chunks.
 *
 * A program opens the device, makes a chunk under a key or finds one, and maps it: offset 0 is where the chunk begins,
 * and MAP_SYNC is accepted. The open file uses that one chunk until its last descriptor is closed and its last mapping
 * is gone, however the process ends; then the chunk's lines are written back.
 *
 * Every call fails with ENODEV when the region has been taken away, ENODATA when it is not formatted, EINVAL when a
 * reserved field is not 0, and EFAULT. Unknown calls: ENOTTY.
 */
#pragma once

#include <linux/ioctl.h>
#include <linux/types.h>

struct holdfast_chunk {
	__u64 key; /* not 0 */
	__u64 bytes; /* asked for; found: that it has */
	__u64 offset; /* found: in the region */
	__u32 mode; /* permission bits as of files; the maker owns it */
	__u32 user; /* found */
	__u32 group; /* found */
	__u32 reserved;
};

struct holdfast_format {
	__u64 leaf_bytes; /* of the smallest chunk: a power of two, at least a page */
	__u64 reserved;
};

/* Makes an empty region: all chunks are gone. EPERM (no CAP_SYS_ADMIN), EBUSY (a chunk is in use), EINVAL. */
#define HOLDFAST_FORMAT _IOW('H', 1, struct holdfast_format)
/* Makes a chunk, all zero, and uses it. EINVAL (key, bytes, mode), EEXIST, ENOSPC, EBUSY (the file uses one). */
#define HOLDFAST_MAKE _IOWR('H', 2, struct holdfast_chunk)
/* Uses the chunk of the key, for what the file was opened for. ENOENT, EACCES, EBUSY (the file uses another one). */
#define HOLDFAST_USE _IOWR('H', 3, struct holdfast_chunk)
/* Frees the chunk of the key. ENOENT, EPERM (not the owner's), EBUSY (in use). */
#define HOLDFAST_FREE _IOW('H', 4, struct holdfast_chunk)
/* The first chunk at the given offset or behind it. ENOENT: there is none. */
#define HOLDFAST_NEXT _IOWR('H', 5, struct holdfast_chunk)
