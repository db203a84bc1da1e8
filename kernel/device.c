// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/holdfast: chunks, made, used, mapped and freed. A chunk is in use while an open file uses it, or as the area of
 * a registered range; mappings keep their file.
 */
#include "module.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/libnvdimm.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

LIST_HEAD(hf_open_files);
DECLARE_WAIT_QUEUE_HEAD(hf_waiters);

bool hf_is_in_use(const struct hf_chunk *chunk)
{
	const struct hf_save_area *area;
	struct hf_open_file *each;

	list_for_each_entry(each, &hf_open_files, list)
		if (each->uses && (!chunk || each->chunk.offset == chunk->offset))
			return true;
	area = chunk ? hf_area_of(chunk) : NULL;
	return (!chunk || area) && hf_is_registered(area);
}

struct hf_save_area *hf_area_of(const struct hf_chunk *chunk)
{
	struct hf_save_area *area = (struct hf_save_area *)((char *)hf_region.base + chunk->offset);

	if (chunk->bytes <= HF_SAVE_LOG_OFFSET || !hf_save_is_area(area, chunk->key, chunk->bytes))
		return NULL;
	return area;
}

__u32 hf_asking_user(void)
{
	return from_kuid(&init_user_ns, current_fsuid());
}

bool hf_may_use(const struct hf_chunk *chunk, const struct file *file)
{
	const struct hf_chunk_user user = {
		.user = hf_asking_user(),
		.in_group = in_group_p(make_kgid(&init_user_ns, chunk->group)),
		.overrides = capable(CAP_DAC_OVERRIDE),
	};
	__u32 wanted = 0;

	if (file->f_mode & FMODE_READ)
		wanted |= HF_MAY_READ;
	if (file->f_mode & FMODE_WRITE)
		wanted |= HF_MAY_WRITE;
	return hf_chunk_permits(chunk, &user, wanted);
}

static void tell(struct holdfast_chunk *about, const struct hf_chunk *chunk)
{
	*about = (struct holdfast_chunk){ .key = chunk->key, .bytes = chunk->bytes, .offset = chunk->offset,
					  .mode = chunk->mode, .user = chunk->user, .group = chunk->group };
}

static void use(struct hf_open_file *opened, const struct hf_chunk *chunk, struct holdfast_chunk *about)
{
	opened->chunk = *chunk;
	opened->uses = true;
	tell(about, chunk);
}

static int make_chunk(struct hf_open_file *opened, struct holdfast_chunk *about)
{
	const struct hf_chunk_request request = {
		.key = about->key, .bytes = about->bytes, .mode = about->mode,
		.user = hf_asking_user(), .group = from_kgid(&init_user_ns, current_fsgid()),
	};
	struct hf_chunk made;
	int failed;

	if (opened->uses)
		return -EBUSY;
	failed = hf_chunks_make(&hf_region, &request, &made);
	if (!failed)
		use(opened, &made, about);
	return failed;
}

static int use_chunk(struct hf_open_file *opened, struct holdfast_chunk *about)
{
	const struct hf_save_area *area;
	struct hf_chunk found;
	int failed = hf_chunks_find(&hf_region, about->key, &found);

	if (failed)
		return failed;
	if (!hf_may_use(&found, opened->file))
		return -EACCES;
	if (opened->uses && opened->chunk.offset != found.offset)
		return -EBUSY;
	/* What a save writes is no program's. */
	area = hf_area_of(&found);
	if (area && hf_is_registered(area))
		return -EBUSY;
	use(opened, &found, about);
	return 0;
}

static int free_chunk(const struct holdfast_chunk *about)
{
	const struct hf_save_area *area;
	struct hf_chunk found;
	int failed = hf_chunks_find(&hf_region, about->key, &found);

	if (failed)
		return failed;
	if (found.user != hf_asking_user() && !capable(CAP_FOWNER))
		return -EPERM;
	if (hf_is_in_use(&found))
		return -EBUSY;
	area = hf_area_of(&found);
	if (area && hf_save_is_saved(area))
		return -ENOTEMPTY;
	return hf_chunks_free(&hf_region, about->key);
}

