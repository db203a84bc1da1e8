/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Chunks of a region of persistent memory: each has a key, an owner and a mode, and is as large as a power of two.
 *
 * Which parts of the region are chunks is a binary tree in an array of 8-byte words on the media: node 1 is the whole
 * region, nodes 2i and 2i + 1 are the halves of node i. A word says that its node is free, a chunk, split into its
 * halves, or reserved; below a node that is not split nothing is a chunk. Every change of what the tree says is one
 * aligned 8-byte store, made durable before the next: after a cut at any instruction the tree is valid, and a chunk
 * is there or not.
 *
 * What stands on the media, from the region's beginning, all numbers little-endian:
 *   struct hf_chunks_header    in the first line
 *   the tree                   from byte 4096: 2 * leaves words, the first unused
 *   struct hf_chunk_record     one for each word, in lines of their own, from the next line on
 * These bytes are reserved in the tree, and so is what is behind the region's end: leaves is a power of two.
 *
 * The file compiles in the kernel and in user space, where tests cut it after each store.
 */
#pragma once

#include <linux/types.h>

#ifndef __KERNEL__
#include <stdbool.h>
#endif

#define HF_CHUNKS_VERSION 1
#define HF_CHUNKS_TREE_OFFSET 4096
#define HF_LEAF_BYTES_MIN 4096
#define HF_MODE_BITS 0777u

#define HF_MAY_READ 4
#define HF_MAY_WRITE 2

struct hf_chunks_header {
	__u64 magic;
	__u64 version;
	__u64 region_bytes;
	__u64 leaf_bytes;
	__u64 leaves;
	__u64 check; /* of what is above */
	__u64 unused[2];
};

/* Of the chunk at one node; means nothing while the node is no chunk. */
struct hf_chunk_record {
	__u64 key;
	__u64 bytes; /* that were asked for */
	__u64 owner; /* group << 32 | user */
	__u64 mode;
	__u64 check; /* of what is above and of the node's number */
	__u64 unused[3];
};

/*
 * How the region is stored to. store: one aligned word, by one instruction; durable after persist. persist: returns
 * when these bytes are durable. clear: bytes of the region from an offset on are zero, durably; or a negative error,
 * and they are anything.
 */
struct hf_chunks_media {
	void (*store)(void *context, __u64 *at, __u64 value);
	void (*persist)(void *context, const void *begin, __u64 bytes);
	int (*clear)(void *context, __u64 offset, __u64 bytes);
	void *context;
};

/* An open region. The caller fills in base (mapped, 4096-aligned), bytes and media. */
struct hf_chunks {
	void *base;
	__u64 bytes;
	struct hf_chunks_media media;
	/* By format and open. */
	__u64 leaf_bytes;
	__u64 leaves;
	__u64 *nodes;
	struct hf_chunk_record *records;
};

struct hf_chunk {
	__u64 key;
	__u64 offset; /* in the region */
	__u64 bytes; /* that it has */
	__u64 asked; /* that were asked for */
	__u32 user;
	__u32 group;
	__u32 mode;
};

struct hf_chunk_request {
	__u64 key; /* not 0 */
	__u64 bytes; /* not 0 */
	__u32 user;
	__u32 group;
	__u32 mode;
};

/* Who wants to use a chunk. */
struct hf_chunk_user {
	__u32 user;
	bool in_group; /* of the chunk */
	bool overrides; /* permissions do not bind it */
};

/* Where something is wrong: filled in with -EUCLEAN and -ENODATA. */
struct hf_chunks_problem {
	const char *what;
	__u64 offset; /* in the region */
	__u64 expected;
	__u64 found;
};

/*
 * No function takes a lock: the caller lets one run at a time. None allocates memory or recurses.
 * All return 0 or a negative errno.
 */

/*
 * Makes an empty tree in the region, whatever is there. What holds if the machine stops inside: there is no tree.
 * -EINVAL: leaf_bytes is no power of two of at least 4096, or the region has no room for a leaf besides the tree.
 */
int hf_chunks_format(struct hf_chunks *chunks, __u64 leaf_bytes);

/*
 * Checks header, tree and records, and joins halves that a cut left apart; nothing else is changed. What holds if the
 * machine stops inside: every chunk is as it was.
 * -ENODATA: there is no tree; -EUCLEAN: there is one, and it is damaged.
 */
int hf_chunks_open(struct hf_chunks *chunks, struct hf_chunks_problem *problem);

/* The same look at an open region, and that no key is there twice. Changes nothing. -EUCLEAN. */
int hf_chunks_check(const struct hf_chunks *chunks, struct hf_chunks_problem *problem);

/*
 * Makes a chunk, all zero, of the smallest size that holds what is asked for. What holds if the machine stops inside:
 * the chunk is there, whole, or not.
 * -EINVAL: key, bytes or mode; -EEXIST: the key is there; -ENOSPC; what clear returns, and then nothing has changed.
 */
int hf_chunks_make(struct hf_chunks *chunks, const struct hf_chunk_request *request, struct hf_chunk *made);

/* -ENOENT. */
int hf_chunks_find(const struct hf_chunks *chunks, __u64 key, struct hf_chunk *found);

/*
 * Frees it. The caller has made sure that nobody uses it. What holds if the machine stops inside: the chunk is there or
 * not, and no other one is touched. -ENOENT.
 */
int hf_chunks_free(struct hf_chunks *chunks, __u64 key);

/* The first chunk that begins at this offset or behind it. -ENOENT: there is none. */
int hf_chunks_next(const struct hf_chunks *chunks, __u64 offset, struct hf_chunk *found);

/* As for files: the owner's bits for the owner, else the group's for its members, else the others'. */
bool hf_chunk_permits(const struct hf_chunk *chunk, const struct hf_chunk_user *user, __u32 wanted);
