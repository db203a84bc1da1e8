// SPDX-License-Identifier: GPL-2.0
/*
 * Ranges of programs' memory that are saved. Each has a slot, which saves look at, and an area in the region. Its pages
 * are pinned, so that a save reads them wherever the program's mappings are.
 *
 * A range belongs to the address space that registered it. The kernel tells of its end, by exit, signal or exec, when
 * no thread uses it any more and its pages are still there: then the range is saved. A forked child has another one.
 */
#include "module.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <asm/smp.h>

#define SLOTS 256

/* An address space with registrations by one open file. */
struct hf_owner {
	struct mmu_notifier notifier;
	struct hf_open_file *opened;
	bool ended;
};

struct pinned {
	struct page **pages;
	u64 count;
	struct hf_save_piece *pieces;
	u64 pieces_count;
};

/* What belongs to the slot of the same index. */
struct registration {
	struct hf_owner *owner; /* NULL: the slot is free */
	struct pinned pinned;
	u32 id;
	struct mm_struct *mm; /* of the homes; a save looks at it while the slot is armed */
	unsigned long homes_begin, homes_end;
};

static struct hf_save_log slots[SLOTS];
static struct registration registrations[SLOTS];
static u32 next_generation;

static void unpin(struct mm_struct *mm, struct pinned *pinned)
{
	unpin_user_pages(pinned->pages, pinned->count);
	atomic64_sub(pinned->count, &mm->pinned_vm);
	kvfree(pinned->pages);
	kvfree(pinned->pieces);
	*pinned = (struct pinned){ NULL };
}

/* Pages that follow each other in memory are one piece. */
static void make_pieces(struct pinned *pinned, u64 address, u64 bytes)
{
	u64 page, from = offset_in_page(address);

	for (page = 0; page < pinned->count; page++) {
		char *begin = (char *)page_address(pinned->pages[page]) + from;
		u64 size = min_t(u64, PAGE_SIZE - from, bytes);
		struct hf_save_piece *before = pinned->pieces + pinned->pieces_count - 1;

		if (pinned->pieces_count && (const char *)before->begin + before->bytes == begin)
			before->bytes += size;
		else
			pinned->pieces[pinned->pieces_count++] = (struct hf_save_piece){ (u64 *)begin, size };
		bytes -= size;
		from = 0;
	}
}

static int pin_pages(struct pinned *pinned, u64 address)
{
	u64 done = 0;
	int more;

	while (done < pinned->count) {
		int wanted = min_t(u64, pinned->count - done, 1024);

		/* To write: a page that is shared with a file or another process is given to this one first. */
		more = pin_user_pages_fast((address & PAGE_MASK) + done * PAGE_SIZE, wanted,
					   FOLL_WRITE | FOLL_LONGTERM, pinned->pages + done);
		if (more <= 0)
			break;
		done += more;
	}
	if (done == pinned->count)
		return 0;
	unpin_user_pages(pinned->pages, done);
	return -EFAULT;
}

static bool may_lock(struct mm_struct *mm, u64 pages)
{
	u64 limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	if (atomic64_add_return(pages, &mm->pinned_vm) <= limit || capable(CAP_IPC_LOCK))
		return true;
	atomic64_sub(pages, &mm->pinned_vm);
	return false;
}

static int pin(struct pinned *pinned, const struct holdfast_log *about)
{
	u64 pages = (offset_in_page(about->address) + about->bytes + PAGE_SIZE - 1) >> PAGE_SHIFT;
	struct mm_struct *mm = current->mm;
	int failed = -ENOMEM;

	*pinned = (struct pinned){ .count = pages };
	if (!may_lock(mm, pinned->count))
		return -ENOMEM;
	pinned->pages = kvmalloc_array(pinned->count, sizeof(*pinned->pages), GFP_KERNEL);
	pinned->pieces = kvmalloc_array(pinned->count, sizeof(*pinned->pieces), GFP_KERNEL);
	if (pinned->pages && pinned->pieces)
		failed = pin_pages(pinned, about->address);
	if (!failed) {
		make_pieces(pinned, about->address, about->bytes);
		return 0;
	}
	kvfree(pinned->pages);
	kvfree(pinned->pieces);
	atomic64_sub(pinned->count, &mm->pinned_vm);
	return failed;
}

bool hf_is_registered(const struct hf_save_area *area)
{
	int i;

	for (i = 0; i < SLOTS; i++)
		if (registrations[i].owner && (!area || slots[i].area == area))
			return true;
	return false;
}

u64 hf_registered_bytes(u64 *count)
{
	u64 bytes = 0;
	int i;

	*count = 0;
	for (i = 0; i < SLOTS; i++) {
		if (!registrations[i].owner)
			continue;
		bytes += slots[i].bytes;
		++*count;
	}
	return bytes;
}

