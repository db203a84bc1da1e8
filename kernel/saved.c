// SPDX-License-Identifier: GPL-2.0
/* Saves, found, read and acknowledged. */
#include "module.h"

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

static struct hf_save_area *saved_area_of(const struct hf_chunk *chunk)
{
	struct hf_save_area *area = hf_area_of(chunk);

	return area && hf_save_is_saved(area) ? area : NULL;
}

/* Those that the asking user may not read are not there for him. */
static int next_saved(const struct file *file, struct holdfast_saved *about)
{
	const struct hf_save_area *area;
	struct hf_chunk chunk;
	u64 from;

	for (from = about->offset; !hf_chunks_next(&hf_region, from, &chunk); from = chunk.offset + chunk.bytes) {
		area = saved_area_of(&chunk);
		if (!area || !hf_may_use(&chunk, file))
			continue;
		*about = (struct holdfast_saved){ .key = chunk.key, .bytes = area->bytes, .offset = chunk.offset,
						  .cause = area->cause };
		memcpy(about->session, area->session, sizeof(about->session));
		return 0;
	}
	return -ENOENT;
}

static int find_saved(const struct file *file, const struct holdfast_saved *about, struct hf_chunk *chunk)
{
	struct hf_save_area *area;
	int failed = hf_chunks_find(&hf_region, about->key, chunk);

	if (failed)
		return failed;
	area = saved_area_of(chunk);
	if (!area)
		return -ENOENT;
	if (!hf_may_use(chunk, file))
		return -EACCES;
	return hf_save_find(area, about->key, chunk->bytes, about->session);
}

/* Into memory of ours: a program's may be a chunk, which cannot be touched under the lock. */
static int read_saved(const struct file *file, struct holdfast_saved *about, void *to)
{
	const struct hf_save_area *area;
	struct hf_chunk chunk;
	u64 bytes;
	int failed = find_saved(file, about, &chunk);

	if (failed)
		return failed;
	area = (const struct hf_save_area *)((const char *)hf_region.base + chunk.offset);
	/* Once more, and bounded by what no program can change: who maps the area may store to it at any moment. */
	bytes = min_t(u64, READ_ONCE(area->bytes), chunk.bytes - HF_SAVE_LOG_OFFSET);
	if (about->from > bytes || about->wanted > bytes - about->from)
		return -ERANGE;
	memcpy(to, (const char *)area + HF_SAVE_LOG_OFFSET + about->from, about->wanted);
	about->bytes = bytes;
	about->offset = chunk.offset;
	about->cause = area->cause;
	return 0;
}

static int acknowledge(const struct file *file, const struct holdfast_saved *about)
{
	struct hf_chunk chunk;
	int failed = find_saved(file, about, &chunk);

	/* A damaged one can be acknowledged, too: nobody can replay it. Its session is damaged perhaps. */
	if (failed && failed != -EBADMSG)
		return failed;
	if (!(file->f_mode & FMODE_WRITE))
		return -EACCES;
	hf_save_void(&hf_saver, (struct hf_save_area *)((char *)hf_region.base + chunk.offset));
	return 0;
}

static int on_saved(struct hf_open_file *opened, unsigned int call, struct holdfast_saved *about, void *to)
{
	if (!hf_region.base)
		return -ENODEV;
	if (!hf_is_formatted)
		return -ENODATA;
	switch (call) {
	case HOLDFAST_NEXT_SAVED:
		return next_saved(opened->file, about);
	case HOLDFAST_READ_SAVED:
		return read_saved(opened->file, about, to);
	default:
		return acknowledge(opened->file, about);
	}
}

long hf_saved_ioctl(struct hf_open_file *opened, unsigned int call, void __user *at)
{
	struct holdfast_saved about;
	void *read = NULL;
	u64 wanted;
	long failed;

	if (copy_from_user(&about, at, sizeof(about)))
		return -EFAULT;
	if (about.reserved)
		return -EINVAL;
	wanted = call == HOLDFAST_READ_SAVED ? about.wanted : 0;
	if (wanted > hf_region.bytes)
		return -ERANGE;
	if (wanted) {
		read = kvmalloc(wanted, GFP_KERNEL_ACCOUNT);
		if (!read)
			return -ENOMEM;
	}
	mutex_lock(&hf_lock);
	failed = on_saved(opened, call, &about, read);
	mutex_unlock(&hf_lock);
	if (!failed && wanted && copy_to_user(u64_to_user_ptr(about.address), read, wanted))
		failed = -EFAULT;
	kvfree(read);
	if (!failed && call != HOLDFAST_ACKNOWLEDGE && copy_to_user(at, &about, sizeof(about)))
		failed = -EFAULT;
	return failed;
}
