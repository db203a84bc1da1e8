// SPDX-License-Identifier: GPL-2.0
/*
 * What a save does to the machine. It may begin in an NMI, in the middle of anything: it takes no lock, waits for
 * nobody beyond a deadline, and calls nothing that does.
 *
 * Other processors are stopped by NMIs: interrupts they may have disabled, and stop_machine waits for all of them and
 * for a process of its own. Each writes its caches back, says that it stands, and spins. `round` is odd while they are
 * to stand; it tells a processor that is late, or still leaves the last round, what it is meant to do.
 */
#include "module.h"

#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/libnvdimm.h>
#include <linux/module.h>
#include <linux/seqlock.h>
#include <linux/smp.h>
#include <linux/stop_machine.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/apic.h>
#include <asm/nmi.h>
#include <asm/special_insns.h>

static char *stop = "nmi";
module_param(stop, charp, 0444);
MODULE_PARM_DESC(stop, "how a save that a process begins stops the processors: nmi or stop_machine");

static uint stop_deadline_us = 2000;
module_param(stop_deadline_us, uint, 0444);
MODULE_PARM_DESC(stop_deadline_us, "a save in which a processor does not stand still after so long is not sealed");

static uint linger_us = 100000;
module_param(linger_us, uint, 0444);
MODULE_PARM_DESC(linger_us, "when the power lasts so long after the signal it was a false alarm");

#ifdef HOLDFAST_CONTROLS
static char *control_fault = "";
module_param(control_fault, charp, 0444);
MODULE_PARM_DESC(control_fault, "a planted fault of save.c");
enum hf_fault hf_fault_planted;
#endif

#define NO_REGION 2 /* the claim while there is no region */
#define NMI_NAME "holdfast"

/* All processors in `on_each`: the address of it is how the signal of a save says so. */
struct meeting {
	struct hf_save_signal signal;
	struct cpumask standing;
	atomic_t first; /* who comes first saves */
	bool saved, ended;
};

static struct cpumask to_stop, due;
static uint round;
static DEFINE_PER_CPU(uint, standing_in); /* the round */
static uint missed, processors;

static struct holdfast_times last;
static seqcount_t last_turn = SEQCNT_ZERO(last_turn); /* one writes `last` at a time: who has the claim */
static u64 saves;

static void store_word(void *context, __u64 *at, __u64 value)
{
	WRITE_ONCE(*at, value);
}

static void write_back(void *context, const void *begin, __u64 bytes)
{
	arch_wb_cache_pmem((void *)begin, bytes);
}

static void fence(void *context)
{
	pmem_wmb();
}

static bool exchange(void *context, __u64 *at, __u64 from, __u64 to)
{
	return cmpxchg(at, from, to) == from;
}

static __u64 now(void *context)
{
	return ktime_get_mono_fast_ns();
}

static void stand(void)
{
	uint mine = READ_ONCE(round);

	if (!(mine & 1))
		return;
	wbinvd();
	/* Behind what this processor has stored and written back. Pairs with stands(). */
	smp_store_release(this_cpu_ptr(&standing_in), mine);
	while (READ_ONCE(round) == mine)
		cpu_relax();
}

static int on_local_nmi(unsigned int type, struct pt_regs *regs)
{
	/* Also when the save has ended meanwhile: it is ours, and nobody else must wonder. */
	if (!cpumask_test_and_clear_cpu(raw_smp_processor_id(), &due))
		return NMI_DONE;
	stand();
	return NMI_HANDLED;
}

static struct meeting *meeting_of_save(void)
{
	return (struct meeting *)(unsigned long)hf_saver.signal.how;
}

static bool stands(uint cpu)
{
	const struct meeting *meeting = meeting_of_save();

	if (meeting)
		return cpumask_test_cpu(cpu, &meeting->standing);
	/* Before the logs are copied. Pairs with stand(). */
	return smp_load_acquire(per_cpu_ptr(&standing_in, cpu)) == round;
}

