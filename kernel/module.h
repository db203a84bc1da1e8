/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of the module share:
 *   module.c    the region: taken from the bus of NVDIMMs, given back
 *   device.c    /dev/holdfast: chunks
 *   logs.c      ranges of programs' memory that are saved, and the ends of processes
 *   homes.c     programs' persistent memory, written back where a panic keeps processors from it
 *   saved.c     saves, read and acknowledged
 *   handler.c   what a save does to the machine
 *   rates.c     how long a save takes: measured, and what follows for the next range
 *   triggers.c  what begins a save
 *
 * hf_lock guards the tree of chunks, the open files, the registrations. Saves take no lock: hf_saver's claim is theirs,
 * and what they look at is published last. Nothing takes the lock of an address space, or touches a program's memory,
 * with hf_lock held: a page fault in a chunk takes it the other way round.
 */
#pragma once

#include "chunks.h"
#include "holdfast_chunks.h"
#include "holdfast_powerfail.h"
#include "save.h"
#include "save_faults.h"

#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/wait.h>

struct hf_owner;
struct mm_struct;

struct hf_open_file {
	struct list_head list;
	struct file *file;
	struct hf_chunk chunk;
	bool uses; /* the chunk */
	const void *opener; /* the address space that opened it; only compared */
	struct hf_owner *owner; /* of its registrations; guarded by owner_lock */
	struct mutex owner_lock; /* taken before hf_lock */
	u32 registered;
	bool lost; /* a registration, with the region */
};

extern struct mutex hf_lock;
extern struct list_head hf_open_files;
extern struct hf_chunks hf_region; /* base is NULL while there is none */
extern phys_addr_t hf_region_begin;
extern bool hf_is_formatted;
extern struct wait_queue_head hf_waiters; /* for the loss of registrations */

void hf_persist(void *context, const void *begin, __u64 bytes);
/* For any number of bytes; sleeps. */
void hf_persist_in_pieces(const void *begin, __u64 bytes);
bool hf_may_use(const struct hf_chunk *chunk, const struct file *file);
__u32 hf_asking_user(void);
bool hf_is_in_use(const struct hf_chunk *chunk); /* NULL: any */
/* The area that a chunk is, NULL if it is none. */
struct hf_save_area *hf_area_of(const struct hf_chunk *chunk);

int hf_device_register(void);
void hf_device_deregister(void);

/* logs.c; all but the first two with hf_lock held. */
void hf_logs_init(void);
long hf_logs_ioctl(struct hf_open_file *opened, unsigned int call, void __user *at);
bool hf_is_registered(const struct hf_save_area *area); /* NULL: any */
void hf_lose_registrations(void);
/* No lock held: the file has neither descriptors nor mappings. */
void hf_end_registrations_of(struct hf_open_file *opened);
u64 hf_registered_bytes(u64 *count);
/* Of all that are registered; no lock. Returns the bytes. */
u64 hf_write_all_homes_back(void);
void hf_write_chunk_back(const struct hf_open_file *opened);

u64 hf_write_homes_back(struct mm_struct *mm, unsigned long address, unsigned long end);

long hf_saved_ioctl(struct hf_open_file *opened, unsigned int call, void __user *at);

/* handler.c */
extern struct hf_save hf_saver;
int hf_handler_init(void);
void hf_handler_exit(void);
void hf_handler_begin(void); /* the region is there, and formatted */
void hf_handler_end(void); /* returns when no save is in progress, and none will be */
void hf_wait_for_save(void);
/* From any context. False: a save was in progress, or there is no region. */
bool hf_power_fails(u32 cause);
/* From a process: as above, or by stop_machine, as the parameter `stop` says. */
bool hf_power_fails_in_process(u32 cause);
void hf_last_times(struct holdfast_times *last);
u64 hf_saves(void);
u64 hf_measure_stop(void); /* ns; 0: the processors do not stop in time */
long hf_handler_ioctl(struct hf_open_file *opened, unsigned int call, void __user *at);

/* rates.c; hf_lock held. */
struct hf_rates {
	u64 stop_ns, flush_ns, copy_ns_per_mib;
};

extern struct hf_rates hf_rates;
extern uint hf_hold_up_us;
void hf_measure(void);
u64 hf_budget_ns(void);
u64 hf_save_ns(u64 bytes); /* of all ranges together */
bool hf_fits(u64 bytes);

/* triggers.c */
extern ulong hf_triggers;
int hf_triggers_init(void);
void hf_triggers_exit(void);
u64 hf_lines(void);
extern int hf_line_discipline;
