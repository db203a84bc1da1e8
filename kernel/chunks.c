// SPDX-License-Identifier: GPL-2.0
/*
 * The tree of chunks.
 *
 * make
 *   1. The smallest free node that is large enough is found. While it is at least twice as large as needed it becomes
 *      split, by one store: its halves are free already. A cut leaves free halves, which an opening joins.
 *   2. The bytes are zeroed and the record is written, durably. The node is free: neither means anything yet.
 *   3. The node becomes a chunk, by one store.
 * free
 *   1. The node becomes free, by one store.
 *   2. As long as its buddy is free as well, their parent becomes free, by one store each.
 *
 * Each of these stores is durable before the next one is made: media that lose lines hold a prefix of them. So below a
 * node that is not split every word is what it was in the empty tree.
 */
#include "chunks.h"
#include "portable.h"

#define HF_MAGIC 0x534b4e5548434648ull

/* Far apart: few flipped bits do not make one of another. */
#define NODE_FREE 0x656572660f0f0f0full
#define NODE_SPLIT 0x74696c70333c3c33ull
#define NODE_CHUNK 0x6e75686355aa55aaull
#define NODE_RESERVED 0x76736572a5a55a5aull

static_assert(sizeof(struct hf_chunks_header) == 64, "a line");
static_assert(sizeof(struct hf_chunk_record) == 64, "a line");
static_assert(offsetof(struct hf_chunk_record, check) == 32, "on the media");

static __u64 mix(__u64 sum, __u64 word)
{
	sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
	return sum ^ (sum >> 29);
}

static __u64 check_of_header(const struct hf_chunks_header *header)
{
	__u64 sum = mix(mix(1, header->version), header->region_bytes);

	return mix(mix(sum, header->leaf_bytes), header->leaves);
}

static __u64 check_of_record(const struct hf_chunk_record *record, __u64 node)
{
	__u64 sum = mix(mix(node, record->key), record->bytes);

	return mix(mix(sum, record->owner), record->mode);
}

static __u64 word_of(const struct hf_chunks *chunks, __u64 node)
{
	return READ_ONCE(chunks->nodes[node]);
}

static void store(struct hf_chunks *chunks, __u64 *at, __u64 value)
{
	chunks->media.store(chunks->media.context, at, value);
}

static void persist(struct hf_chunks *chunks, const void *begin, __u64 bytes)
{
	chunks->media.persist(chunks->media.context, begin, bytes);
}

/* The one way in which the tree changes. */
static void set_node(struct hf_chunks *chunks, __u64 node, __u64 word)
{
	store(chunks, &chunks->nodes[node], word);
	persist(chunks, &chunks->nodes[node], sizeof(__u64));
}

static __u64 depth_of(__u64 node)
{
	return 63 - (__u64)__builtin_clzll(node);
}

static __u64 bytes_of(const struct hf_chunks *chunks, __u64 node)
{
	return (chunks->leaves >> depth_of(node)) * chunks->leaf_bytes;
}

static __u64 offset_of(const struct hf_chunks *chunks, __u64 node)
{
	return (node - (1ull << depth_of(node))) * bytes_of(chunks, node);
}

static bool is_leaf(const struct hf_chunks *chunks, __u64 node)
{
	return node >= chunks->leaves;
}

/* The node to look at after this one, in the order of addresses; 0 at the end. */
static __u64 node_behind(__u64 node)
{
	while (node & 1)
		node >>= 1;
	return node ? node + 1 : 0;
}

static __u64 node_after(const struct hf_chunks *chunks, __u64 node)
{
	return word_of(chunks, node) == NODE_SPLIT ? 2 * node : node_behind(node);
}

static bool is_power_of_two(__u64 number)
{
	return number && !(number & (number - 1));
}

static __u64 power_of_two_from(__u64 number)
{
	return number <= 1 ? 1 : 1ull << (depth_of(number - 1) + 1);
}

static __u64 records_offset(__u64 leaves)
{
	return (HF_CHUNKS_TREE_OFFSET + 2 * leaves * sizeof(__u64) + 63) & ~63ull;
}

/* That the tree and what belongs to it take at the beginning of the region. */
static __u64 tree_bytes(__u64 leaves)
{
	return records_offset(leaves) + 2 * leaves * sizeof(struct hf_chunk_record);
}