static int next_chunk(struct holdfast_chunk *about)
{
	struct hf_chunk found;
	int failed = hf_chunks_next(&hf_region, about->offset, &found);

	if (!failed)
		tell(about, &found);
	return failed;
}

static int on_chunk(struct hf_open_file *opened, unsigned int call, struct holdfast_chunk *about)
{
	if (about->reserved)
		return -EINVAL;
	if (!hf_is_formatted)
		return -ENODATA;
	switch (call) {
	case HOLDFAST_MAKE:
		return make_chunk(opened, about);
	case HOLDFAST_USE:
		return use_chunk(opened, about);
	case HOLDFAST_FREE:
		return free_chunk(about);
	default:
		return next_chunk(about);
	}
}

static int format_region(const struct holdfast_format *format)
{
	int failed;

	if (format->reserved || format->leaf_bytes % PAGE_SIZE)
		return -EINVAL;
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (hf_is_in_use(NULL))
		return -EBUSY;
	hf_handler_end();
	failed = hf_chunks_format(&hf_region, format->leaf_bytes);
	if (!failed)
		hf_is_formatted = true;
	/* A request that was refused has left what was there. */
	if (hf_is_formatted)
		hf_handler_begin();
	return failed;
}

static long holdfast_ioctl(struct file *file, unsigned int call, unsigned long argument)
{
	void __user *at = (void __user *)argument;
	struct hf_open_file *opened = file->private_data;
	struct holdfast_chunk about;
	struct holdfast_format format;
	long failed = 0;

	switch (call) {
	case HOLDFAST_FORMAT:
		failed = copy_from_user(&format, at, sizeof(format));
		break;
	case HOLDFAST_MAKE:
	case HOLDFAST_USE:
	case HOLDFAST_FREE:
	case HOLDFAST_NEXT:
		failed = copy_from_user(&about, at, sizeof(about));
		break;
	case HOLDFAST_REGISTER:
	case HOLDFAST_UNREGISTER:
		return hf_logs_ioctl(opened, call, at);
	case HOLDFAST_NEXT_SAVED:
	case HOLDFAST_READ_SAVED:
	case HOLDFAST_ACKNOWLEDGE:
		return hf_saved_ioctl(opened, call, at);
	case HOLDFAST_POWERFAIL_STATUS:
	case HOLDFAST_DRILL:
	case HOLDFAST_TRIGGERS:
		return hf_handler_ioctl(opened, call, at);
	default:
		return -ENOTTY;
	}
	if (failed)
		return -EFAULT;
	mutex_lock(&hf_lock);
	if (!hf_region.base)
		failed = -ENODEV;
	else if (call == HOLDFAST_FORMAT)
		failed = format_region(&format);
	else
		failed = on_chunk(opened, call, &about);
	mutex_unlock(&hf_lock);
	if (!failed && (_IOC_DIR(call) & _IOC_READ) && copy_to_user(at, &about, sizeof(about)))
		failed = -EFAULT;
	return failed;
}

/*
 * Pages are mapped when they are touched: then the mapping is known to whoever takes the region away, under the same
 * lock, and no page outlives the region.
 */
static vm_fault_t touch_page(struct vm_fault *vmf)
{
	const struct hf_open_file *opened = vmf->vma->vm_file->private_data;
	u64 from = (u64)vmf->pgoff << PAGE_SHIFT;
	vm_fault_t done = VM_FAULT_SIGBUS;

	mutex_lock(&hf_lock);
	if (hf_region.base && opened->uses && from < opened->chunk.bytes)
		done = vmf_insert_pfn(vmf->vma, vmf->address, PHYS_PFN(hf_region_begin + opened->chunk.offset + from));
	mutex_unlock(&hf_lock);
	return done;
}

