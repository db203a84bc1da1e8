// SPDX-License-Identifier: GPL-2.0
/*
 * The module: takes the namespace of persistent memory that its parameter names, once it is bound to it, and maps chunks
 * of it. It takes no other one, and none that is used as something else.
 *
 * It owns the region from probe to remove, and /dev/holdfast meanwhile. `lock` guards the tree of chunks, the list of
 * open files and what each of them uses. A chunk is in use while an open file uses it; mappings keep their file.
 */
#include "chunks.h"
#include "holdfast_chunks.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/libnvdimm.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nd.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/version.h>

static char *namespace = "";
module_param(namespace, charp, 0444);
MODULE_PARM_DESC(namespace, "the namespace to divide into chunks, such as namespace0.0");

struct open_file {
	struct list_head list;
	struct file *file;
	struct hf_chunk chunk;
	bool uses; /* the chunk */
};

static DEFINE_MUTEX(lock);
static LIST_HEAD(open_files);

/* Of the region; base is NULL while there is none. */
static struct hf_chunks region;
static phys_addr_t region_begin;
static bool is_formatted;

static void store_word(void *context, __u64 *at, __u64 value)
{
	WRITE_ONCE(*at, value);
}

static void persist_bytes(void *context, const void *begin, __u64 bytes)
{
	arch_wb_cache_pmem((void *)begin, bytes);
	pmem_wmb();
}

static void clear_bytes(void *context, __u64 offset, __u64 bytes)
{
	memset((char *)region.base + offset, 0, bytes);
	persist_bytes(NULL, (char *)region.base + offset, bytes);
}

static bool is_in_use(const struct hf_chunk *chunk)
{
	struct open_file *each;

	list_for_each_entry(each, &open_files, list)
		if (each->uses && (!chunk || each->chunk.offset == chunk->offset))
			return true;
	return false;
}

static __u32 asking_user(void)
{
	return from_kuid(&init_user_ns, current_fsuid());
}

static bool may_use(const struct hf_chunk *chunk, const struct file *file)
{
	const struct hf_chunk_user user = {
		.user = asking_user(),
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

static void use(struct open_file *opened, const struct hf_chunk *chunk, struct holdfast_chunk *about)
{
	opened->chunk = *chunk;
	opened->uses = true;
	tell(about, chunk);
}

static int make_chunk(struct open_file *opened, struct holdfast_chunk *about)
{
	const struct hf_chunk_request request = {
		.key = about->key, .bytes = about->bytes, .mode = about->mode,
		.user = asking_user(), .group = from_kgid(&init_user_ns, current_fsgid()),
	};
	struct hf_chunk made;
	int failed;

	if (opened->uses)
		return -EBUSY;
	failed = hf_chunks_make(&region, &request, &made);
	if (!failed)
		use(opened, &made, about);
	return failed;
}

static int use_chunk(struct open_file *opened, struct holdfast_chunk *about)
{
	struct hf_chunk found;
	int failed = hf_chunks_find(&region, about->key, &found);

	if (failed)
		return failed;
	if (!may_use(&found, opened->file))
		return -EACCES;
	if (opened->uses && opened->chunk.offset != found.offset)
		return -EBUSY;
	use(opened, &found, about);
	return 0;
}

static int free_chunk(const struct holdfast_chunk *about)
{
	struct hf_chunk found;
	int failed = hf_chunks_find(&region, about->key, &found);

	if (failed)
		return failed;
	if (found.user != asking_user() && !capable(CAP_FOWNER))
		return -EPERM;
	if (is_in_use(&found))
		return -EBUSY;
	return hf_chunks_free(&region, about->key);
}

static int next_chunk(struct holdfast_chunk *about)
{
	struct hf_chunk found;
	int failed = hf_chunks_next(&region, about->offset, &found);

	if (!failed)
		tell(about, &found);
	return failed;
}

static int on_chunk(struct open_file *opened, unsigned int call, struct holdfast_chunk *about)
{
	if (about->reserved)
		return -EINVAL;
	if (!is_formatted)
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
	if (is_in_use(NULL))
		return -EBUSY;
	failed = hf_chunks_format(&region, format->leaf_bytes);
	if (!failed)
		is_formatted = true;
	return failed;
}

static long holdfast_ioctl(struct file *file, unsigned int call, unsigned long argument)
{
	void __user *at = (void __user *)argument;
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
	default:
		return -ENOTTY;
	}
	if (failed)
		return -EFAULT;
	mutex_lock(&lock);
	if (!region.base)
		failed = -ENODEV;
	else if (call == HOLDFAST_FORMAT)
		failed = format_region(&format);
	else
		failed = on_chunk(file->private_data, call, &about);
	mutex_unlock(&lock);
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
	const struct open_file *opened = vmf->vma->vm_file->private_data;
	u64 from = (u64)vmf->pgoff << PAGE_SHIFT;
	vm_fault_t done = VM_FAULT_SIGBUS;

	mutex_lock(&lock);
	if (region.base && opened->uses && from < opened->chunk.bytes)
		done = vmf_insert_pfn(vmf->vma, vmf->address, PHYS_PFN(region_begin + opened->chunk.offset + from));
	mutex_unlock(&lock);
	return done;
}

static const struct vm_operations_struct of_pages = { .fault = touch_page };

static int map_chunk(const struct open_file *opened, struct vm_area_struct *vma)
{
	u64 bytes = vma->vm_end - vma->vm_start, from = (u64)vma->vm_pgoff << PAGE_SHIFT;

	if (!region.base)
		return -ENODEV;
	if (!opened->uses)
		return -ENODATA;
	/* Not VM_SHARED, which a shared mapping of a file that was opened to read does not have. */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (from > opened->chunk.bytes || bytes > opened->chunk.bytes - from)
		return -EINVAL;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
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

	mutex_lock(&lock);
	failed = map_chunk(file->private_data, vma);
	mutex_unlock(&lock);
	return failed;
}

static int holdfast_open(struct inode *inode, struct file *file)
{
	struct open_file *opened = kzalloc(sizeof(*opened), GFP_KERNEL);

	if (!opened)
		return -ENOMEM;
	opened->file = file;
	file->private_data = opened;
	mutex_lock(&lock);
	list_add(&opened->list, &open_files);
	mutex_unlock(&lock);
	return 0;
}

/* What programs have stored to the file's chunk is durable. */
static void write_chunk_back(const struct open_file *opened)
{
	if (opened->uses && region.base && (opened->file->f_mode & FMODE_WRITE))
		persist_bytes(NULL, (char *)region.base + opened->chunk.offset, opened->chunk.bytes);
}

/* msync as well. The whole chunk, whatever part of it is asked for. */
static int holdfast_fsync(struct file *file, loff_t begin, loff_t end, int datasync)
{
	const struct open_file *opened = file->private_data;
	int failed;

	mutex_lock(&lock);
	failed = region.base ? 0 : -ENODEV;
	write_chunk_back(opened);
	mutex_unlock(&lock);
	return failed;
}

/* No descriptor and no mapping is left. */
static int holdfast_release(struct inode *inode, struct file *file)
{
	struct open_file *opened = file->private_data;

	mutex_lock(&lock);
	write_chunk_back(opened);
	list_del(&opened->list);
	mutex_unlock(&lock);
	kfree(opened);
	return 0;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = holdfast_open,
	.release = holdfast_release,
	.unlocked_ioctl = holdfast_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = holdfast_mmap,
	.fsync = holdfast_fsync,
	.mmap_supported_flags = MAP_SYNC,
	.llseek = noop_llseek,
};

/* Everyone may open it: chunks have permissions of their own. */
static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "holdfast",
	.fops = &operations,
	.mode = 0666,
};

