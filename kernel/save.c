// SPDX-License-Identifier: GPL-2.0
/*
 * Saves of logs.
 *
 * save, when the power fails
 *   1. The signal that comes first claims the save; others are ignored, nested ones too. Two savers would release the
 *      processors under each other.
 *   2. The other processors stop, and each writes its own caches back: no instruction of one reaches another's private
 *      cache. From here on logs do not change, so that what is copied is what they were at one moment. Where one still
 *      runs, the save ends here, and nothing counts: what it stores, and what its caches have, would be missing from
 *      a save that says that it is whole.
 *   3. Each log is copied to its area, with its sum, its session and its length. None of this counts: its area is open,
 *      and the seal does not have this save's number.
 *   4. Everything is written back: copies, headers, and whatever programs left in this processor's caches. FENCE.
 *      Orders all of it before the seal: were the seal durable first, a cut would leave a save whose bytes are not
 *      there.
 *   5. The seal says that the save of this number is whole: one word. FENCE. From there on it counts, and the time
 *      until the lights go out is written down, so that people learn how long the power really lasts.
 *   6. The power stayed: the seal says that the save of this number was resumed. FENCE. Orders this before the
 *      processors run on: a save that is older than what they do must never count.
 *   7. The processors run on. Then the claim is given back: the next signal begins a new save, under a new number.
 *
 * save of an ended process's log
 *   1. As 3. Power failure may save the same log meanwhile: both store the same words.
 *   2. Copy and header are written back. FENCE. As in 4.
 *   3. The area becomes saved: one word. FENCE. Before the caller gives the memory back.
 *
 * settle, at a start
 *   1. An open area with the number of a sealed save becomes saved, any other void. FENCE, for each.
 *   2. The seal says nothing any more; its number stays, so that no number is used twice. FENCE. Behind 1: without the
 *      seal nothing would say which areas count.
 *
 * open
 *   1. Key and capacity are stored. FENCE. Orders them before the state: an open area is one.
 *   2. The area becomes open. FENCE. Before the caller is told that its log is safe.
 */
#include "save.h"
#include "portable.h"
#include "save_faults.h"

#define HF_SEAL_MAGIC 0x4c41455356415348ull
#define HF_AREA_MAGIC 0x4145524156415348ull

/* Far apart: few flipped bits do not make one of another. */
#define AREA_VOID 0x64696f760f0f0f0full
#define AREA_OPEN 0x6e65706f333c3c33ull
#define AREA_SAVED 0x6576617355aa55aaull
#define SEAL_NONE (0x656e6f6eull << 32)
#define SEAL_SEALED (0x6c616573ull << 32)
#define SEAL_RESUMED (0x00a5c35aull << 32)
#define SEAL_SAYS (0xffffffffull << 32)

static_assert(sizeof(struct hf_save_seal) == 128, "two lines");
static_assert(sizeof(struct hf_save_area) == 192, "three lines");
static_assert(offsetof(struct hf_save_area, bytes) == 64, "on the media");
static_assert(sizeof(struct hf_save_area) <= HF_SAVE_LOG_OFFSET, "the bytes are behind it");
static_assert(HF_SAVE_UNIT == 8 * sizeof(__u64), "sums take whole units");

static __u64 mix(__u64 sum, __u64 word)
{
	sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
	return sum ^ (sum >> 29);
}

/* Four sums side by side: the processor works on all of them at a time. */
struct sums {
	__u64 lane[4];
};

static __u64 sum_of(const struct sums *sums)
{
	return mix(mix(mix(sums->lane[0], sums->lane[1]), sums->lane[2]), sums->lane[3]);
}

static __u64 check_of_place(const struct hf_save_area *area)
{
	return mix(mix(HF_AREA_MAGIC, area->key), area->capacity);
}

static __u64 check_of_log(const struct hf_save_area *area)
{
	__u64 check = mix(mix(mix(HF_AREA_MAGIC, area->key), area->bytes), area->sum);
	int i;

	for (i = 0; i < HF_SESSION_WORDS; i++)
		check = mix(check, area->session[i]);
	return check;
}

