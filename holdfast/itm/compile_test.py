#!/usr/bin/env python3
"""What must compile and link does, what must not is refused with the message that the guide promises.

    compile_test.py COMPILER ROOT RUNTIME LIBRARY OPTION...

ROOT: where holdfast/ is; RUNTIME, LIBRARY: the static libraries of the runtime and of holdfast; OPTION: of atomic
blocks, with the plugin among them.
"""

import os
import re
import subprocess
import sys
import tempfile

COMPILER, ROOT, RUNTIME, LIBRARY, *OPTIONS = sys.argv[1:]
BASE = [COMPILER, "-std=c++20", "-O2", "-w", "-I" + ROOT]
WITHOUT_PLUGIN = [each for each in OPTIONS if not each.startswith("-fplugin=")] + ["-DHOLDFAST_TM_UNCHECKED"]
assert len(WITHOUT_PLUGIN) == len(OPTIONS), "the plugin is not among the options, or twice"

TYPES = ["U1", "U2", "U4", "U8", "F", "D", "E", "M64", "M128"] + (["M256"] if "x86" in os.uname().machine else [])
SYMBOLS = (
    ["_ITM_" + name for name in
     ["beginTransaction", "commitTransaction", "commitTransactionEH", "abortTransaction", "changeTransactionMode",
      "registerTMCloneTable", "deregisterTMCloneTable", "getTMCloneOrIrrevocable", "getTMCloneSafe",
      "addUserCommitAction", "addUserUndoAction", "inTransaction", "getTransactionId", "malloc", "calloc", "free", "LB",
      "memcpyRtWt", "memcpyRnWt", "memcpyRtWn", "memmoveRtWt", "memsetW", "cxa_allocate_exception",
      "cxa_free_exception", "cxa_throw", "cxa_begin_catch", "cxa_end_catch"]]
    + ["_ITM_" + kind + type for kind in ("R", "RaR", "RaW", "RfW", "W", "WaR", "WaW", "L") for type in TYPES]
    + ["_ZGTt" + new + form for new in ("nwm", "nam")
       for form in ("", "RKSt9nothrow_t", "St11align_val_t", "St11align_val_tRKSt9nothrow_t")]
    + ["_ZGTt" + delete + form for delete in ("dlPv", "daPv")
       for form in ("", "m", "RKSt9nothrow_t", "mRKSt9nothrow_t", "St11align_val_t", "mSt11align_val_t",
                    "St11align_val_tRKSt9nothrow_t")])

# What the guide says does not compile in a block: code, and what the compiler says.
UNSAFE = {
    "std::list": ("std::list<int> c;", "c.push_back(1);", "unsafe function call"),
    "std::unordered_map": ("std::unordered_map<int, int> c;", "c[1] = 2;", "unsafe function call"),
    "std::string": ("std::string c;", "c.append(\"ab\");", "unsafe function call"),
    "std::shared_ptr": ("std::shared_ptr<int> c, d;", "c = d;", "unsafe function call|asm|atomic"),
    "vector::at": ("std::vector<int> c;", "c.at(1) = 2;", "unsafe function call"),
    "aligned new": ("struct alignas(64) wide { long value; }; wide* c;", "c = new wide;", "unsafe function call"),
    "volatile": ("volatile int c;", "c = 1;", "volatile"),
    "std::atomic": ("std::atomic<int> c;", "c = 1;", "unsafe|volatile|transaction"),
    "printf": ("", "std::printf(\"a\");", "unsafe function call"),
    "std::mutex": ("std::mutex c;", "c.lock();", "unsafe function call"),
    "asm": ("", "asm volatile(\"\");", "asm"),
    "alloca": ("char* c;", "c = static_cast<char*>(__builtin_alloca(v)); v = *c;", "unsafe function call"),
}
STANDARD = "".join(f"#include <{name}>\n" for name in
                   ("atomic", "cstdio", "list", "memory", "mutex", "string", "unordered_map"))

problems = []


