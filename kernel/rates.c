// SPDX-License-Identifier: GPL-2.0
/*
 * How long a save takes: the time to stop the other processors, to write all caches back, and to copy, each measured
 * when the region comes. A range is declined that would make it longer than the configured share of the hold-up time.
 */
#include "module.h"

#include <linux/io.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <asm/processor.h>
#include <asm/special_insns.h>

uint hf_hold_up_us = 10000;
module_param_named(hold_up_us, hf_hold_up_us, uint, 0444);
MODULE_PARM_DESC(hold_up_us, "the power lasts so long after the signal");

static uint share_percent = 50;
module_param(share_percent, uint, 0444);
MODULE_PARM_DESC(share_percent, "of that time a save may take so much");

#ifdef HOLDFAST_CONTROLS
static bool control_decline_ignored;
module_param(control_decline_ignored, bool, 0444);
#else
#define control_decline_ignored false
#endif

#define SCRATCH_BYTES ((u64)SZ_1M)
#define SCRATCH_KEY 0xfffffffffffffffeull /* of a chunk that is there while rates are measured */
#define ROUNDS 3

struct hf_rates hf_rates;

/* Of the slowest of some rounds: what is promised must hold in a bad moment. */
static u64 copy_ns(u64 *to, const u64 *from, u64 bytes)
{
	struct hf_save_piece piece = { from, bytes };
	u64 slowest = 0, began;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		began = ktime_get_mono_fast_ns();
		hf_save_copy_measured(&hf_saver, to, &piece);
		hf_saver.port.fence(NULL);
		slowest = max(slowest, ktime_get_mono_fast_ns() - began);
		cond_resched();
	}
	return slowest;
}

static u64 flush_ns(char *dirty, u64 bytes)
{
	u64 slowest = 0, began;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		memset(dirty, round, bytes);
		began = ktime_get_mono_fast_ns();
		wbinvd();
		slowest = max(slowest, ktime_get_mono_fast_ns() - began);
		cond_resched();
	}
	return slowest;
}

/* All caches may be dirty: as many bytes as they have. */
static u64 bytes_of_caches(void)
{
	return max_t(u64, (u64)boot_cpu_data.x86_cache_size << 10, 1 << 20) * max_t(u64, num_online_nodes(), 1);
}

static void measure_on(char *scratch, u64 bytes)
{
	u64 *from = kvzalloc(bytes, GFP_KERNEL);

	if (!from)
		return;
	hf_rates.copy_ns_per_mib = max_t(u64, copy_ns((u64 *)scratch, from, bytes) * SCRATCH_BYTES / bytes, 1);
	hf_rates.flush_ns = max_t(u64, flush_ns(scratch, bytes) * max_t(u64, bytes_of_caches() / bytes, 1), 1);
	hf_rates.stop_ns = hf_measure_stop();
	kvfree(from);
}

/* Without room for a chunk, or a processor that does not stop, nothing is measured, and every range is declined. */
void hf_measure(void)
{
	struct hf_chunk_request request = { .key = SCRATCH_KEY, .bytes = SCRATCH_BYTES };
	struct hf_chunk scratch;

	hf_rates = (struct hf_rates){ 0 };
	/* A cut may have left it. */
	hf_chunks_free(&hf_region, SCRATCH_KEY);
	while (hf_chunks_make(&hf_region, &request, &scratch)) {
		request.bytes /= 2;
		if (request.bytes < PAGE_SIZE)
			return;
	}
	measure_on((char *)hf_region.base + scratch.offset, request.bytes);
	hf_chunks_free(&hf_region, SCRATCH_KEY);
}

u64 hf_budget_ns(void)
{
	return (u64)hf_hold_up_us * 10 * min(share_percent, 100u);
}

u64 hf_save_ns(u64 bytes)
{
	/* Rounded up; bytes are fewer than memory has, so that nothing overflows. */
	u64 mib = (bytes >> 20) + 1;

	return hf_rates.stop_ns + hf_rates.flush_ns + mib * hf_rates.copy_ns_per_mib;
}

bool hf_fits(u64 bytes)
{
	if (control_decline_ignored)
		return true;
	return hf_rates.stop_ns && hf_rates.copy_ns_per_mib && hf_save_ns(bytes) <= hf_budget_ns();
}