static __u64 load(const __u64 *at)
{
	return READ_ONCE(*at);
}

static void store(const struct hf_save *save, __u64 *at, __u64 value)
{
	save->port.store(save->port.context, at, value);
}

static void write_back(const struct hf_save *save, const void *begin, __u64 bytes)
{
	save->port.write_back(save->port.context, begin, bytes);
}

static void fence(const struct hf_save *save)
{
	save->port.fence(save->port.context);
}

static void persist(const struct hf_save *save, const void *begin, __u64 bytes)
{
	write_back(save, begin, bytes);
	fence(save);
}

/* A word of a copy: past the caches, where that can be had. */
static void stream(const struct hf_save *save, __u64 *at, __u64 value)
{
#if defined(__KERNEL__) && defined(CONFIG_X86_64)
	asm volatile("movnti %1, %0" : "=m"(*at) : "r"(value));
#else
	store(save, at, value);
#endif
}

static void copy_piece(const struct hf_save *save, __u64 *to, const struct hf_save_piece *piece, struct sums *sums)
{
	__u64 i, a, b, c, d;

	for (i = 0; i < piece->bytes / sizeof(__u64); i += 4) {
		a = load(piece->begin + i);
		b = load(piece->begin + i + 1);
		c = load(piece->begin + i + 2);
		d = load(piece->begin + i + 3);
		stream(save, to + i, a);
		stream(save, to + i + 1, b);
		stream(save, to + i + 2, c);
		stream(save, to + i + 3, d);
		sums->lane[0] = mix(sums->lane[0], a);
		sums->lane[1] = mix(sums->lane[1], b);
		sums->lane[2] = mix(sums->lane[2], c);
		sums->lane[3] = mix(sums->lane[3], d);
	}
}

__u64 hf_save_copy_measured(const struct hf_save *save, __u64 *to, const struct hf_save_piece *piece)
{
	struct sums sums = { { 0, 0, 0, 0 } };

	copy_piece(save, to, piece, &sums);
	return sum_of(&sums);
}

static __u64 sum_of_copy(const struct hf_save_area *area, __u64 bytes)
{
	const __u64 *from = (const __u64 *)((const char *)area + HF_SAVE_LOG_OFFSET);
	struct sums sums = { { 0, 0, 0, 0 } };
	__u64 i;

	for (i = 0; i < bytes / sizeof(__u64); i++)
		sums.lane[i % 4] = mix(sums.lane[i % 4], load(from + i));
	return sum_of(&sums);
}

static void copy_log(const struct hf_save *save, const struct hf_save_log *log)
{
	struct hf_save_area *area = log->area;
	char *to = (char *)area + HF_SAVE_LOG_OFFSET;
	struct hf_save_area made = { .key = area->key, .bytes = log->bytes };
	struct sums sums = { { 0, 0, 0, 0 } };
	__u64 piece;
	int i;

	for (piece = 0; piece < log->pieces_count; piece++) {
		if (FAULT(last_piece_not_copied) && piece + 1 == log->pieces_count)
			break;
		copy_piece(save, (__u64 *)to, &log->pieces[piece], &sums);
		to += log->pieces[piece].bytes;
	}
	made.sum = sum_of(&sums);
	for (i = 0; i < HF_SESSION_WORDS; i++) {
		made.session[i] = FAULT(session_of_before) && area->bytes ? area->session[i] : log->session[i];
		store(save, &area->session[i], made.session[i]);
	}
	store(save, &area->bytes, made.bytes);
	store(save, &area->sum, made.sum);
	store(save, &area->log_check, check_of_log(&made));
}

static __u64 number_of(const struct hf_save *save)
{
	return load(&save->seal->word) & ~SEAL_SAYS;
}

static __u64 copy_logs(struct hf_save *save, __u64 number)
{
	__u64 i, bytes = 0;

	for (i = 0; i < save->logs_count; i++) {
		const struct hf_save_log *log = &save->logs[i];

		if (!load(&log->armed) || (FAULT(second_log_not_saved) && i == 1))
			continue;
		copy_log(save, log);
		store(save, &log->area->cause, save->signal.cause);
		store(save, &log->area->number, number);
		bytes += log->bytes;
	}
	return bytes;
}