u64 hf_write_all_homes_back(void)
{
	u64 bytes = 0;
	int i;

	for (i = 0; i < SLOTS; i++)
		/* Before the registration. Pairs with fill_slot(). */
		if (smp_load_acquire(&slots[i].armed))
			bytes += hf_write_homes_back(registrations[i].mm, registrations[i].homes_begin,
						     registrations[i].homes_end);
	return bytes;
}

/* Finds the key's area, or makes it. */
static int find_area(struct hf_open_file *opened, const struct holdfast_log *about, struct hf_chunk *chunk)
{
	const struct hf_chunk_request request = {
		.key = about->key, .bytes = HF_SAVE_LOG_OFFSET + about->bytes, .mode = about->mode,
		.user = hf_asking_user(), .group = from_kgid(&init_user_ns, current_fsgid()),
	};
	struct hf_save_area *area;

	if (hf_chunks_find(&hf_region, about->key, chunk))
		return hf_chunks_make(&hf_region, &request, chunk);
	area = hf_area_of(chunk);
	if (!area)
		return -EEXIST;
	if (!hf_may_use(chunk, opened->file))
		return -EACCES;
	if (hf_is_in_use(chunk))
		return -EBUSY;
	if (hf_save_is_saved(area))
		return -ENOTEMPTY;
	return chunk->bytes - HF_SAVE_LOG_OFFSET < about->bytes ? -EFBIG : 0;
}

static int free_slot(void)
{
	int i;

	for (i = 0; i < SLOTS; i++)
		if (!registrations[i].owner)
			return i;
	return -ENOBUFS;
}

static int fits(struct holdfast_log *about)
{
	u64 others, bytes = hf_registered_bytes(&others) + about->bytes;

	about->budget_ns = hf_budget_ns();
	about->save_ns = hf_save_ns(bytes);
	return hf_fits(bytes) ? 0 : -EDQUOT;
}

static int fill_slot(struct hf_open_file *opened, struct holdfast_log *about, struct pinned *pinned)
{
	struct hf_save_log *log;
	struct hf_chunk chunk;
	int slot, failed;

	if (!hf_region.base || !hf_is_formatted)
		return hf_region.base ? -ENODATA : -ENODEV;
	failed = fits(about);
	if (failed)
		return failed;
	slot = free_slot();
	if (slot < 0)
		return slot;
	failed = find_area(opened, about, &chunk);
	if (failed)
		return failed;
	log = &slots[slot];
	log->area = (struct hf_save_area *)((char *)hf_region.base + chunk.offset);
	failed = hf_save_open(&hf_saver, log->area, chunk.key, chunk.bytes);
	if (failed)
		return failed;
	log->pieces = pinned->pieces;
	log->pieces_count = pinned->pieces_count;
	log->bytes = about->bytes;
	memcpy(log->session, about->session, sizeof(log->session));
	about->id = next_generation++ * SLOTS + slot;
	registrations[slot] = (struct registration){
		.owner = opened->owner, .pinned = *pinned, .id = about->id, .mm = opened->owner->notifier.mm,
		.homes_begin = about->homes_address, .homes_end = about->homes_address + about->homes_bytes,
	};
	opened->registered++;
	opened->lost = false;
	/* A save looks at any moment: whole before it counts. */
	smp_store_release(&log->armed, 1);
	return 0;
}

/* No save looks at the slot any more when this returns, and none is copying from it. */
static void take_back(int slot)
{
	struct registration *registration = &registrations[slot];

	WRITE_ONCE(slots[slot].armed, 0);
	hf_wait_for_save();
	unpin(registration->owner->notifier.mm, &registration->pinned);
	registration->owner->opened->registered--;
	registration->owner = NULL;
}

/* What the owner's process stored to chunks is durable before its log counts as saved. */
static void write_chunks_back(const struct hf_owner *owner)
{
	struct hf_open_file *each;

	list_for_each_entry(each, &hf_open_files, list)
		if (each == owner->opened || each->opener == owner->notifier.mm)
			hf_write_chunk_back(each);
}

/* The memory is still there, and nobody stores to it. */
static void end_registrations_of(struct hf_owner *owner)
{
	bool is_written_back = false;
	int i;

	mutex_lock(&hf_lock);
	for (i = 0; i < SLOTS; i++) {
		if (registrations[i].owner != owner)
			continue;
		/* What the log repeats may be in caches, wherever in persistent memory it is. */
		if (!is_written_back) {
			write_chunks_back(owner);
			wbinvd_on_all_cpus();
		}
		is_written_back = true;
		hf_save_ended(&hf_saver, &slots[i], HOLDFAST_BY_END);
		take_back(i);
	}
	mutex_unlock(&hf_lock);
}

static void on_end_of_memory(struct mmu_notifier *notifier, struct mm_struct *mm)
{
	struct hf_owner *owner = container_of(notifier, struct hf_owner, notifier);

	end_registrations_of(owner);
	WRITE_ONCE(owner->ended, true);
}

static const struct mmu_notifier_ops of_owner = { .release = on_end_of_memory };

