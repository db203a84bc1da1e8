/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What programs ask of /dev/holdfast so that their volatile logs survive a power failure.
 *
 * A program registers a range of its memory, its log, under a key. From then on the module saves the range whenever the
 * power fails, and when the program ends without unregistering, however it ends. A save goes to the key's area, a chunk
 * of the region. A save of a power failure counts for all ranges or for none; when the power stays after all, it counts
 * for none. At the next start the program reads what was saved, replays it, and acknowledges it.
 *
 *   REGISTER fails    the program keeps its log where it is durable at each commit
 *   registered        commits need no write-back and no fence, neither of the log nor of what the log repeats; this
 *                     memory may be anywhere in persistent memory, not only in chunks: a save writes all caches back
 *   poll: POLLHUP     nothing of this open file is saved any more: the region was taken away
 *
 * What a registration belongs to:
 *   threads    to all threads that share the address space, on whatever processors they run
 *   fork       to the parent alone; the child has none and cannot end the parent's
 *   exec, exit, a signal    end it: the range is saved as it was, before its pages are given back
 *   close      ends it too when no descriptor and no mapping of the open file is left, in whatever process: the range
 *              is saved, torn if a thread stores to it meanwhile
 *   UNREGISTER ends it without a save; it waits for the end of a save in progress
 *   munmap     does not end it: the pages stay, and what they had is saved
 *
 * Every call fails with ENODEV when the region has been taken away, ENODATA when it is not formatted, EINVAL when a
 * reserved field is not 0, and EFAULT. Fields are filled in by the caller; those marked `found` by the module.
 */
#pragma once

#include <linux/ioctl.h>
#include <linux/types.h>

#define HOLDFAST_SESSION_WORDS 4

/* A range of memory. */
struct holdfast_log {
	__u64 address; /* of the range; a multiple of 64; writable, not of persistent memory */
	__u64 bytes; /* not 0, a multiple of 64 */
	__u64 key; /* of the area, a chunk that is made if there is none; not 0, nor the two highest */
	/*
	 * Tells this log from earlier ones under the key: a save is read and acknowledged by whoever knows all words.
	 * Their meaning is the program's. Such as the pool's identity, its file's mark, the boot, and a number of the
	 * opening.
	 */
	__u64 session[HOLDFAST_SESSION_WORDS];
	/* Permission bits of an area that is made. Who may read and write it may read and acknowledge saves. */
	__u32 mode;
	__u32 id; /* found by REGISTER, given to UNREGISTER */
	__u64 save_ns; /* found: what a save would take at most with this range; also when it is declined */
	__u64 budget_ns; /* found: what it may take */
	/*
	 * Where the caller has mapped the persistent memory that the log repeats, whole pages; 0 and 0: in chunks
	 * alone. A panic stops processors before their caches are written back: then this range is, by address, as far
	 * as it is mapped. Other saves need not know it.
	 */
	__u64 homes_address;
	__u64 homes_bytes;
};

/* A range that was saved. */
struct holdfast_saved {
	__u64 key;
	__u64 session[HOLDFAST_SESSION_WORDS];
	__u64 bytes; /* found: of the whole range */
	__u64 offset; /* NEXT_SAVED: in the region, where to look from; found: the area's */
	__u32 cause; /* found: one of HOLDFAST_BY_ */
	__u32 reserved;
	__u64 from; /* READ_SAVED: the first byte wanted */
	__u64 wanted; /* READ_SAVED: so many bytes */
	__u64 address; /* READ_SAVED: they go there */
};

/* Why a save was made. The first six are bits of `triggers` by their number. */
#define HOLDFAST_BY_CARRIER 0 /* carrier detect of a line with our line discipline changed */
#define HOLDFAST_BY_BREAK 1 /* break on such a line */
#define HOLDFAST_BY_NMI 2 /* an NMI that nobody else knows */
#define HOLDFAST_BY_BUTTON 3 /* the power button */
#define HOLDFAST_BY_PANIC 4 /* the kernel panics; the power stays, and the save counts */
#define HOLDFAST_BY_DEBUG 5 /* the file `fail` in debugfs */
#define HOLDFAST_BY_DRILL 6 /* DRILL: always a false alarm */
#define HOLDFAST_BY_END 7 /* the process ended; only its own ranges */
#define HOLDFAST_BY_SHUTDOWN 8 /* the machine restarts or goes off while ranges are registered; the save counts */