static void set_seal(struct hf_save *save, __u64 says, __u64 number, bool is_durable)
{
	store(save, &save->seal->word, says | number);
	if (is_durable)
		persist(save, &save->seal->word, sizeof(__u64));
}

static bool claim(struct hf_save *save)
{
	if (FAULT(claim_not_exclusive)) {
		store(save, &save->claimed, 1);
		return true;
	}
	return save->port.exchange(save->port.context, &save->claimed, 0, 1);
}

static __u64 since_signal(const struct hf_save *save)
{
	return save->port.now(save->port.context) - save->began;
}

/* Returns when the power has stayed. */
static void wait_for_darkness(struct hf_save *save)
{
	do {
		store(save, &save->seal->alive_ns, since_signal(save));
		persist(save, &save->seal->alive_ns, sizeof(__u64));
	} while (!save->port.stays(save->port.context));
}

static void note(struct hf_save *save)
{
	store(save, &save->seal->cause, save->signal.cause);
	store(save, &save->seal->stopped_ns, save->times.stopped);
	store(save, &save->seal->copied_ns, save->times.copied);
	store(save, &save->seal->flushed_ns, save->times.flushed);
	store(save, &save->seal->alive_ns, save->times.sealed);
	persist(save, &save->seal->cause, sizeof(*save->seal) / 2);
}

static void resume(struct hf_save *save, __u64 number)
{
	const struct hf_save_port *port = &save->port;

	if (FAULT(released_before_mark))
		port->release(port->context);
	if (!FAULT(no_resumed_mark))
		set_seal(save, SEAL_RESUMED, number, !FAULT(resumed_mark_not_durable)); /* 6 */
	if (!FAULT(released_before_mark))
		port->release(port->context); /* 7 */
}

/* Steps 2 to 5. Returns the number of the save; 0: the others did not all stop, and nothing was done. */
static __u64 save_logs(struct hf_save *save)
{
	const struct hf_save_port *port = &save->port;
	__u64 number;

	if (!FAULT(others_not_stopped) && !port->stop(port->context) && !FAULT(sealed_though_one_runs)) /* 2 */
		return 0;
	save->times.stopped = since_signal(save);
	number = (number_of(save) + 1) & ~SEAL_SAYS;
	number += !number; /* which is none's */
	if (FAULT(sealed_before_copy))
		set_seal(save, SEAL_SEALED, number, true);
	save->times.bytes = copy_logs(save, number); /* 3 */
	save->times.copied = since_signal(save);
	if (FAULT(sealed_before_flush))
		set_seal(save, SEAL_SEALED, number, true);
	if (!FAULT(not_flushed))
		port->write_back_all(port->context); /* 4 */
	if (!FAULT(no_fence_before_seal))
		fence(save);
	save->times.flushed = since_signal(save);
	set_seal(save, SEAL_SEALED, number, !FAULT(seal_not_durable)); /* 5 */
	save->times.sealed = since_signal(save);
	return number;
}

bool hf_save_all(struct hf_save *save, const struct hf_save_signal *signal)
{
	const struct hf_save_port *port = &save->port;
	__u64 began = port->now(port->context), number;

	if (!claim(save)) /* 1 */
		return false;
	save->signal = *signal;
	save->began = began;
	save->times = (struct hf_save_times){ 0 };
	number = save_logs(save);
	if (number)
		note(save);
	if (number && signal->end == HF_SAVE_RESUMES) {
		wait_for_darkness(save);
		resume(save, number);
		save->times.ended = since_signal(save);
	} else if (signal->end == HF_SAVE_RESUMES) {
		port->release(port->context);
	}
	port->report(port->context);
	if (signal->end == HF_SAVE_RESUMES && !FAULT(claim_kept))
		port->exchange(port->context, &save->claimed, 1, 0);
	return true;
}

static void set_state(struct hf_save *save, struct hf_save_area *area, __u64 state)
{
	store(save, &area->state, state);
	persist(save, &area->state, sizeof(__u64));
}

