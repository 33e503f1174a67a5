/* The recorder's tool for Valgrind: it records programs that were not compiled with hooks.
 *
 * Copyright (C) 2026 the Coreplane authors. This program is free software; you can redistribute it and/or modify it under
 * the terms of the GNU General Public License as published by the Free Software Foundation; either version 2 of the
 * License, or (at your option) any later version. See README.md beside it.
 *
 * Valgrind translates the program's code to intermediate code, runs one thread at a time, and calls what is here: each
 * load and store becomes a call (instrument.h, accesses.h), system calls are looked at before and after (calls.h). Records,
 * files and what calls do to them are the recorder's own (capture/runtime). One unit, as the runtime is. */
#define _GNU_SOURCE
#include "pub_tool_basics.h"
#include "pub_tool_vki.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_clientstate.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_hashtable.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_stacktrace.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_tooliface.h"
#include "libvex_guest_amd64.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>

/* Of Valgrind's core; its headers for tools do not say so. */
extern Int VG_(safe_fd)(Int fd);
extern Int VG_(fd_hard_limit);
extern const HChar *VG_(strerror)(UWord error);
extern Bool VG_(clo_trace_children);
/* Which code is compared, before it is executed, with what was translated of it: an enumeration there. */
extern UInt VG_(clo_smc_check);
enum { COMPARE_ALL = 2 };
enum { NR_IO_URING_SETUP = 425 };

#include "../runtime/format.h"
#include "../runtime/raw.h"
#include "../runtime/checksum.h"
#include "shims.h"
#include "../runtime/records.h"
#include "trace.h"
#include "../runtime/mapped.h"
#include "../runtime/files.h"
#include "../runtime/changes.h"
#include "../runtime/ioctl.h"
#include "../runtime/naming.h"
#include "places.h"
#include "callers.h"
#include "decode.h"
#include "vex.h"
#include "accesses.h"
#include "threads.h"
#include "region.h"
#include "instrument.h"
#include "forked.h"
#include "calls.h"
#include "processes.h"
#include "words.h"
#include "requests.h"

static const HChar *trace_path, *memory = "all";

/* all, pm, or FROM-TO in hexadecimal. */
static Bool read_memory(const HChar *word) {
    HChar *end = NULL;
    if (VG_(strcmp)(word, "all") == 0) return True;
    if (VG_(strcmp)(word, "pm") == 0) {
        keeps_files = 1;
        special |= FILTER;
        filtered = 1;
        return True;
    }
    ULong from = VG_(strtoull16)(word, &end), to = *end == '-' ? VG_(strtoull16)(end + 1, &end) : 0;
    special |= FILTER;
    filtered = 1;
    kept_from = from;
    kept_bytes = to - from;
    return *end == 0 && from < to;
}

static Bool read_option(const HChar *argument) {
    if VG_STR_CLO (argument, "--trace", trace_path) return True;
    if VG_STR_CLO (argument, "--trace-each", each_process) return True;
    if VG_STR_CLO (argument, "--memory", memory) return read_memory(memory);
    return read_region_option(argument);
}

static void print_usage(void) {
    VG_(printf)("    --trace=FILE             where the recording goes\n"
                "    --trace-each=FOLDER      where that of each process goes, under its number\n"
                "    --memory=all|pm|FROM-TO  which plain loads and stores are recorded [all]\n"
                "    --skip=N --count=N       those of N instructions after the first N\n"
                "    --warm-up=N              and of N before these\n"
                "    --every=N --window=N     those of N instructions each N\n"
                "    --region=yes             those between coreplane_roi_begin and coreplane_roi_end\n");
}
static void print_debug_usage(void) {}

/* Who forked, as far as it records. */
static Int forking;

static void in_child(ThreadId tid) {
    if (each_process && recording) {
        begin_again(tid, forking);
        return;
    }
    /* The child of a fork records nothing, nor do programs that it becomes: the file belongs to the parent. */
    forked |= recording;
    recording = 0;
    VG_(clo_trace_children) = False;
}
static void before_fork(ThreadId tid) {
    static int said;
    (void)tid;
    forking = VG_(getpid)();
    if (recording && !each_process && !said++) write_text("note", "it starts other processes, of which nothing is recorded (--trace-per-process records each)");
}

static void begin_recording(void) {
    if (!trace_path && !each_process) {
        VG_(fmsg)("coreplane: give --trace=FILE or --trace-each=FOLDER\n");
        VG_(exit)(2);
    }
    places = VG_(HT_construct)("coreplane");
    of_tid = raw_memory(sizeof *of_tid * VG_N_THREADS);
    if (!(each_process ? open_own_trace() : open_trace(trace_path))) {
        VG_(fmsg)("coreplane: the trace cannot be created: %s: %s\n", each_process ? each_process : trace_path, VG_(strerror)(trace_error));
        VG_(exit)(2);
    }
    ignore_open_files();
    if (each_process) say_process(VG_(getpid)());
    say_lacks();
    start_region();
}

static void say_lacks(void) {
    if (keeps_files) write_text("lacks", "plain loads and stores outside of mapped files");
    else if (special & FILTER) {
        HChar text[100];
        VG_(snprintf)(text, sizeof text, "plain loads and stores outside of addresses %s", memory);
        write_text("lacks", text);
    }
}

static void finish(Int code) {
    (void)code;
    finish_region();
    for (UInt tid = 1; tid < VG_N_THREADS; tid++) {
        struct buffer *b = of_tid[tid].b;
        if (!b) continue;
        emit(enter(tid), END, 0, 0, 0, 0, next_stamp());
        write_out(b);
    }
    tell_places();
    uint8_t block[HEADER];
    write_block(block, BLOCK_END, 0, 0, 0);
}

static void begin_tool(void) {
    VG_(details_name)("coreplane");
    VG_(details_version)(NULL);
    VG_(details_description)("records what a program does to memory and files");
    VG_(details_copyright_author)("Copyright (C) 2026, and GNU GPL'd, by the Coreplane authors.");
    VG_(details_bug_reports_to)("the project's page");
    VG_(details_avg_translation_sizeB)(600);
    VG_(basic_tool_funcs)(begin_recording, instrument, finish);
    VG_(needs_command_line_options)(read_option, print_usage, print_debug_usage);
    VG_(needs_client_requests)(on_request);
    VG_(needs_syscall_wrapper)(before_call, after_call);
    VG_(track_post_mem_write)(kernel_wrote);
    VG_(track_die_mem_munmap)(memory_gone);
    VG_(track_pre_thread_ll_create)(thread_created);
    VG_(track_pre_thread_ll_exit)(thread_ended);
    VG_(track_start_client_code)(client_code_starts);
    VG_(atfork)(before_fork, NULL, in_child);
}

VG_DETERMINE_INTERFACE_VERSION(begin_tool)