static uint count_moving(void)
{
	uint cpu, moving = 0;

	for_each_cpu(cpu, &to_stop)
		moving += !stands(cpu);
	return moving;
}

static void wait_for_others(void)
{
	u64 begun = now(NULL);

	while ((missed = count_moving()) && now(NULL) - begun < (u64)stop_deadline_us * 1000)
		cpu_relax();
}

/* A panic has stopped them before; it does not say so in the mask where a crash kernel may follow. */
static bool stop_others(void *context)
{
	cpumask_copy(&to_stop, cpu_online_mask);
	cpumask_clear_cpu(raw_smp_processor_id(), &to_stop);
	processors = cpumask_weight(&to_stop);
	/* There each comes by itself, and may have come already. */
	if (processors && !meeting_of_save()) {
		cpumask_copy(&due, &to_stop);
		/* Behind `due`: a processor that sees this round must stand in it. */
		smp_store_release(&round, round + 1);
		apic->send_IPI_mask(&to_stop, NMI_VECTOR);
	}
	wait_for_others();
	return !missed || hf_saver.signal.cause == HOLDFAST_BY_PANIC;
}

static void release_others(void *context)
{
	if (round & 1)
		/* Behind the mark that the save was resumed: what runs on changes the logs. */
		smp_store_release(&round, round + 1);
}

/*
 * A panic stopped the others before we were called, without their caches: what they had dirty is written back line by
 * line, wherever it is. There is time: the power stays.
 */
static void write_all_chunks_back(void)
{
	struct hf_chunk each;
	u64 from;

	for (from = 0; !hf_chunks_next(&hf_region, from, &each); from = each.offset + each.bytes)
		write_back(NULL, (char *)hf_region.base + each.offset, each.bytes);
}

static void write_back_all(void *context)
{
	u64 homes_bytes = 0;

	if (hf_saver.signal.cause == HOLDFAST_BY_PANIC) {
		write_all_chunks_back();
		homes_bytes = hf_write_all_homes_back();
	}
	WRITE_ONCE(hf_saver.seal->homes_bytes, homes_bytes);
	wbinvd();
}

static bool power_stays(void *context)
{
	return hf_saver.signal.cause == HOLDFAST_BY_DRILL || now(NULL) - hf_saver.began >= (u64)linger_us * 1000;
}

static void report(void *context)
{
	const struct hf_save_times *times = &hf_saver.times;

	/* The other processors run again, and may read it. Not the form that looks at locks: this may be an NMI. */
	raw_write_seqcount_begin(&last_turn);
	last = (struct holdfast_times){
		.stopped_ns = times->stopped, .copied_ns = times->copied, .flushed_ns = times->flushed,
		.sealed_ns = times->sealed, .ended_ns = times->ended,
		.alive_ns = hf_saver.seal->alive_ns, .copied_bytes = times->bytes,
		.number = hf_saver.seal->word & 0xffffffff, .cause = hf_saver.signal.cause,
		.processors = processors, .missed = missed,
	};
	raw_write_seqcount_end(&last_turn);
	/* Behind all that the save has read and written. Pairs with hf_saves(). */
	smp_store_release(&saves, saves + 1);
}

struct hf_save hf_saver = {
	.port = { .store = store_word, .write_back = write_back, .fence = fence, .exchange = exchange,
		  .stop = stop_others, .write_back_all = write_back_all, .stays = power_stays,
		  .release = release_others, .now = now, .report = report },
	.claimed = NO_REGION,
};

u64 hf_saves(void)
{
	/* Whoever sees that a save has ended may free what it read. Pairs with report(). */
	return smp_load_acquire(&saves);
}

void hf_last_times(struct holdfast_times *found)
{
	uint turn;

	do {
		turn = read_seqcount_begin(&last_turn);
		*found = last;
	} while (read_seqcount_retry(&last_turn, turn));
}