void hf_save_ended(struct hf_save *save, struct hf_save_log *log, __u64 cause)
{
	struct hf_save_area *area = log->area;

	if (FAULT(ended_before_copy))
		set_state(save, area, AREA_SAVED);
	copy_log(save, log); /* 1 */
	store(save, &area->cause, cause);
	if (!FAULT(ended_not_written_back))
		write_back(save, area, HF_SAVE_LOG_OFFSET + log->bytes);
	fence(save); /* 2 */
	set_state(save, area, AREA_SAVED); /* 3 */
}

void hf_save_begin(struct hf_save *save)
{
	if (load(&save->seal->magic) == HF_SEAL_MAGIC)
		return;
	set_seal(save, SEAL_NONE, 0, true);
	store(save, &save->seal->magic, HF_SEAL_MAGIC);
	persist(save, save->seal, sizeof(*save->seal));
}

void hf_save_settle_area(struct hf_save *save, struct hf_save_area *area)
{
	__u64 says = load(&save->seal->word) & SEAL_SAYS;
	bool counts = says == SEAL_SEALED || (FAULT(resumed_counts) && says == SEAL_RESUMED);

	if (load(&area->state) != AREA_OPEN)
		return;
	if (counts && (load(&area->number) == number_of(save) || FAULT(number_not_compared)))
		set_state(save, area, AREA_SAVED);
	else if (!FAULT(unsealed_left_open))
		set_state(save, area, AREA_VOID);
}

void hf_save_settle_seal(struct hf_save *save)
{
	set_seal(save, SEAL_NONE, number_of(save), true);
}

bool hf_save_is_area(const struct hf_save_area *area, __u64 key, __u64 chunk_bytes)
{
	return load(&area->magic) == HF_AREA_MAGIC && area->check == check_of_place(area) && area->key == key &&
	       (area->capacity <= chunk_bytes - HF_SAVE_LOG_OFFSET || FAULT(length_not_checked));
}

bool hf_save_is_saved(const struct hf_save_area *area)
{
	return load(&area->state) == AREA_SAVED;
}

int hf_save_open(struct hf_save *save, struct hf_save_area *area, __u64 key, __u64 chunk_bytes)
{
	const struct hf_save_area made = { .key = key, .capacity = chunk_bytes - HF_SAVE_LOG_OFFSET };

	if (hf_save_is_area(area, key, chunk_bytes) && hf_save_is_saved(area) && !FAULT(opened_over_a_save))
		return -ENOTEMPTY;
	store(save, &area->key, made.key);
	store(save, &area->capacity, made.capacity);
	store(save, &area->check, check_of_place(&made));
	store(save, &area->magic, HF_AREA_MAGIC);
	store(save, &area->number, 0);
	persist(save, area, sizeof(*area)); /* 1 */
	set_state(save, area, AREA_OPEN); /* 2 */
	return 0;
}

void hf_save_void(struct hf_save *save, struct hf_save_area *area)
{
	if (FAULT(void_not_durable))
		store(save, &area->state, AREA_VOID);
	else
		set_state(save, area, AREA_VOID);
}

int hf_save_find(const struct hf_save_area *area, __u64 key, __u64 chunk_bytes, const __u64 *session)
{
	/* Loaded once: a program that may write to the area may do so meanwhile. */
	__u64 bytes = load(&area->bytes);
	int i;

	if (!hf_save_is_area(area, key, chunk_bytes) || !hf_save_is_saved(area))
		return -ENOENT;
	if (area->log_check != check_of_log(area) && !FAULT(header_not_checked))
		return -EBADMSG;
	if (bytes > chunk_bytes - HF_SAVE_LOG_OFFSET && !FAULT(length_not_checked))
		return -EBADMSG;
	for (i = 0; i < HF_SESSION_WORDS; i++)
		if (area->session[i] != session[i] && !FAULT(session_not_compared))
			return -ESTALE;
	if (area->sum != sum_of_copy(area, bytes) && !FAULT(sum_not_compared))
		return -EBADMSG;
	return 0;
}