def run(command, alone="off"):
    """The only thread has blocks with barriers, unless `alone` is on."""
    environment = {**os.environ, "HOLDFAST_BLOCKS_ALONE": alone}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    return done.returncode, done.stdout + done.stderr


def instrumented(name):
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "instrumented", name)


def link(object_file, program, threads=2):
    """With so many threads that have had blocks before main."""
    second = os.path.join(os.path.dirname(program), "second_thread.o")
    if not os.path.exists(second):
        status, said = run([*BASE, *OPTIONS, "-c", instrumented("second_thread.cc"), "-o", second])
        expect(status == 0, "second_thread.cc does not compile", said)
    return run([COMPILER, object_file, *([second] if threads == 2 else []), "-o", program, RUNTIME, LIBRARY])


def expect(holds, what, said=""):
    if not holds:
        problems.append(what)
        print(f"{what}\n{said}")


def write(directory, name, text):
    path = os.path.join(directory, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def check_symbols(directory):
    """A program that refers to every symbol links without libitm, and the dynamic linker loads none."""
    lines = [f'extern "C" void {name}();' for name in SYMBOLS]
    lines += ["using function = void();", "function* const volatile all[] = {" + ", ".join(SYMBOLS) + "};",
              "int main() { for (auto each : all) if (each == nullptr) return 1; return 0; }"]
    source, program = write(directory, "symbols.cpp", "\n".join(lines) + "\n"), os.path.join(directory, "symbols")
    status, said = run([*BASE, "-fno-builtin", source, "-o", program, RUNTIME, LIBRARY])
    expect(status == 0, f"a program with all {len(SYMBOLS)} symbols does not link", said)
    if status == 0:
        expect(run([program])[0] == 0, "a symbol is null")
        expect("libitm" not in run(["ldd", program])[1], "the program loads libitm")
    expect(len(SYMBOLS) >= 114, f"only {len(SYMBOLS)} symbols")


def check_header(directory):
    """itm.hpp compiles with the flags only; std.hpp only as the first header."""
    source = write(directory, "header.cpp", "#include <holdfast/itm/itm.hpp>\nlong v;\nvoid f() { __transaction_atomic { ++v; } }\n")
    compile_only = ["-c", "-o", os.devnull, source]
    status, said = run([*BASE, *OPTIONS, *compile_only])
    expect(status == 0, "itm.hpp does not compile with its flags", said)
    for missing, message in (("-DHOLDFAST_TM_FLAGS=2", "-fno-code-hoisting"), ("-fgnu-tm", "-fgnu-tm")):
        status, said = run([*BASE, *[each for each in OPTIONS if each != missing], *compile_only])
        expect(status != 0 and message in said, f"itm.hpp compiles without {missing}", said)
    status, said = run([*BASE, *WITHOUT_PLUGIN[:-1], *compile_only])
    expect(status != 0 and "plugin" in said, "itm.hpp compiles without the plugin", said)
    status, said = run([*BASE, *WITHOUT_PLUGIN, *compile_only])
    expect(status == 0, "itm.hpp does not compile without the plugin where that is asked for", said)
    status, said = run([*BASE, *OPTIONS, "-g3", *compile_only])
    expect(status == 0, "itm.hpp does not compile with debug information about macros", said)
    # As compiler caches and -save-temps do.
    plain = os.path.join(directory, "header.ii")
    status, said = run([*BASE, *OPTIONS, "-E", source, "-o", plain])
    if status == 0:
        status, said = run([*BASE, *OPTIONS, "-c", "-o", os.devnull, plain])
    expect(status == 0, "itm.hpp does not compile in two steps", said)
    late = write(directory, "late.cpp", "#include <vector>\n#include <holdfast/itm/std.hpp>\n")
    status, said = run([*BASE, *OPTIONS, "-c", "-o", os.devnull, late])
    expect(status != 0 and "before every header" in said, "std.hpp compiles after <vector>", said)


def check_unsafe(directory):
    """Each line of the guide's table of what does not compile, and the same without it, which does."""
    for name, (declared, body, message) in UNSAFE.items():
        for inside in (True, False):
            text = f"#include <holdfast/itm/std.hpp>\n{STANDARD}{declared}\nlong v;\nvoid f() {{ __transaction_atomic {{ ++v; "
            text += body if inside else ""
            source = write(directory, "unsafe.cpp", text + " } }\n")
            status, said = run([*BASE, *OPTIONS, "-c", "-o", os.devnull, source])
            if inside:
                expect(status != 0 and re.search(message, said), f"{name} compiles in a block, or fails otherwise", said)
            else:
                expect(status == 0, f"what is around {name} does not compile", said)


def check_libitm(directory):
    """Without the runtime a program does not link, and beside libitm it does not start."""
    text = "#include <holdfast/itm/itm.hpp>\nlong v;\nint main() { __transaction_atomic { ++v; } return v == 1 ? 0 : 2; }\n"
    source, program = write(directory, "main.cpp", text), os.path.join(directory, "main")
    object_file = os.path.join(directory, "main.o")
    status, said = run([*BASE, *OPTIONS, "-c", source, "-o", object_file])
    expect(status == 0, "a block does not compile", said)
    status, said = run([COMPILER, object_file, "-o", program, RUNTIME, LIBRARY])
    expect(status == 0 and run([program])[0] == 0, "a block does not run", said)
    expect("libitm" not in run(["ldd", program])[1], "the program loads libitm")
    if not os.path.isabs(run([COMPILER, "-print-file-name=libitm.so"])[1].strip()):
        print("libitm is not installed: what comes of it is not looked at")
        return
    status, said = run([COMPILER, "-fgnu-tm", object_file, "-o", program])
    expect(status != 0 and "holdfast_itm_value_or_holdfast_itm_versioned_is_not_linked" in said,
           "a program links with libitm instead of the runtime", said)
    status, said = run([COMPILER, "-fgnu-tm", "-Wl,--no-as-needed", object_file, "-o", program, RUNTIME, LIBRARY])
    if status == 0:
        status, said = run([program])
    expect(status != 0 and "libitm" in said, "a program starts beside libitm", said)


def check_unsafe_pointer(directory):
    """A call by pointer of a function without a clone says which and where."""
    text = """#include <holdfast/itm/itm.hpp>
void plain() { asm volatile(""); }
typedef void safe() __attribute__((transaction_safe));
safe* volatile step = reinterpret_cast<safe*>(&plain);
long v;
int main() { safe* now = step; __transaction_atomic { ++v; now(); } }
"""
    source, program = write(directory, "pointer.cpp", text), os.path.join(directory, "pointer")
    object_file = os.path.join(directory, "pointer.o")
    status, said = run([*BASE, *OPTIONS, "-c", source, "-o", object_file])
    if status == 0:
        status, said = run([COMPILER, "-rdynamic", object_file, "-o", program, RUNTIME, LIBRARY])
    expect(status == 0, "a call by pointer does not compile", said)
    if status == 0:
        status, said = run([program])
        expect(status != 0 and "plain" in said and "transaction_safe" in said, "an unsafe call does not say where", said)


BIT_FIELDS = """#include <holdfast/itm/itm.hpp>
struct narrow { unsigned low : 3, high : 5; } one, other;
struct wide { long first : 24, second : 40; long whole; } two;
long v;
[[gnu::transaction_pure, gnu::noinline]] narrow both(narrow of) { of.low = 5; of.high = 9; return of; }
"""
# What of bit-fields in a block is refused, and what is not, since it is right.
WRONG_BIT_FIELDS = ["one.low = 5;", "v = one.high;", "one.low += 1;", "two.second = v;", "v = in_function(&two);",
                    "narrow* at = v == 1 ? &one : &other; at->high = 1;"]
IN_FUNCTION = "[[gnu::transaction_safe, gnu::noinline]] long in_function(wide* of) { return of->second += 1; }\n"
RIGHT_BIT_FIELDS = ["one = other;", "two.whole = 1;", "one = both(one);"]


def check_bit_fields(directory):
    """Bit-fields are wrong in blocks, and the plugin refuses them; the day on which they are right, it can go."""
    text = BIT_FIELDS + """int main() {
    __transaction_atomic { one.low = 5; }
    __transaction_atomic { one.high = 9; }
    return one.low == 5 && one.high == 9 ? 0 : 3;
}
"""
    program = os.path.join(directory, "bits")
    for level in ("-O0", "-O1", "-O2", "-O3"):
        object_file = os.path.join(directory, "bits.o")
        status, said = run([*BASE, *WITHOUT_PLUGIN, level, "-c", write(directory, "bits.cpp", text), "-o", object_file])
        if status == 0:
            status, said = link(object_file, program)
        expect(status == 0, f"a program with bit-fields does not compile at {level}", said)
        expect(status != 0 or run([program])[0] == 3,
               f"bit-fields are right at {level}: the plugin and the guide's line are not needed any more")
        for body in WRONG_BIT_FIELDS + RIGHT_BIT_FIELDS:
            function = IN_FUNCTION if "in_function" in body else ""
            source = write(directory, "bits.cpp", BIT_FIELDS + function + f"void f() {{ __transaction_atomic {{ {body} }} }}\n")
            status, said = run([*BASE, *OPTIONS, level, "-c", "-o", os.devnull, source])
            if body in WRONG_BIT_FIELDS:
                expect(status != 0 and "is a bit-field" in said, f"{body} is not refused at {level}", said)
            else:
                expect(status == 0, f"{body} is refused at {level}", said)


# A cancel that is in no block's own text, which the plugin refuses: the block would begin again for ever.
LOST_CANCELS = {
    "in a function": "inline void f() { word = 1; HOLDFAST_CANCEL; }\nvoid g() { __transaction_atomic { f(); } }\n",
    "in a lambda": "void g() { auto f = [] { if (word) HOLDFAST_CANCEL; }; __transaction_atomic { f(); } }\n",
    "in a template's argument": "template <class F> void run(F f) { __transaction_atomic { f(); } }\n"
                                "void g() { run([] { HOLDFAST_CANCEL; }); }\n",
}
RIGHT_CANCELS = {
    "of the outermost block": "[[gnu::transaction_may_cancel_outer]] void f() { __transaction_cancel [[outer]]; }\n"
                              "void g() { __transaction_atomic [[outer]] { word = 1; f(); } }\n",
    "in a template": "template <class T> void f(T x) { __transaction_atomic { word = x; if (x) HOLDFAST_CANCEL; } }\n"
                     "void g() { f(5); f(5L); }\n",
    "in a lambda's block": "void g() { [] { for (;;) __transaction_atomic { if (word) __transaction_cancel; } }(); }\n",
}


def check_cancels(directory):
    """A cancel is in the text of its block."""
    for level in ("-O0", "-O2"):
        for where, text in {**LOST_CANCELS, **RIGHT_CANCELS}.items():
            source = write(directory, "cancel.cpp", "#include <holdfast/itm/access.hpp>\nlong word;\n" + text)
            status, said = run([*BASE, *OPTIONS, level, "-c", "-o", os.devnull, source])
            if where in LOST_CANCELS:
                expect(status != 0 and "a cancel outside" in said, f"a cancel {where} is not refused at {level}", said)
            else:
                expect(status == 0, f"a cancel {where} is refused at {level}", said)


RESULTS = """#include <cstdio>
struct three { long a, b, c; };
struct two { long a, b; };
struct object {
    long a, b, c;
    object(long first) : a(first), b(first + 1), c(first + 2) {}
    [[gnu::transaction_safe]] object(const object& other) : a(other.a), b(other.b), c(other.c) {}
};
three global;
long v = 5, w;
[[gnu::transaction_safe, gnu::noinline]] three by_value() { return {v, v + 1, v + 2}; }
[[gnu::transaction_safe, gnu::noinline]] object by_object() { return object(v); }
[[gnu::transaction_safe, gnu::noinline]] two in_registers() { return {v, v + 1}; }
[[gnu::transaction_safe, gnu::noinline]] void by_reference(three& to) { to = {v, v + 1, v + 2}; }
[[gnu::transaction_safe, gnu::noinline]] long in_function() { const three x = by_value(); return x.b; }
[[gnu::transaction_pure, gnu::noinline]] three pure() { return {5, 6, 7}; }
"""
# Each leaves 6 in w: results in memory, which are right thanks to the plugin, and results that are right without it.
RESULTS_IN_MEMORY = ["global = by_value(); w = global.b;", "const three x = by_value(); w = x.b;", "w = by_value().b;"]
RIGHT_RESULTS = ["w = in_registers().b;", "three x; by_reference(x); w = x.b;", "w = in_function();", "w = pure().b;",
                 "global = pure(); w = global.b;"]
REFUSED_RESULTS = ["const object x = by_object(); w = x.b;", "w = by_object().b;"]


def check_results_in_memory(directory):
    """Results in memory are lost in blocks without the plugin, which refuses objects; the day they are right, that can go."""
    program = os.path.join(directory, "result")
    object_file = os.path.join(directory, "result.o")
    for level in ("-O0", "-O1", "-O2", "-O3"):
        wrong = 0
        for body in RESULTS_IN_MEMORY + RIGHT_RESULTS + REFUSED_RESULTS:
            text = RESULTS + f"int main() {{ __transaction_atomic {{ {body} }} return w == 6 ? 0 : 3; }}\n"
            compiled = [*BASE, level, "-c", write(directory, "result.cpp", text), "-o", object_file]
            if body in REFUSED_RESULTS:
                status, said = run([*compiled, *OPTIONS])
                expect(status != 0 and "object with a destructor" in said, f"{body} is not refused at {level}", said)
                continue
            for options in (WITHOUT_PLUGIN, OPTIONS):
                status, said = run([*compiled, *options])
                expect(status == 0, f"{body} does not compile at {level} {options[-1]}", said)
                status, said = link(object_file, program)
                expect(status == 0, f"{body} does not link at {level}", said)
                status = run([program])[0]
                if options is OPTIONS or body in RIGHT_RESULTS:
                    expect(status == 0, f"{body} is wrong at {level} {options[-1]}")
                elif status == 3:
                    wrong += 1
        expect(wrong != 0, f"results in memory are right at {level}: the plugin and the guide's line are not needed")


# More values than registers, some of which change in the block.
VALUES = """#include <holdfast/itm/itm.hpp>
struct words { long l[21]; int i[54]; double d[64]; };
words shared;
[[gnu::noipa]] void take(long) {}
[[gnu::noipa]] long cancels(words* s, long n, bool cancel) {
    long v0 = n * 6 + 4, v1 = n + 24, v2 = n * 9 + 80, v3 = n * 2 + 35, v4 = n * 8 + 44, v5 = n * 5 + 7, v6 = n * 9 + 85,
         v7 = n * 6 + 58, v8 = n * 5 + 76, v9 = n * 5 + 61, v10 = n * 5 + 50, v11 = n * 4 + 20, v12 = n + 86,
         v13 = n * 2 + 52, v14 = n * 4 + 97, v15 = n * 6 + 86, v16 = n * 6 + 66, v17 = n * 9 + 99, v18 = n * 7 + 49,
         v19 = n * 9 + 96, v20 = n * 7 + 83;
    double d0 = n + 38;
    take(v18);
    take(v8);
    __transaction_atomic {
        v7 = (v7 - v12 + (v13 ^ s->l[6])) & v16;
        v10 = (v19 + (v10 & v14)) & ((s->i[53] & v6) + (v6 & v9));
        s->d[10] = (double)(long)(2.0 - d0 + 2.0);
        v6 = (v2 + v11 - (v10 | s->l[12])) | (v9 * n * v8);
        s->l[14] = ((s->l[0] | v6) * (v7 + v3)) & v17;
        for (long each = 0; each < 6; ++each) s->d[29] = (double)(long)(2.0 + s->d[13]);
        s->l[20] = v2 - (v18 - (s->i[30] - v16));
        s->l[5] = ((6 | v0) ^ (v7 - v17)) - ((v16 + v19) | (s->i[18] | v9));
        v14 = ((v13 * v11) + (v7 + v3)) | ((5 * v20) & v13);
        v10 = s->l[14] * ((v3 - v19) - (v16 - v2));
        v3 = ((v15 - v5) & (v7 | v4)) + s->l[0];
        s->l[16] = ((v3 - v10) ^ (v19 | v16)) * ((v2 | v18) & v0);
        s->l[13] = ((v6 & s->i[45]) * (v18 & v15)) & s->l[12];
        s->l[10] = ((s->i[53] * v6) + (v2 & v18)) * v1;
        if (cancel) HOLDFAST_CANCEL;
    }
    return v0 + v1 * 2 + v2 * 3 + v3 * 4 + v4 * 5 + v5 * 6 + v6 * 7 + v7 * 8 + v8 * 9 + v9 * 10 + v10 * 11 + v11 * 12 +
           v12 * 13 + v13 * 14 + v14 * 15 + v15 * 16 + v16 * 17 + v17 * 18 + v18 * 19 + v19 * 20 + v20 * 21 + (long)(d0 * 3);
}
[[gnu::noipa]] long without_block(long n) {
    const long factors[] = {6, 1, 9, 2, 8, 5, 9, 6, 5, 5, 5, 4, 1, 2, 4, 6, 6, 9, 7, 9, 7};
    const long more[] = {4, 24, 80, 35, 44, 7, 85, 58, 76, 61, 50, 20, 86, 52, 97, 86, 66, 99, 49, 96, 83};
    long sum = (n + 38) * 3;
    for (long each = 0; each < 21; ++each) sum += (n * factors[each] + more[each]) * (each + 1);
    return sum;
}
int main() { return cancels(&shared, 64, true) == without_block(64) ? 0 : 3; }
"""


def check_values(directory):
    """A cancel finds the values that were there at the block's begin, thanks to the plugin; the day they are right without, it can go."""
    source, program = write(directory, "values.cpp", VALUES), os.path.join(directory, "values")
    object_file = os.path.join(directory, "values.o")
    wrong = 0
    for level in ("-O0", "-O1", "-O2", "-O3", "-Os"):
        for options in (WITHOUT_PLUGIN, OPTIONS):
            status, said = run([*BASE, *options, level, "-fwrapv", "-c", source, "-o", object_file])
            expect(status == 0, f"a block with many values does not compile at {level} {options[-1]}", said)
            status, said = link(object_file, program)
            expect(status == 0, f"a block with many values does not link at {level} {options[-1]}", said)
            status = run([program])[0]
            expect(status == 0 or options is WITHOUT_PLUGIN, f"a cancel leaves wrong values at {level}, with the plugin")
            wrong += status == 3
    expect(wrong != 0 or "x86" not in os.uname().machine, "values are right without the plugin: it is not needed any more")


def check_programs(directory):
    """The programs of instrumented/ that are right thanks to the plugin; the day one is right without, that part can go."""
    program, object_file = os.path.join(directory, "program"), os.path.join(directory, "program.o")
    for name in ("structures.cc", "nested.cc"):
        for level in ("-O0", "-O1", "-O2", "-O3", "-Os"):
            for options in (WITHOUT_PLUGIN, OPTIONS):
                status, said = run([*BASE, *options, level, "-c", instrumented(name), "-o", object_file])
                if status == 0:
                    status, said = link(object_file, program)
                if options is OPTIONS:
                    expect(status == 0, f"{name} does not compile or link at {level}", said)
                if status == 0:
                    status, said = run([program])
                if options is OPTIONS:
                    expect(status == 0, f"{name} is wrong at {level}, with the plugin", said)
                    for alone in ("off", "on"):
                        status, said = link(object_file, program, threads=1)
                        if status == 0:
                            status, said = run([program], alone=alone)
                        expect(status == 0, f"{name} is wrong at {level} with one thread, alone {alone}", said)
                else:
                    expect(status != 0, f"{name} is right at {level} without the plugin")


NESTED = """#include <holdfast/itm/itm.hpp>
struct object { long a; object(long); object(const object&); ~object(); };
object make(long);
long word, other, plain, yes, no;
long f(long n) {
    bool inner = false;
    __transaction_atomic {
        word = n;
        __transaction_atomic {
            other = n;
            inner = true;
            if (n == 3) HOLDFAST_CANCEL;
        }
    }
    plain += 1;
    if (inner) yes += 1; else no += 1;
    return make(plain).a;
}
"""


def check_nested(directory):
    """What follows a block with a block inside has no barriers, thanks to the plugin, and is not refused."""
    source, assembly = write(directory, "nested.cpp", NESTED), os.path.join(directory, "nested.s")
    loads = {}
    for level in ("-O0", "-O1", "-O2", "-O3", "-Os"):
        for options in (WITHOUT_PLUGIN, OPTIONS):
            status, said = run([*BASE, *options, level, "-S", source, "-o", assembly])
            expect(status == 0, f"a block inside a block does not compile at {level} {options[-1]}", said)
            with open(assembly, encoding="utf-8") as text:
                loads.setdefault(options is OPTIONS, []).extend(re.findall(r"_ITM_R\w+", text.read()))
    expect(not loads[True], "what follows a block has barriers, with the plugin", loads[True])
    expect(loads[False], "what follows a block has no barriers without the plugin: that part can go")


def check_foreign_flags(directory):
    """What distributions and build systems add in front of the flags does no harm; behind them it is refused, or named."""
    text = """#include <holdfast/itm/itm.hpp>
#include <cstring>
typedef void safe() __attribute__((transaction_safe));
long v;
char a[64], b[64];
[[gnu::transaction_safe, gnu::noinline]] void add() { v += 1; }
safe* volatile step = &add;
void copy(unsigned long n) { __transaction_atomic { memcpy(a, b, n); memmove(a, a + 1, n); memset(b, 1, n); } }
int main() { safe* now = step; __transaction_atomic { now(); } copy(v); return v == 1 && b[0] == 1 ? 0 : 2; }
"""
    source, program = write(directory, "foreign.cpp", text), os.path.join(directory, "foreign")
    object_file = os.path.join(directory, "foreign.o")
    foreign = ["-D_FORTIFY_SOURCE=2", "-flto=auto", "-fno-fat-lto-objects"]
    status, said = run([*BASE, *foreign, *OPTIONS, "-c", source, "-o", object_file])
    if status == 0:
        status, said = run([COMPILER, "-O2", "-flto=auto", object_file, "-o", program, RUNTIME, LIBRARY])
    expect(status == 0 and run([program])[0] == 0, "blocks do not work with -flto and -D_FORTIFY_SOURCE", said)
    status, said = run([*BASE, *OPTIONS, "-D_FORTIFY_SOURCE=2", "-c", source, "-o", object_file])
    expect(status != 0 and "-U_FORTIFY_SOURCE" in said, "-D_FORTIFY_SOURCE behind the flags is not refused", said)
    status, said = run([*BASE, *OPTIONS, "-flto", "-c", source, "-o", object_file])
    if status == 0:
        status, said = run([COMPILER, "-O2", "-flto", object_file, "-o", program, RUNTIME, LIBRARY])
    expect(status == 0, "a program with -flto does not link", said)
    if status == 0:
        status, said = run([program])
        expect(status == 0 or "-fno-lto" in said, "a call whose table of clones is lost does not name -flto", said)


def main():
    with tempfile.TemporaryDirectory() as directory:
        for check in (check_symbols, check_header, check_unsafe, check_libitm, check_unsafe_pointer, check_foreign_flags,
                      check_bit_fields, check_cancels, check_results_in_memory, check_values, check_programs,
                      check_nested):
            check(directory)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