static int open_region(struct device *dev)
{
	struct hf_chunks_problem problem;
	int failed = hf_chunks_open(&region, &problem);

	is_formatted = !failed;
	if (failed == -EUCLEAN)
		dev_err(dev, "%s: at byte %llu of the region expected %#llx, found %#llx\n", problem.what,
			problem.offset, problem.expected, problem.found);
	/* What has never been formatted can be. */
	return failed == -ENODATA ? 0 : failed;
}

static int take_region(struct device *dev)
{
	const struct resource *found = &to_nd_namespace_io(dev)->res;
	void *base;

	if (region.base)
		return -EBUSY;
	if (!devm_request_mem_region(dev, found->start, resource_size(found), dev_name(dev)))
		return -EBUSY;
	base = devm_memremap(dev, found->start, resource_size(found), MEMREMAP_WB);
	if (IS_ERR(base))
		return PTR_ERR(base);
	region = (struct hf_chunks){ .base = base, .bytes = resource_size(found) };
	region.media = (struct hf_chunks_media){ .store = store_word, .persist = persist_bytes, .clear = clear_bytes };
	region_begin = found->start;
	return open_region(dev);
}

static void give_region_back(void)
{
	struct open_file *each;

	mutex_lock(&lock);
	region.base = NULL;
	/* Whatever comes in its place, another region or this one changed, they do not use. */
	list_for_each_entry(each, &open_files, list) {
		each->uses = false;
		unmap_mapping_range(each->file->f_mapping, 0, 0, 1);
	}
	mutex_unlock(&lock);
}

static int holdfast_probe(struct device *dev)
{
	int failed;

	if (strcmp(dev_name(dev), namespace) || to_ndns(dev)->claim)
		return -ENODEV;
	mutex_lock(&lock);
	failed = take_region(dev);
	if (failed && failed != -EBUSY)
		region.base = NULL;
	mutex_unlock(&lock);
	if (failed)
		return failed;
	/* What it had before may be another device's now. */
	device.minor = MISC_DYNAMIC_MINOR;
	failed = misc_register(&device);
	if (failed)
		give_region_back();
	return failed;
}

/* Who still has the device open gets ENODEV, and SIGBUS where a chunk was mapped. */
static void holdfast_remove(struct device *dev)
{
	misc_deregister(&device);
	give_region_back();
}

static struct nd_device_driver holdfast_driver = {
	.drv = { .name = "holdfast", .probe_type = PROBE_FORCE_SYNCHRONOUS },
	.type = ND_DRIVER_NAMESPACE_IO | ND_DRIVER_NAMESPACE_PMEM,
	.probe = holdfast_probe,
	.remove = holdfast_remove,
};

module_nd_driver(holdfast_driver);

MODULE_DESCRIPTION("Chunks of persistent memory under keys");
MODULE_LICENSE("GPL");
