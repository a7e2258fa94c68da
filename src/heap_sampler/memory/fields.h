#ifndef HEAP_SAMPLER_MEMORY_FIELDS_H
#define HEAP_SAMPLER_MEMORY_FIELDS_H
/*
 * Names of the properties of a profile, and their numbers in a file: doc/heap_sampler.proto has the messages.  A
 * name has the same number in all of them.  Numbers stay as they are; a new name gets the next one.
 */

/* It would make stairs of them. */
/* clang-format off */
#define HS_META_FIELDS(FIELD) \
    FIELD(format, 1) FIELD(generator, 2) FIELD(ruby, 3) FIELD(process_id, 4) FIELD(process_start, 5) FIELD(parent_id, 6) \
    FIELD(title, 7) FIELD(directory, 8) FIELD(gemfile, 9) FIELD(host, 10) FIELD(deploy, 11) FIELD(session, 12) \
    FIELD(started_ns, 13) FIELD(taken_ns, 14) FIELD(gc, 15) FIELD(settings, 16) FIELD(live_samples, 17) FIELD(drops, 18) \
    FIELD(own_bytes, 19) FIELD(heaps, 20) FIELD(malloc, 21) FIELD(memsize, 22) FIELD(account, 23) FIELD(account_at_start, 24) \
    FIELD(alive, 25) FIELD(inherited, 26) FIELD(inherited_missing, 27) FIELD(kept, 28) FIELD(merged, 29) FIELD(count, 30) \
    FIELD(minor, 31) FIELD(major, 32) FIELD(last_minor_ns, 33) FIELD(last_major_ns, 34) FIELD(last_major_gc, 35) \
    FIELD(times, 36) FIELD(forced, 37) FIELD(limit_ppm, 38) FIELD(ns, 39) FIELD(of_ns, 40) FIELD(last, 41) FIELD(interval, 42) \
    FIELD(first_interval, 43) FIELD(interval_changes, 44) FIELD(thinnings, 45) FIELD(interval_auto, 46) FIELD(max_samples, 47) \
    FIELD(max_depth, 48) FIELD(only_n, 49) FIELD(seed, 50) FIELD(samples, 51) FIELD(stacks, 52) FIELD(frames, 53) \
    FIELD(classes, 54) FIELD(moves, 55) FIELD(slot_size, 56) FIELD(total_slots, 57) FIELD(live_slots, 58) \
    FIELD(live_at_start, 59) FIELD(pages, 60) FIELD(pinned_pages, 61) FIELD(held_slots, 62) FIELD(compact_bytes, 63) \
    FIELD(state, 64) FIELD(allocator, 65) FIELD(missing, 66) FIELD(cost_ns, 67) FIELD(rss, 68) FIELD(slots_live, 69) \
    FIELD(slots_free, 70) FIELD(malloc_live, 71) FIELD(malloc_waste, 72) FIELD(malloc_metadata, 73) FIELD(code_and_files, 74) \
    FIELD(jit, 75) FIELD(sampler, 76) FIELD(unattributed, 77) FIELD(pss, 78) FIELD(threads, 79) FIELD(fibers, 80) \
    FIELD(thread_stacks, 81) FIELD(fiber_stacks, 82) FIELD(jemalloc, 83) FIELD(allocated, 84) FIELD(active, 85) \
    FIELD(resident, 86) FIELD(dirty, 87) FIELD(retained, 88) FIELD(metadata, 89) FIELD(running, 90) FIELD(runnable, 91) \
    FIELD(sleeping, 92) FIELD(waiting, 93) FIELD(blocked, 94) FIELD(created, 95) FIELD(resumed, 96) FIELD(suspended, 97) \
    FIELD(ended, 98) FIELD(made, 99) FIELD(path, 100) FIELD(line, 101) FIELD(bytes, 102) FIELD(unshared, 103) \
    FIELD(refused, 104) FIELD(ended_in, 105) FIELD(signal, 106) FIELD(objects, 107) FIELD(edges, 108) FIELD(slots, 109) \
    FIELD(freed, 110) FIELD(stuck, 111) FIELD(pins, 112) FIELD(without_ns, 113) FIELD(hold_up_ns, 114) FIELD(walk_ns, 115) \
    FIELD(name_ns, 116) FIELD(room_bytes, 117) FIELD(limit_bytes, 118) FIELD(cgroup, 119) FIELD(demand_bytes, 120) \
    FIELD(estimate_bytes, 121) FIELD(child_bytes, 122) FIELD(evicted, 123) FIELD(chain, 124) FIELD(space, 125) FIELD(var, 126) \
    FIELD(name, 127) FIELD(kind, 128) FIELD(class, 129) FIELD(holder, 130) FIELD(made_in, 131) FIELD(made_path, 132) \
    FIELD(made_line, 133) FIELD(free, 134) FIELD(processes, 135) FIELD(profiles, 136) FIELD(evicted_rows, 137) \
    FIELD(gcs, 138) FIELD(gc_ns, 139) FIELD(walks, 140) FIELD(longest_stop_ns, 141)

/* Of answers of the control socket, which are JSON: no file has them. */
#define HS_ANSWER_FIELDS(FIELD) \
    FIELD(protocol, 10001) FIELD(sampling, 10002) FIELD(every, 10003) FIELD(malloc_live_samples, 10004) FIELD(malloc_samples, 10005) \
    FIELD(dropped_samples, 10006) FIELD(bytes_max, 10007) FIELD(thread_ns, 10008)
/* clang-format on */

enum hs_field {
#define HS_FIELD(name, number) HS_F_##name = number,
    HS_META_FIELDS(HS_FIELD)
        HS_ANSWER_FIELDS(HS_FIELD)
#undef HS_FIELD
};

const char *rb_hs_field_name(enum hs_field field);

#endif