/* Its size is good, and there is room for one leaf. */
static bool fits(const struct hf_chunks *chunks, __u64 leaf_bytes, __u64 leaves)
{
	__u64 begin;

	if (leaves > 1ull << 40)
		return false;
	begin = (tree_bytes(leaves) + leaf_bytes - 1) / leaf_bytes * leaf_bytes;
	return chunks->bytes >= leaf_bytes && begin <= chunks->bytes - leaf_bytes;
}

static void place(struct hf_chunks *chunks, __u64 leaf_bytes, __u64 leaves)
{
	chunks->leaf_bytes = leaf_bytes;
	chunks->leaves = leaves;
	chunks->nodes = (__u64 *)((char *)chunks->base + HF_CHUNKS_TREE_OFFSET);
	chunks->records = (struct hf_chunk_record *)((char *)chunks->base + records_offset(leaves));
}

static __u64 word_of_empty_tree(const struct hf_chunks *chunks, __u64 node)
{
	__u64 begin = offset_of(chunks, node), end = begin + bytes_of(chunks, node);
	__u64 last = chunks->bytes / chunks->leaf_bytes * chunks->leaf_bytes;

	if (begin >= last || end <= tree_bytes(chunks->leaves))
		return NODE_RESERVED;
	if (begin >= tree_bytes(chunks->leaves) && end <= last)
		return NODE_FREE;
	return is_leaf(chunks, node) ? NODE_RESERVED : NODE_SPLIT;
}

int hf_chunks_format(struct hf_chunks *chunks, __u64 leaf_bytes)
{
	struct hf_chunks_header *header = chunks->base;
	struct hf_chunks_header made = { .version = HF_CHUNKS_VERSION, .region_bytes = chunks->bytes };
	__u64 node;

	if (!is_power_of_two(leaf_bytes) || leaf_bytes < HF_LEAF_BYTES_MIN)
		return -EINVAL;
	made.leaf_bytes = leaf_bytes;
	made.leaves = power_of_two_from(chunks->bytes / leaf_bytes);
	if (!fits(chunks, leaf_bytes, made.leaves))
		return -EINVAL;
	/* From here on there is no tree, until there is all of it. */
	store(chunks, &header->magic, 0);
	persist(chunks, header, sizeof(*header));
	place(chunks, leaf_bytes, made.leaves);
	for (node = 1; node < 2 * made.leaves; node++)
		store(chunks, &chunks->nodes[node], word_of_empty_tree(chunks, node));
	persist(chunks, chunks->nodes, 2 * made.leaves * sizeof(__u64));
	store(chunks, &header->version, made.version);
	store(chunks, &header->region_bytes, made.region_bytes);
	store(chunks, &header->leaf_bytes, made.leaf_bytes);
	store(chunks, &header->leaves, made.leaves);
	store(chunks, &header->check, check_of_header(&made));
	persist(chunks, header, sizeof(*header));
	store(chunks, &header->magic, HF_MAGIC);
	persist(chunks, header, sizeof(*header));
	return 0;
}

static int is_wrong(struct hf_chunks_problem *problem, const char *what, __u64 offset, __u64 expected, __u64 found)
{
	*problem = (struct hf_chunks_problem){ what, offset, expected, found };
	return -EUCLEAN;
}

static int check_header(const struct hf_chunks *chunks, struct hf_chunks_problem *problem)
{
	const struct hf_chunks_header *header = chunks->base;

	if (chunks->bytes < HF_CHUNKS_TREE_OFFSET || header->magic != HF_MAGIC) {
		is_wrong(problem, "there are no chunks here", 0, HF_MAGIC, header->magic);
		return -ENODATA;
	}
	if (header->check != check_of_header(header))
		return is_wrong(problem, "the header does not match its sum",
				offsetof(struct hf_chunks_header, check), check_of_header(header), header->check);
	if (header->version != HF_CHUNKS_VERSION)
		return is_wrong(problem, "the header has another version",
				offsetof(struct hf_chunks_header, version), HF_CHUNKS_VERSION, header->version);
	if (header->region_bytes != chunks->bytes)
		return is_wrong(problem, "the region has another size",
				offsetof(struct hf_chunks_header, region_bytes), chunks->bytes, header->region_bytes);
	if (!is_power_of_two(header->leaf_bytes) || header->leaf_bytes < HF_LEAF_BYTES_MIN ||
	    header->leaves != power_of_two_from(chunks->bytes / header->leaf_bytes) ||
	    !fits(chunks, header->leaf_bytes, header->leaves))
		return is_wrong(problem, "the header has a size that no region has",
				offsetof(struct hf_chunks_header, leaf_bytes), HF_LEAF_BYTES_MIN, header->leaf_bytes);
	return 0;
}

