// SPDX-License-Identifier: GPL-2.0
/*
 * What begins a save. Each is on while its bit is set: at first those of the parameter, then those of an ioctl. The end
 * of the machine is always on.
 *
 * A serial line needs our line discipline, which any driver of a port serves: the port stays the driver's, as for
 * pulses per second. Its settings must make the port tell of the event: BRKINT for break, CRTSCTS (or no CLOCAL, but
 * then the driver hangs up) for carrier detect.
 */
#include "module.h"

#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/debugfs.h>
#include <linux/input.h>
#include <linux/module.h>
#include <linux/panic_notifier.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/syscore_ops.h>
#include <linux/tty.h>
#include <linux/tty_ldisc.h>
#include <asm/nmi.h>

#define NMI_NAME "holdfast power"

ulong hf_triggers = 1 << HOLDFAST_BY_CARRIER | 1 << HOLDFAST_BY_BREAK | 1 << HOLDFAST_BY_PANIC | 1 << HOLDFAST_BY_DEBUG;
module_param_named(triggers, hf_triggers, ulong, 0444);
MODULE_PARM_DESC(triggers, "bits: 0 carrier detect, 1 break, 2 unknown NMI, 3 power button, 4 panic, 5 debugfs");

int hf_line_discipline = N_DEVELOPMENT;
module_param_named(line_discipline, hf_line_discipline, int, 0444);
MODULE_PARM_DESC(line_discipline, "our number for TIOCSETD");

static bool carrier_means_failure;
module_param(carrier_means_failure, bool, 0444);
MODULE_PARM_DESC(carrier_means_failure, "the power fails when the carrier comes, not when it goes");

static atomic_t lines;
static struct dentry *folder;

u64 hf_lines(void)
{
	return atomic_read(&lines);
}

static bool is_on(u32 cause)
{
	return READ_ONCE(hf_triggers) >> cause & 1;
}

static void signalled(u32 cause)
{
	if (is_on(cause))
		hf_power_fails(cause);
}

static int open_line(struct tty_struct *tty)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	tty->receive_room = 65536;
	atomic_inc(&lines);
	return 0;
}

static void close_line(struct tty_struct *tty)
{
	atomic_dec(&lines);
}

static void on_carrier(bool is_there)
{
	if (is_there == carrier_means_failure)
		signalled(HOLDFAST_BY_CARRIER);
}

static void on_bytes(const char *flags, size_t count)
{
	size_t i;

	for (i = 0; flags && i < count; i++)
		if (flags[i] == TTY_BREAK)
			signalled(HOLDFAST_BY_BREAK);
}

/* The types of both changed, in one series or the other and in what was carried back to older ones. */
static void on_carrier_unsigned(struct tty_struct *tty, unsigned int is_there)
{
	on_carrier(is_there);
}

static void on_carrier_bool(struct tty_struct *tty, bool is_there)
{
	on_carrier(is_there);
}

static void on_bytes_char(struct tty_struct *tty, const unsigned char *bytes, const char *flags, int count)
{
	on_bytes(flags, count);
}

static void on_bytes_u8(struct tty_struct *tty, const u8 *bytes, const u8 *flags, size_t count)
{
	on_bytes((const char *)flags, count);
}

#define FITTING(member, one, other) \
	__builtin_choose_expr(__builtin_types_compatible_p(typeof(((struct tty_ldisc_ops *)NULL)->member), \
							   typeof(one) *), one, other)

static struct tty_ldisc_ops discipline = {
	.owner = THIS_MODULE,
	.name = "holdfast",
	.open = open_line,
	.close = close_line,
	.dcd_change = FITTING(dcd_change, on_carrier_bool, on_carrier_unsigned),
	.receive_buf = FITTING(receive_buf, on_bytes_u8, on_bytes_char),
};

static int on_unknown_nmi(unsigned int type, struct pt_regs *regs)
{
	if (!is_on(HOLDFAST_BY_NMI))
		return NMI_DONE;
	/* One more while a save is in progress is no mystery either. */
	hf_power_fails(HOLDFAST_BY_NMI);
	return NMI_HANDLED;
}

static void on_key(struct input_handle *handle, unsigned int type, unsigned int code, int value)
{
	if (type == EV_KEY && code == KEY_POWER && value == 1)
		signalled(HOLDFAST_BY_BUTTON);
}