static struct hf_save_signal signal_of(u32 cause, const struct meeting *how)
{
	return (struct hf_save_signal){
		.cause = cause, .how = (unsigned long)how,
		.end = cause == HOLDFAST_BY_PANIC || cause == HOLDFAST_BY_SHUTDOWN ? HF_SAVE_STANDS : HF_SAVE_RESUMES,
	};
}

bool hf_power_fails(u32 cause)
{
	const struct hf_save_signal signal = signal_of(cause, NULL);
	unsigned long flags;
	bool saved;

	local_irq_save(flags);
	saved = hf_save_all(&hf_saver, &signal);
	local_irq_restore(flags);
	return saved;
}

/* On all processors at once, their interrupts disabled. */
static int on_each(void *data)
{
	struct meeting *meeting = data;

	if (atomic_xchg(&meeting->first, 1) == 0) {
		meeting->saved = hf_save_all(&hf_saver, &meeting->signal);
		/* Behind the save: what runs on changes the logs. */
		smp_store_release(&meeting->ended, true);
		return 0;
	}
	wbinvd();
	cpumask_set_cpu(raw_smp_processor_id(), &meeting->standing);
	/* Pairs with the release above. */
	while (!smp_load_acquire(&meeting->ended))
		cpu_relax();
	return 0;
}

bool hf_power_fails_in_process(u32 cause)
{
	struct meeting meeting = { .signal = signal_of(cause, &meeting) };

	if (strcmp(stop, "stop_machine"))
		return hf_power_fails(cause);
	if (READ_ONCE(hf_saver.claimed))
		return false;
	stop_machine(on_each, &meeting, cpu_online_mask);
	return meeting.saved;
}

/* Not for one that begins meanwhile: saves may follow each other without end. */
void hf_wait_for_save(void)
{
	u64 before = hf_saves();

	/* The caller has disarmed a slot: a save whose claim is not seen below must see that. Pairs with exchange(). */
	smp_mb();
	while (READ_ONCE(hf_saver.claimed) == 1 && hf_saves() == before)
		usleep_range(50, 100);
}

/* What the last machine that had this region wrote down. */
static void tell_last_times(void)
{
	const struct hf_save_seal *seal = hf_saver.seal;

	last = (struct holdfast_times){
		.stopped_ns = seal->stopped_ns, .copied_ns = seal->copied_ns, .flushed_ns = seal->flushed_ns,
		.alive_ns = seal->alive_ns, .cause = seal->cause, .number = seal->word & 0xffffffff,
	};
}

void hf_handler_begin(void)
{
	struct hf_save_area *area;
	struct hf_chunk chunk;
	u64 from;

	hf_saver.seal = (struct hf_save_seal *)((char *)hf_region.base + HF_SAVE_SEAL_OFFSET);
	hf_save_begin(&hf_saver);
	for (from = 0; !hf_chunks_next(&hf_region, from, &chunk); from = chunk.offset + chunk.bytes) {
		area = hf_area_of(&chunk);
		if (area)
			hf_save_settle_area(&hf_saver, area);
	}
	hf_save_settle_seal(&hf_saver);
	tell_last_times();
	/* Behind all of the above: a save may begin from here on. */
	smp_store_release(&hf_saver.claimed, 0);
	hf_measure();
}

void hf_handler_end(void)
{
	if (READ_ONCE(hf_saver.claimed) == NO_REGION)
		return;
	while (cmpxchg(&hf_saver.claimed, 0, NO_REGION))
		usleep_range(50, 100);
}