static __u64 place_of(const struct hf_chunks *chunks, const void *at)
{
	return (__u64)((const char *)at - (const char *)chunks->base);
}

static int check_record(const struct hf_chunks *chunks, __u64 node, struct hf_chunks_problem *problem)
{
	const struct hf_chunk_record *record = &chunks->records[node];
	__u64 sum = check_of_record(record, node);

	if (record->check != sum)
		return is_wrong(problem, "the record of a chunk does not match its sum",
				place_of(chunks, &record->check), sum, record->check);
	if (!record->bytes || record->bytes > bytes_of(chunks, node))
		return is_wrong(problem, "a chunk is smaller than what was asked for",
				place_of(chunks, &record->bytes), bytes_of(chunks, node), record->bytes);
	return 0;
}

static int check_node(const struct hf_chunks *chunks, __u64 node, struct hf_chunks_problem *problem)
{
	__u64 word = word_of(chunks, node), offset = place_of(chunks, &chunks->nodes[node]);
	__u64 empty = word_of_empty_tree(chunks, node);

	if (word != NODE_FREE && word != NODE_SPLIT && word != NODE_CHUNK && word != NODE_RESERVED)
		return is_wrong(problem, "a node of the tree is nothing known", offset, empty, word);
	if (word == NODE_SPLIT && is_leaf(chunks, node))
		return is_wrong(problem, "a leaf of the tree is split", offset, empty, word);
	/* What is reserved is so for ever; what is free at first may be free, a chunk or split. */
	if (empty == NODE_FREE ? word == NODE_RESERVED : word != empty)
		return is_wrong(problem, "the tree gives away what is reserved", offset, empty, word);
	if (node > 1 && word_of(chunks, node / 2) != NODE_SPLIT && word != empty)
		return is_wrong(problem, "the half of a node that is not split is not free", offset, empty, word);
	return word == NODE_CHUNK ? check_record(chunks, node, problem) : 0;
}

static int check_tree(const struct hf_chunks *chunks, struct hf_chunks_problem *problem)
{
	__u64 node;
	int failed;

	for (node = 1; node < 2 * chunks->leaves; node++) {
		failed = check_node(chunks, node, problem);
		if (failed)
			return failed;
	}
	return 0;
}

static bool has_free_halves(const struct hf_chunks *chunks, __u64 node)
{
	return word_of(chunks, node) == NODE_SPLIT && word_of(chunks, 2 * node) == NODE_FREE &&
	       word_of(chunks, 2 * node + 1) == NODE_FREE;
}

int hf_chunks_open(struct hf_chunks *chunks, struct hf_chunks_problem *problem)
{
	const struct hf_chunks_header *header = chunks->base;
	int failed = check_header(chunks, problem);
	__u64 node;

	if (failed)
		return failed;
	place(chunks, header->leaf_bytes, header->leaves);
	failed = check_tree(chunks, problem);
	if (failed)
		return failed;
	for (node = chunks->leaves - 1; node; node--)
		if (has_free_halves(chunks, node))
			set_node(chunks, node, NODE_FREE);
	return 0;
}

/* 0: there is none. */
static __u64 node_of_key(const struct hf_chunks *chunks, __u64 key)
{
	__u64 node;

	for (node = 1; node; node = node_after(chunks, node))
		if (word_of(chunks, node) == NODE_CHUNK && chunks->records[node].key == key)
			return node;
	return 0;
}

int hf_chunks_check(const struct hf_chunks *chunks, struct hf_chunks_problem *problem)
{
	int failed = check_header(chunks, problem);
	__u64 node;

	if (!failed)
		failed = check_tree(chunks, problem);
	for (node = failed ? 0 : 1; node; node = node_after(chunks, node)) {
		const struct hf_chunk_record *record = &chunks->records[node];

		if (word_of(chunks, node) == NODE_CHUNK && node_of_key(chunks, record->key) != node)
			return is_wrong(problem, "two chunks have one key", place_of(chunks, &record->key),
					record->key + 1, record->key);
	}
	return failed;
}

