// SPDX-License-Identifier: GPL-2.0
/*
 * Homes: persistent memory that a log repeats, where its program has mapped it. A save writes all caches back and need
 * not know of them. But a panic has stopped the other processors before a save begins, and nobody can tell them to
 * write their caches back any more. A write-back by address reaches every cache, so the homes are found in the
 * program's page tables: what it has not mapped it has not stored to.
 *
 * The tables are only read, and nobody else runs. A processor that was stopped in the middle of changing one leaves an
 * entry that is the old or the new one.
 */
#include "module.h"

#include <linux/libnvdimm.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

/* The frame that the address is in, if there is one, and the bytes that the entry covers. */
static bool look_up(struct mm_struct *mm, unsigned long address, unsigned long *frame, unsigned long *covers)
{
	pgd_t *pgd = pgd_offset(mm, address);
	p4d_t *p4d;
	pud_t *pud;
	pmd_t *pmd;
	pte_t *pte;

	*covers = PGDIR_SIZE;
	if (pgd_none(*pgd))
		return false;
	p4d = p4d_offset(pgd, address);
	*covers = P4D_SIZE;
	if (!p4d_present(*p4d))
		return false;
	pud = pud_offset(p4d, address);
	*covers = PUD_SIZE;
	if (!pud_present(*pud))
		return false;
	*frame = pud_pfn(*pud);
	if (pud_leaf(*pud))
		return true;
	pmd = pmd_offset(pud, address);
	*covers = PMD_SIZE;
	if (!pmd_present(*pmd))
		return false;
	*frame = pmd_pfn(*pmd);
	if (pmd_leaf(*pmd))
		return true;
	pte = pte_offset_kernel(pmd, address);
	*covers = PAGE_SIZE;
	*frame = pte_pfn(*pte);
	return pte_present(*pte);
}

/* Returns how many bytes were mapped. Only where no other processor runs. */
u64 hf_write_homes_back(struct mm_struct *mm, unsigned long address, unsigned long end)
{
	unsigned long frame, covers, within, bytes;
	u64 written = 0;

	for (; address < end; address += bytes) {
		bool is_mapped = look_up(mm, address, &frame, &covers);

		within = address & (covers - 1);
		bytes = min(covers - within, end - address);
		/* Memory without descriptors of its pages has no address of the kernel's. */
		if (!is_mapped || !pfn_valid(frame))
			continue;
		arch_wb_cache_pmem((char *)__va(PFN_PHYS(frame)) + within, bytes);
		written += bytes;
	}
	return written;
}