/* Of one save, in nanoseconds from the signal on, each with what precedes it; 0: it did not come so far. */
struct holdfast_times {
	__u64 stopped_ns; /* all other processors stand still, their caches written back */
	__u64 copied_ns; /* all ranges are copied */
	__u64 flushed_ns; /* everything is written back */
	__u64 sealed_ns; /* the save counts */
	__u64 alive_ns; /* the power lasted so long at least */
	__u64 ended_ns; /* of a false alarm: it counts no more, and the processors run on */
	__u64 copied_bytes;
	__u64 number; /* of the save: one more each time */
	__u32 cause;
	__u32 processors; /* that were to be stopped */
	__u32 missed; /* of these, that did not stop in time */
	__u32 reserved;
};

struct holdfast_powerfail_status {
	__u64 saves; /* that have ended since the region came, drills included: poll it */
	__u64 triggers; /* bits: which are on */
	__u64 lines; /* terminals that have the line discipline */
	__u64 hold_up_ns; /* configured: the power lasts so long after the signal */
	__u64 budget_ns; /* of that, what a save may take */
	__u64 save_ns; /* what a save of all that is registered would take */
	__u64 stop_ns; /* measured: to stop the other processors */
	__u64 flush_ns; /* measured and estimated from the caches' size: to write everything back */
	__u64 copy_ns_per_mib; /* measured */
	__u64 registered_bytes; /* of all programs */
	__u64 registered; /* ranges of all programs */
	__u64 registered_here; /* by this open file; fewer than expected: one was lost */
	__u64 line_discipline; /* the number for TIOCSETD */
	struct holdfast_times last; /* save that has ended; at first the one before the start, but for its bytes */
	__u64 reserved[4];
};

/*
 * Registers a range. In the caller's memory afterwards nothing has changed.
 *   EDQUOT     declined: a save would take longer than it may
 *   ENOTEMPTY  the area has an unacknowledged save
 *   EEXIST     the key's chunk is no area; EACCES: it is another user's; EFBIG: it is too small for the range
 *   EBUSY      the area is registered, or a program uses it
 *   ENOMEM     more pages would be pinned than RLIMIT_MEMLOCK permits
 *   EFAULT     the range is not all there, cannot be written, or cannot be pinned
 *   ENOBUFS    too many ranges are registered; ENOSPC: the region is full; EINVAL
 *   EPERM      the open file is of a process that this one was forked from, and has registrations of it
 */
#define HOLDFAST_REGISTER _IOWR('H', 16, struct holdfast_log)
/* Only `id` is looked at. ENOENT (also when it was lost), EPERM (another process's). The area stays, without a save. */
#define HOLDFAST_UNREGISTER _IOW('H', 17, struct holdfast_log)
/* The first save at the offset or behind that the caller may read; the next one is behind offset + 1. ENOENT. */
#define HOLDFAST_NEXT_SAVED _IOWR('H', 18, struct holdfast_saved)
/*
 * Copies bytes of a save. ENOENT: the key has none; ESTALE: it has one, of another session; EBADMSG: it is damaged;
 * EACCES; ERANGE: it is shorter.
 */
#define HOLDFAST_READ_SAVED _IOWR('H', 19, struct holdfast_saved)
/*
 * The save was replayed, durably: its area may be registered or freed. Repeating it: ENOENT. ESTALE, EACCES as above.
 * Before, HOLDFAST_FREE of the area fails with ENOTEMPTY.
 */
#define HOLDFAST_ACKNOWLEDGE _IOW('H', 20, struct holdfast_saved)
#define HOLDFAST_POWERFAIL_STATUS _IOR('H', 21, struct holdfast_powerfail_status)
/*
 * A false alarm: everything that a save does, then it counts no more. Threads of all programs stand still meanwhile.
 * EPERM (no CAP_SYS_ADMIN), EBUSY (a save is in progress).
 */
#define HOLDFAST_DRILL _IOR('H', 22, struct holdfast_times)
/* Which triggers are on: bits. EPERM (no CAP_SYS_ADMIN), EINVAL. */
#define HOLDFAST_TRIGGERS _IOW('H', 23, __u64)