static int connect_button(struct input_handler *handler, struct input_dev *dev, const struct input_device_id *id)
{
	struct input_handle *handle = kzalloc(sizeof(*handle), GFP_KERNEL);
	int failed;

	if (!handle)
		return -ENOMEM;
	handle->dev = dev;
	handle->handler = handler;
	handle->name = "holdfast";
	failed = input_register_handle(handle);
	if (!failed) {
		failed = input_open_device(handle);
		if (!failed)
			return 0;
		input_unregister_handle(handle);
	}
	kfree(handle);
	return failed;
}

static void disconnect_button(struct input_handle *handle)
{
	input_close_device(handle);
	input_unregister_handle(handle);
	kfree(handle);
}

static const struct input_device_id buttons[] = {
	{
		.flags = INPUT_DEVICE_ID_MATCH_EVBIT | INPUT_DEVICE_ID_MATCH_KEYBIT,
		.evbit = { BIT_MASK(EV_KEY) },
		.keybit = { [BIT_WORD(KEY_POWER)] = BIT_MASK(KEY_POWER) },
	},
	{ },
};

static struct input_handler of_button = {
	.name = "holdfast",
	.event = on_key,
	.connect = connect_button,
	.disconnect = disconnect_button,
	.id_table = buttons,
};

static int on_panic(struct notifier_block *block, unsigned long event, void *text)
{
	signalled(HOLDFAST_BY_PANIC);
	return NOTIFY_DONE;
}

/* Before those that reboot or write dumps. */
static struct notifier_block of_panic = { .notifier_call = on_panic, .priority = INT_MAX };

/*
 * The machine restarts or goes off. In the usual way all processes have ended, and nothing is registered; where it is
 * forced they still run, and would go on until the very end: they are stopped for good.
 */
static void on_shutdown(void)
{
	u64 count;

	hf_registered_bytes(&count);
	if (!count)
		return;
	/* For good: on this processor, too, no process may run behind the save that counts. */
	preempt_disable();
	hf_power_fails(HOLDFAST_BY_SHUTDOWN);
}

#ifdef HF_HAS_SYSCORE
static void on_shutdown_of(void *data)
{
	on_shutdown();
}

static const struct syscore_ops of_shutdown = { .shutdown = on_shutdown_of };
static struct syscore at_shutdown = { .ops = &of_shutdown };
#else
static struct syscore_ops at_shutdown = { .shutdown = on_shutdown };
#define register_syscore register_syscore_ops
#define unregister_syscore unregister_syscore_ops
#endif

static ssize_t write_fail(struct file *file, const char __user *text, size_t size, loff_t *at)
{
	if (!is_on(HOLDFAST_BY_DEBUG))
		return -EPERM;
	return hf_power_fails_in_process(HOLDFAST_BY_DEBUG) ? size : -EBUSY;
}

static const struct file_operations of_fail = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = write_fail,
	.llseek = noop_llseek,
};

int hf_triggers_init(void)
{
	int failed;

	discipline.num = hf_line_discipline;
	failed = tty_register_ldisc(&discipline);
	if (failed)
		return failed;
	failed = register_nmi_handler(NMI_UNKNOWN, on_unknown_nmi, 0, NMI_NAME);
	if (failed)
		goto no_nmi;
	failed = input_register_handler(&of_button);
	if (failed)
		goto no_button;
	atomic_notifier_chain_register(&panic_notifier_list, &of_panic);
	register_syscore(&at_shutdown);
	folder = debugfs_create_dir("holdfast", NULL);
	debugfs_create_file("fail", 0200, folder, NULL, &of_fail);
	return 0;
no_button:
	unregister_nmi_handler(NMI_UNKNOWN, NMI_NAME);
no_nmi:
	tty_unregister_ldisc(&discipline);
	return failed;
}

void hf_triggers_exit(void)
{
	debugfs_remove(folder);
	unregister_syscore(&at_shutdown);
	atomic_notifier_chain_unregister(&panic_notifier_list, &of_panic);
	input_unregister_handler(&of_button);
	unregister_nmi_handler(NMI_UNKNOWN, NMI_NAME);
	tty_unregister_ldisc(&discipline);
}
