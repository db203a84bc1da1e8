/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Saving ranges of volatile memory, logs, to persistent memory when the power fails, and finding them afterwards.
 *
 * Each log has an area on the media: a header and room for the bytes. A save of a power failure copies all logs and
 * counts for all of them at once, by the one word that seals it. A log whose process has ended is saved alone, by a
 * word of its area.
 *
 * What stands on the media, all numbers little-endian:
 *   struct hf_save_seal    once in a region, at HF_SAVE_SEAL_OFFSET
 *   struct hf_save_area    at the beginning of each area, a chunk; the bytes from HF_SAVE_LOG_OFFSET on
 *
 * An area is void, open (a log is registered, and its save counts if the seal says so) or saved (a save is there, until
 * it is acknowledged).
 *
 * The file compiles in the kernel and in user space, where tests cut it after each store, write-back and fence.
 * Source: DNV Memory, sections 3.1, 4.2 and 5.1. Its text flushes before the logs are saved, its table after that; here
 * everything is written back last, since the copies have to be as well.
 */
#pragma once

#include <linux/types.h>

#ifndef __KERNEL__
#include <stdbool.h>
#endif

#define HF_SAVE_SEAL_OFFSET 2048
#define HF_SAVE_LOG_OFFSET 4096
#define HF_SESSION_WORDS 4
#define HF_SAVE_UNIT 64 /* a log is a multiple of it, and so is each of its pieces */

struct hf_save_seal {
	__u64 magic;
	__u64 word; /* what it says << 32 | number of the save */
	__u64 unused[6];
	/* Of the save, for people: nanoseconds from the signal on. */
	__u64 cause;
	__u64 stopped_ns;
	__u64 copied_ns;
	__u64 flushed_ns;
	__u64 alive_ns; /* stored again and again until the lights go out */
	__u64 homes_bytes; /* persistent memory of programs that was written back by address */
	__u64 unused_too[2];
};

struct hf_save_area {
	__u64 magic;
	__u64 key;
	__u64 capacity; /* bytes of a log that fit */
	__u64 check; /* of what is above */
	__u64 state;
	__u64 unused[3];
	/* Of the log. The same whoever saves it, as are the bytes: two saves of an ended process's log may overlap. */
	__u64 bytes;
	__u64 session[HF_SESSION_WORDS];
	__u64 sum; /* of the bytes */
	__u64 log_check; /* of the three above and the key */
	__u64 number; /* of the save that made the copy */
	__u64 cause;
	__u64 unused_too[7];
};

/* Of a log's memory, as the saver sees it. */
struct hf_save_piece {
	const __u64 *begin;
	__u64 bytes;
};

/* A log that is registered. */
struct hf_save_log {
	__u64 armed; /* stored last and cleared first, by whoever registers; a save looks at it once */
	struct hf_save_area *area;
	const struct hf_save_piece *pieces;
	__u64 pieces_count;
	__u64 bytes;
	__u64 session[HF_SESSION_WORDS];
};

/*
 * What the machine does for a save. All of it must work where nothing else does: in the middle of an interrupt, without
 * locks.
 */
struct hf_save_port {
	void (*store)(void *context, __u64 *at, __u64 value); /* one aligned word, by one instruction */
	void (*write_back)(void *context, const void *begin, __u64 bytes); /* begins to; done after a fence */
	void (*fence)(void *context);
	bool (*exchange)(void *context, __u64 *at, __u64 from, __u64 to); /* atomically, if it was `from` */
	bool (*stop)(void *context); /* the other processors; each writes its own caches back. False: one still runs */
	void (*write_back_all)(void *context); /* this processor's caches; done after a fence */
	bool (*stays)(void *context); /* whether the power does: false as long as one has to wait */
	void (*release)(void *context); /* the other processors, also after a stop that failed */
	__u64 (*now)(void *context); /* nanoseconds */
	void (*report)(void *context); /* the save has ended: its times are there */
	void *context;
};

/* What becomes of a save when the power stays. */
enum hf_save_end {
	HF_SAVE_RESUMES,
	HF_SAVE_STANDS, /* the machine is going down all the same: it counts, and the processors stay stopped */
};

struct hf_save_signal {
	__u64 cause;
	__u64 how; /* means something to the port alone */
	enum hf_save_end end;
};

/* Of a save: nanoseconds from the signal on. */
struct hf_save_times {
	__u64 stopped, copied, flushed, sealed, ended;
	__u64 bytes;
};

struct hf_save {
	struct hf_save_port port;
	struct hf_save_seal *seal; /* on the media */
	struct hf_save_log *logs;
	__u64 logs_count;
	__u64 claimed;
	/* Of the save in progress, by whoever has the claim. */
	struct hf_save_signal signal;
	struct hf_save_times times;
	__u64 began;
};

/*
 * None of these takes a lock, allocates or recurses; but for hf_save_all the caller lets one run at a time.
 * All but it return 0 or a negative errno.
 */

/*
 * Saves all armed logs and writes everything back. False: another save has begun before and not ended; nothing is done.
 * What holds if the machine stops inside: all logs are saved, as they were when the processors stood still, or none is.
 * None is, either, where a processor did not stop: what it has in its caches nobody writes back.
 */
bool hf_save_all(struct hf_save *save, const struct hf_save_signal *signal);

/* Copies as a save does, so that it can be measured. Returns the sum. */
__u64 hf_save_copy_measured(const struct hf_save *save, __u64 *to, const struct hf_save_piece *piece);

/*
 * Saves one log whose process has ended, for good. It stays armed meanwhile. Nobody stores to it. What holds if the
 * machine stops inside: it is saved or not.
 */
void hf_save_ended(struct hf_save *save, struct hf_save_log *log, __u64 cause);

/* Makes a seal that says nothing, unless there is one. */
void hf_save_begin(struct hf_save *save);

/*
 * After a start, in this order: for each area, which becomes saved, or void; then once for the seal. What holds if the
 * machine stops inside: the next start's settle comes to the same.
 */
void hf_save_settle_area(struct hf_save *save, struct hf_save_area *area);
void hf_save_settle_seal(struct hf_save *save);

/* Whether this is an area, of a chunk with this key and so many bytes. */
bool hf_save_is_area(const struct hf_save_area *area, __u64 key, __u64 chunk_bytes);
bool hf_save_is_saved(const struct hf_save_area *area);

/*
 * Makes the chunk an open area for a log of this key. What holds if the machine stops inside: it has no save, and has
 * lost none. -ENOTEMPTY: it has one.
 */
int hf_save_open(struct hf_save *save, struct hf_save_area *area, __u64 key, __u64 chunk_bytes);

/* The area becomes void, durably: unregistering, and acknowledging a save. */
void hf_save_void(struct hf_save *save, struct hf_save_area *area);

/*
 * Whether the area of so many bytes has a whole save of this key and session. -ENOENT: it has no save; -EBADMSG: header
 * or bytes do not match their sums; -ESTALE: it is of another session.
 */
int hf_save_find(const struct hf_save_area *area, __u64 key, __u64 chunk_bytes, const __u64 *session);