/* Of the slowest of some rounds. The claim keeps saves away, which would use the same masks. */
u64 hf_measure_stop(void)
{
	u64 slowest = 0, began;
	unsigned long flags;
	int i;

	while (cmpxchg(&hf_saver.claimed, 0, 1))
		usleep_range(50, 100);
	hf_saver.signal.how = 0; /* by NMI */
	for (i = 0; i < 3; i++) {
		local_irq_save(flags);
		began = now(NULL);
		stop_others(NULL);
		slowest = missed ? U64_MAX : max(slowest, now(NULL) - began);
		release_others(NULL);
		local_irq_restore(flags);
		if (missed)
			break;
	}
	/* Behind the use of the masks and the round: they are the next save's. */
	smp_store_release(&hf_saver.claimed, 0);
	return slowest == U64_MAX ? 0 : max_t(u64, slowest, 1);
}

static int drill(struct holdfast_times *times)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (READ_ONCE(hf_saver.claimed) == NO_REGION)
		return READ_ONCE(hf_region.base) ? -ENODATA : -ENODEV;
	if (!hf_power_fails_in_process(HOLDFAST_BY_DRILL))
		return -EBUSY;
	hf_last_times(times);
	return 0;
}

static void tell_status(const struct hf_open_file *opened, struct holdfast_powerfail_status *status)
{
	*status = (struct holdfast_powerfail_status){
		.saves = hf_saves(), .triggers = hf_triggers, .lines = hf_lines(),
		.hold_up_ns = (u64)hf_hold_up_us * 1000, .budget_ns = hf_budget_ns(), .stop_ns = hf_rates.stop_ns,
		.flush_ns = hf_rates.flush_ns, .copy_ns_per_mib = hf_rates.copy_ns_per_mib,
		.registered_here = opened->registered, .line_discipline = hf_line_discipline,
	};
	status->registered_bytes = hf_registered_bytes(&status->registered);
	status->save_ns = hf_save_ns(status->registered_bytes);
	hf_last_times(&status->last);
}

static int set_triggers(u64 wanted)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (wanted >> (HOLDFAST_BY_DEBUG + 1))
		return -EINVAL;
	WRITE_ONCE(hf_triggers, wanted);
	return 0;
}

long hf_handler_ioctl(struct hf_open_file *opened, unsigned int call, void __user *at)
{
	struct holdfast_powerfail_status status;
	struct holdfast_times times;
	u64 wanted;
	int failed;

	switch (call) {
	case HOLDFAST_DRILL:
		failed = drill(&times);
		if (!failed && copy_to_user(at, &times, sizeof(times)))
			failed = -EFAULT;
		return failed;
	case HOLDFAST_TRIGGERS:
		return copy_from_user(&wanted, at, sizeof(wanted)) ? -EFAULT : set_triggers(wanted);
	default:
		mutex_lock(&hf_lock);
		failed = !hf_region.base ? -ENODEV : hf_is_formatted ? 0 : -ENODATA;
		if (!failed)
			tell_status(opened, &status);
		mutex_unlock(&hf_lock);
		if (!failed && copy_to_user(at, &status, sizeof(status)))
			failed = -EFAULT;
		return failed;
	}
}

#ifdef HOLDFAST_CONTROLS
static int plant_fault(void)
{
#define FAULT_NAME(name) (#name),
	static const char *const names[] = {
		"",
#include "save_faults.def"
	};
#undef FAULT_NAME
	int found = match_string(names, ARRAY_SIZE(names), control_fault);

	if (found < 0)
		return -EINVAL;
	hf_fault_planted = found;
	return 0;
}
#else
static int plant_fault(void)
{
	return 0;
}
#endif

int hf_handler_init(void)
{
	int failed = plant_fault();

	if (failed)
		return failed;
	hf_logs_init();
	if (strcmp(stop, "nmi") && strcmp(stop, "stop_machine"))
		return -EINVAL;
	if (linger_us <= hf_hold_up_us)
		pr_warn("holdfast: after %u us a save is taken back, but the power may last %u us\n", linger_us,
			hf_hold_up_us);
	return register_nmi_handler(NMI_LOCAL, on_local_nmi, 0, NMI_NAME);
}

void hf_handler_exit(void)
{
	unregister_nmi_handler(NMI_LOCAL, NMI_NAME);
}