static const struct vm_operations_struct of_pages = { .fault = touch_page };

static int map_chunk(const struct hf_open_file *opened, struct vm_area_struct *vma)
{
	u64 bytes = vma->vm_end - vma->vm_start, from = (u64)vma->vm_pgoff << PAGE_SHIFT;

	if (!hf_region.base)
		return -ENODEV;
	if (!opened->uses)
		return -ENODATA;
	/* Not VM_SHARED, which a shared mapping of a file that was opened to read does not have. */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (from > opened->chunk.bytes || bytes > opened->chunk.bytes - from)
		return -EINVAL;
#ifdef HF_HAS_VM_FLAGS_SET
	vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTDUMP);
#else
	vma->vm_flags |= VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTDUMP;
#endif
	vma->vm_ops = &of_pages;
	return 0;
}

static int holdfast_mmap(struct file *file, struct vm_area_struct *vma)
{
	int failed;

	mutex_lock(&hf_lock);
	failed = map_chunk(file->private_data, vma);
	mutex_unlock(&hf_lock);
	return failed;
}

static int holdfast_open(struct inode *inode, struct file *file)
{
	struct hf_open_file *opened = kzalloc(sizeof(*opened), GFP_KERNEL);

	if (!opened)
		return -ENOMEM;
	opened->file = file;
	opened->opener = current->mm;
	mutex_init(&opened->owner_lock);
	file->private_data = opened;
	mutex_lock(&hf_lock);
	list_add(&opened->list, &hf_open_files);
	mutex_unlock(&hf_lock);
	return 0;
}

/* What programs have stored to the file's chunk is durable. */
void hf_write_chunk_back(const struct hf_open_file *opened)
{
	if (opened->uses && hf_region.base && (opened->file->f_mode & FMODE_WRITE))
		hf_persist_in_pieces((char *)hf_region.base + opened->chunk.offset, opened->chunk.bytes);
}

/* msync as well. The whole chunk, whatever part of it is asked for. */
static int holdfast_fsync(struct file *file, loff_t begin, loff_t end, int datasync)
{
	const struct hf_open_file *opened = file->private_data;
	int failed;

	mutex_lock(&hf_lock);
	failed = hf_region.base ? 0 : -ENODEV;
	hf_write_chunk_back(opened);
	mutex_unlock(&hf_lock);
	return failed;
}

/* No descriptor and no mapping is left. */
static int holdfast_release(struct inode *inode, struct file *file)
{
	struct hf_open_file *opened = file->private_data;

	hf_end_registrations_of(opened);
	mutex_lock(&hf_lock);
	hf_write_chunk_back(opened);
	list_del(&opened->list);
	mutex_unlock(&hf_lock);
	kfree(opened);
	return 0;
}

static __poll_t holdfast_poll(struct file *file, struct poll_table_struct *wait)
{
	struct hf_open_file *opened = file->private_data;

	poll_wait(file, &hf_waiters, wait);
	return READ_ONCE(opened->lost) ? EPOLLHUP : 0;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = holdfast_open,
	.release = holdfast_release,
	.unlocked_ioctl = holdfast_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = holdfast_mmap,
	.fsync = holdfast_fsync,
	.poll = holdfast_poll,
#ifdef FOP_MMAP_SYNC
	.fop_flags = FOP_MMAP_SYNC,
#else
	.mmap_supported_flags = MAP_SYNC,
#endif
	.llseek = noop_llseek,
};

/* Everyone may open it: chunks have permissions of their own. */
static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "holdfast",
	.fops = &operations,
	.mode = 0666,
};

int hf_device_register(void)
{
	/* What it had before may be another device's now. */
	device.minor = MISC_DYNAMIC_MINOR;
	return misc_register(&device);
}

void hf_device_deregister(void)
{
	misc_deregister(&device);
}