static void describe(const struct hf_chunks *chunks, __u64 node, struct hf_chunk *chunk)
{
	const struct hf_chunk_record *record = &chunks->records[node];

	chunk->key = record->key;
	chunk->offset = offset_of(chunks, node);
	chunk->bytes = bytes_of(chunks, node);
	chunk->asked = record->bytes;
	chunk->user = (__u32)record->owner;
	chunk->group = (__u32)(record->owner >> 32);
	chunk->mode = (__u32)record->mode;
}

/* The smallest free node of at least this size, of several the first; 0: there is none. */
static __u64 best_free_node(const struct hf_chunks *chunks, __u64 bytes)
{
	__u64 node, best = 0;

	for (node = 1; node; node = node_after(chunks, node))
		if (word_of(chunks, node) == NODE_FREE && bytes_of(chunks, node) >= bytes &&
		    (!best || bytes_of(chunks, node) < bytes_of(chunks, best)))
			best = node;
	return best;
}

static void write_record(struct hf_chunks *chunks, __u64 node, const struct hf_chunk_request *request)
{
	struct hf_chunk_record *record = &chunks->records[node];
	struct hf_chunk_record made = { .key = request->key, .bytes = request->bytes, .mode = request->mode };

	made.owner = (__u64)request->group << 32 | request->user;
	store(chunks, &record->key, made.key);
	store(chunks, &record->bytes, made.bytes);
	store(chunks, &record->owner, made.owner);
	store(chunks, &record->mode, made.mode);
	store(chunks, &record->check, check_of_record(&made, node));
	persist(chunks, record, sizeof(*record));
}

int hf_chunks_make(struct hf_chunks *chunks, const struct hf_chunk_request *request, struct hf_chunk *made)
{
	__u64 bytes, node;
	int failed;

	if (!request->key || !request->bytes || request->mode & ~HF_MODE_BITS)
		return -EINVAL;
	if (node_of_key(chunks, request->key))
		return -EEXIST;
	if (request->bytes > chunks->bytes)
		return -ENOSPC;
	bytes = power_of_two_from(request->bytes);
	if (bytes < chunks->leaf_bytes)
		bytes = chunks->leaf_bytes;
	node = best_free_node(chunks, bytes);
	if (!node)
		return -ENOSPC;
	/* The halves that the chunk is taken from begin where it does, and while they are free it can be given up. */
	failed = chunks->media.clear(chunks->media.context, offset_of(chunks, node), bytes);
	if (failed)
		return failed;
	for (; bytes_of(chunks, node) > bytes; node *= 2)
		set_node(chunks, node, NODE_SPLIT);
	write_record(chunks, node, request);
	set_node(chunks, node, NODE_CHUNK);
	describe(chunks, node, made);
	return 0;
}

int hf_chunks_find(const struct hf_chunks *chunks, __u64 key, struct hf_chunk *found)
{
	__u64 node = node_of_key(chunks, key);

	if (!node)
		return -ENOENT;
	describe(chunks, node, found);
	return 0;
}

int hf_chunks_free(struct hf_chunks *chunks, __u64 key)
{
	__u64 node = node_of_key(chunks, key);

	if (!node)
		return -ENOENT;
	set_node(chunks, node, NODE_FREE);
	while ((node >>= 1) && has_free_halves(chunks, node))
		set_node(chunks, node, NODE_FREE);
	return 0;
}

int hf_chunks_next(const struct hf_chunks *chunks, __u64 offset, struct hf_chunk *found)
{
	__u64 node = 1;

	while (node) {
		/* Nothing in it begins at the offset or behind. */
		if (offset_of(chunks, node) + bytes_of(chunks, node) <= offset) {
			node = node_behind(node);
			continue;
		}
		if (word_of(chunks, node) == NODE_CHUNK && offset_of(chunks, node) >= offset) {
			describe(chunks, node, found);
			return 0;
		}
		node = node_after(chunks, node);
	}
	return -ENOENT;
}

bool hf_chunk_permits(const struct hf_chunk *chunk, const struct hf_chunk_user *user, __u32 wanted)
{
	__u32 bits = chunk->mode & 7;

	if (user->overrides)
		return true;
	if (user->user == chunk->user)
		bits = chunk->mode >> 6 & 7;
	else if (user->in_group)
		bits = chunk->mode >> 3 & 7;
	return (bits & wanted) == wanted;
}