static void drop_owner(struct hf_open_file *opened)
{
	struct hf_owner *owner = opened->owner;

	if (!owner)
		return;
	/* Calls on_end_of_memory where the memory still is, and waits where it is called at the moment. */
	mmu_notifier_unregister(&owner->notifier, owner->notifier.mm);
	opened->owner = NULL;
	kfree(owner);
}

/* The open file's registrations are this address space's from here on. With owner_lock held. */
static int own(struct hf_open_file *opened)
{
	struct hf_owner *owner = opened->owner;
	int failed;

	if (owner && owner->notifier.mm == current->mm)
		return 0;
	if (owner && !READ_ONCE(owner->ended) && READ_ONCE(opened->registered))
		return -EPERM;
	drop_owner(opened);
	owner = kzalloc(sizeof(*owner), GFP_KERNEL);
	if (!owner)
		return -ENOMEM;
	owner->opened = opened;
	owner->notifier.ops = &of_owner;
	failed = mmu_notifier_register(&owner->notifier, current->mm);
	if (failed)
		kfree(owner);
	else
		opened->owner = owner;
	return failed;
}

static bool are_homes_sensible(const struct holdfast_log *about)
{
	u64 end;

	return !check_add_overflow(about->homes_address, about->homes_bytes, &end) && end <= TASK_SIZE_MAX &&
	       !offset_in_page(about->homes_address) && !offset_in_page(about->homes_bytes);
}

static bool is_sensible(const struct holdfast_log *about)
{
	u64 end;

	return about->key && about->bytes && !(about->bytes % HF_SAVE_UNIT) && !(about->address % HF_SAVE_UNIT) &&
	       !check_add_overflow(about->address, about->bytes, &end) && about->bytes >> 40 == 0 &&
	       are_homes_sensible(about) && !(about->mode & ~HF_MODE_BITS);
}

/* Before pages are pinned for nothing. Others may register meanwhile: it is asked again. */
static int is_declined(struct holdfast_log *about)
{
	int failed;

	mutex_lock(&hf_lock);
	failed = !hf_region.base ? -ENODEV : !hf_is_formatted ? -ENODATA : fits(about);
	mutex_unlock(&hf_lock);
	return failed;
}

static int register_log(struct hf_open_file *opened, struct holdfast_log *about)
{
	struct pinned pinned;
	int failed;

	if (!is_sensible(about))
		return -EINVAL;
	if ((opened->file->f_mode & (FMODE_READ | FMODE_WRITE)) != (FMODE_READ | FMODE_WRITE))
		return -EACCES;
	failed = is_declined(about);
	if (!failed)
		failed = own(opened);
	if (!failed)
		failed = pin(&pinned, about);
	if (failed)
		return failed;
	mutex_lock(&hf_lock);
	failed = fill_slot(opened, about, &pinned);
	mutex_unlock(&hf_lock);
	if (failed)
		unpin(current->mm, &pinned);
	return failed;
}

static int unregister_log(struct hf_open_file *opened, u32 id)
{
	int slot = id % SLOTS, failed = 0;

	mutex_lock(&hf_lock);
	if (!registrations[slot].owner || registrations[slot].id != id || registrations[slot].owner->opened != opened)
		failed = -ENOENT;
	else if (registrations[slot].owner->notifier.mm != current->mm)
		failed = -EPERM;
	if (!failed) {
		struct hf_save_area *area = slots[slot].area;

		take_back(slot);
		hf_save_void(&hf_saver, area);
	}
	mutex_unlock(&hf_lock);
	return failed;
}

void hf_end_registrations_of(struct hf_open_file *opened)
{
	mutex_lock(&opened->owner_lock);
	drop_owner(opened);
	mutex_unlock(&opened->owner_lock);
}

/* Their areas stay as they are: whatever takes the region next finds no seal that counts, and voids them. */
void hf_lose_registrations(void)
{
	int i;

	for (i = 0; i < SLOTS; i++) {
		if (!registrations[i].owner)
			continue;
		registrations[i].owner->opened->lost = true;
		take_back(i);
	}
	wake_up_all(&hf_waiters);
}

long hf_logs_ioctl(struct hf_open_file *opened, unsigned int call, void __user *at)
{
	struct holdfast_log about;
	long failed;

	if (copy_from_user(&about, at, sizeof(about)))
		return -EFAULT;
	if (call == HOLDFAST_UNREGISTER)
		return unregister_log(opened, about.id);
	about.save_ns = 0;
	about.budget_ns = 0;
	mutex_lock(&opened->owner_lock);
	failed = register_log(opened, &about);
	mutex_unlock(&opened->owner_lock);
	/* Also where it is declined: how much would have been too much. */
	if (copy_to_user(at, &about, sizeof(about)) && !failed) {
		unregister_log(opened, about.id);
		failed = -EFAULT;
	}
	return failed;
}

void hf_logs_init(void)
{
	hf_saver.logs = slots;
	hf_saver.logs_count = SLOTS;
}
