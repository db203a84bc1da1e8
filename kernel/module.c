// SPDX-License-Identifier: GPL-2.0
/*
 * The module: takes the namespace of persistent memory that its parameter names, once it is bound to it. It takes no
 * other one, and none that is used as something else. It has the region from probe to remove, and offers /dev/holdfast
 * meanwhile.
 */
#include "module.h"

#include <linux/device.h>
#include <linux/io.h>
#include <linux/libnvdimm.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nd.h>
#include <linux/sched/signal.h>

static char *namespace = "";
module_param(namespace, charp, 0444);
MODULE_PARM_DESC(namespace, "the namespace to divide into chunks, such as namespace0.0");

/* module.h says what it guards. */
DEFINE_MUTEX(hf_lock);
struct hf_chunks hf_region;
phys_addr_t hf_region_begin;
bool hf_is_formatted;

static void store_word(void *context, __u64 *at, __u64 value)
{
	WRITE_ONCE(*at, value);
}

void hf_persist(void *context, const void *begin, __u64 bytes)
{
	arch_wb_cache_pmem((void *)begin, bytes);
	pmem_wmb();
}

/* Hundreds of gigabytes take minutes: in pieces, between which others run. */
static const __u64 piece_bytes = 2 << 20;

void hf_persist_in_pieces(const void *begin, __u64 bytes)
{
	const char *at = begin;
	const char *end = at + bytes;

	for (; at < end; at += piece_bytes) {
		hf_persist(NULL, at, min_t(__u64, piece_bytes, end - at));
		cond_resched();
	}
}

static int clear_bytes(void *context, __u64 offset, __u64 bytes)
{
	__u64 end = offset + bytes;

	for (; offset < end; offset += piece_bytes) {
		__u64 piece = min_t(__u64, piece_bytes, end - offset);

		if (fatal_signal_pending(current))
			return -EINTR;
		memset((char *)hf_region.base + offset, 0, piece);
		hf_persist(NULL, (char *)hf_region.base + offset, piece);
		cond_resched();
	}
	return 0;
}

static int open_region(struct device *dev)
{
	struct hf_chunks_problem problem;
	int failed = hf_chunks_open(&hf_region, &problem);

	hf_is_formatted = !failed;
	if (failed == -EUCLEAN)
		dev_err(dev, "%s: at byte %llu of the region expected %#llx, found %#llx\n", problem.what,
			problem.offset, problem.expected, problem.found);
	if (!failed)
		hf_handler_begin();
	/* What has never been formatted can be. */
	return failed == -ENODATA ? 0 : failed;
}

static int take_region(struct device *dev)
{
	const struct resource *found = &to_nd_namespace_io(dev)->res;
	void *base;

	if (hf_region.base)
		return -EBUSY;
	if (!devm_request_mem_region(dev, found->start, resource_size(found), dev_name(dev)))
		return -EBUSY;
	base = devm_memremap(dev, found->start, resource_size(found), MEMREMAP_WB);
	if (IS_ERR(base))
		return PTR_ERR(base);
	hf_region = (struct hf_chunks){ .base = base, .bytes = resource_size(found) };
	hf_region.media = (struct hf_chunks_media){ .store = store_word, .persist = hf_persist, .clear = clear_bytes };
	hf_region_begin = found->start;
	return open_region(dev);
}

static void give_region_back(void)
{
	struct hf_open_file *each;

	mutex_lock(&hf_lock);
	hf_handler_end();
	hf_lose_registrations();
	hf_region.base = NULL;
	/* Whatever comes in its place, another region or this one changed, they do not use. */
	list_for_each_entry(each, &hf_open_files, list) {
		each->uses = false;
		unmap_mapping_range(each->file->f_mapping, 0, 0, 1);
	}
	mutex_unlock(&hf_lock);
}

static int holdfast_probe(struct device *dev)
{
	int failed;

	if (strcmp(dev_name(dev), namespace) || to_ndns(dev)->claim)
		return -ENODEV;
	mutex_lock(&hf_lock);
	failed = take_region(dev);
	if (failed && failed != -EBUSY)
		hf_region.base = NULL;
	mutex_unlock(&hf_lock);
	if (failed)
		return failed;
	failed = hf_device_register();
	if (failed)
		give_region_back();
	return failed;
}

/* Who still has the device open gets ENODEV, and SIGBUS where a chunk was mapped. */
static void holdfast_remove(struct device *dev)
{
	hf_device_deregister();
	give_region_back();
}

static struct nd_device_driver holdfast_driver = {
	.drv = { .name = "holdfast", .probe_type = PROBE_FORCE_SYNCHRONOUS },
	.type = ND_DRIVER_NAMESPACE_IO | ND_DRIVER_NAMESPACE_PMEM,
	.probe = holdfast_probe,
	.remove = holdfast_remove,
};

static int __init holdfast_init(void)
{
	int failed = hf_handler_init();

	if (failed)
		return failed;
	failed = nd_driver_register(&holdfast_driver);
	if (failed)
		goto no_driver;
	/* Last: from here on a save may begin. */
	failed = hf_triggers_init();
	if (!failed)
		return 0;
	nd_driver_unregister(&holdfast_driver);
no_driver:
	hf_handler_exit();
	return failed;
}

static void __exit holdfast_exit(void)
{
	hf_triggers_exit();
	nd_driver_unregister(&holdfast_driver);
	hf_handler_exit();
}

module_init(holdfast_init);
module_exit(holdfast_exit);

MODULE_DESCRIPTION("Chunks of persistent memory under keys, and logs that are saved when the power fails");
MODULE_LICENSE("GPL");
