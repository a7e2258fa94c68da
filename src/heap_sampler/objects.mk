# The sampler's objects, a folder a paragraph, and its folders. template/Makefile.in includes this: a new C file changes no patch.
HEAP_SAMPLER_OBJS = \
	heap_sampler/lifecycle.$(OBJEXT) heap_sampler/mri.$(OBJEXT) \
	heap_sampler/base/descriptors.$(OBJEXT) heap_sampler/base/libraries.$(OBJEXT) heap_sampler/base/locks.$(OBJEXT) heap_sampler/base/memory.$(OBJEXT) \
	heap_sampler/base/proc.$(OBJEXT) heap_sampler/base/report.$(OBJEXT) heap_sampler/base/table.$(OBJEXT) \
	heap_sampler/base/texts.$(OBJEXT) \
	heap_sampler/heap_walk/blocks.$(OBJEXT) heap_sampler/heap_walk/chains.$(OBJEXT) \
	heap_sampler/heap_walk/child.$(OBJEXT) heap_sampler/heap_walk/containers.$(OBJEXT) \
	heap_sampler/heap_walk/due.$(OBJEXT) heap_sampler/heap_walk/launch.$(OBJEXT) \
	heap_sampler/heap_walk/names.$(OBJEXT) heap_sampler/heap_walk/pins.$(OBJEXT) \
	heap_sampler/heap_walk/retained_size.$(OBJEXT) heap_sampler/heap_walk/retainers.$(OBJEXT) \
	heap_sampler/heap_walk/roots.$(OBJEXT) heap_sampler/heap_walk/slot_index.$(OBJEXT) \
	heap_sampler/heap_walk/visit.$(OBJEXT) heap_sampler/heap_walk/waiters.$(OBJEXT) \
	heap_sampler/heap_walk/walk.$(OBJEXT) \
	heap_sampler/memory/account.$(OBJEXT) heap_sampler/memory/cgroup.$(OBJEXT) \
	heap_sampler/memory/creation_sites.$(OBJEXT) heap_sampler/memory/fields.$(OBJEXT) \
	heap_sampler/memory/heap_page_map.$(OBJEXT) heap_sampler/memory/majors.$(OBJEXT) \
	heap_sampler/memory/process_info.$(OBJEXT) \
	heap_sampler/memory/smaps.$(OBJEXT) heap_sampler/memory/thread_hooks.$(OBJEXT) \
	heap_sampler/memory/thread_list.$(OBJEXT) heap_sampler/memory/threads.$(OBJEXT) \
	heap_sampler/process/lineage.$(OBJEXT) heap_sampler/process/safe_point.$(OBJEXT) \
	heap_sampler/process/wake.$(OBJEXT) \
	heap_sampler/profile/buffer.$(OBJEXT) heap_sampler/profile/elf_symbols.$(OBJEXT) \
	heap_sampler/profile/encode.$(OBJEXT) heap_sampler/profile/encode_kept.$(OBJEXT) \
	heap_sampler/profile/encode_meta.$(OBJEXT) heap_sampler/profile/encode_pprof.$(OBJEXT) \
	heap_sampler/profile/file_rows.$(OBJEXT) heap_sampler/profile/gzip.$(OBJEXT) heap_sampler/profile/kept.$(OBJEXT) \
	heap_sampler/profile/malloc_rows.$(OBJEXT) heap_sampler/profile/native_names.$(OBJEXT) \
	heap_sampler/profile/profile.$(OBJEXT) heap_sampler/profile/slot_rows.$(OBJEXT) \
	heap_sampler/profile/snapshot.$(OBJEXT) heap_sampler/profile/writer.$(OBJEXT) \
	heap_sampler/ruby/block.$(OBJEXT) heap_sampler/ruby/check_api.$(OBJEXT) heap_sampler/ruby/control.$(OBJEXT) \
	heap_sampler/ruby/init.$(OBJEXT) heap_sampler/ruby/labels.$(OBJEXT) heap_sampler/ruby/listen.$(OBJEXT) \
	heap_sampler/ruby/memory.$(OBJEXT) heap_sampler/ruby/objects.$(OBJEXT) \
	heap_sampler/ruby/profile_object.$(OBJEXT) heap_sampler/ruby/raw.$(OBJEXT) \
	heap_sampler/sampling/allocator.$(OBJEXT) heap_sampler/sampling/automatic.$(OBJEXT) \
	heap_sampler/sampling/capture.$(OBJEXT) heap_sampler/sampling/gcs.$(OBJEXT) heap_sampler/sampling/gc_log.$(OBJEXT) \
	heap_sampler/sampling/listeners.$(OBJEXT) heap_sampler/sampling/malloc_draws.$(OBJEXT) \
	heap_sampler/sampling/malloc_hooks.$(OBJEXT) heap_sampler/sampling/sessions.$(OBJEXT) \
	heap_sampler/sampling/slot_hooks.$(OBJEXT) heap_sampler/sampling/unwind.$(OBJEXT) \
	heap_sampler/server/about.$(OBJEXT) heap_sampler/server/address.$(OBJEXT) heap_sampler/server/client.$(OBJEXT) \
	heap_sampler/server/control.$(OBJEXT) heap_sampler/server/output.$(OBJEXT) \
	heap_sampler/server/periodic.$(OBJEXT) heap_sampler/server/protocol.$(OBJEXT) \
	heap_sampler/server/service.$(OBJEXT) heap_sampler/server/within.$(OBJEXT) \
	heap_sampler/settings/before_main.$(OBJEXT) heap_sampler/settings/options.$(OBJEXT) \
	heap_sampler/settings/settings.$(OBJEXT) heap_sampler/settings/usage.$(OBJEXT) \
	heap_sampler/store/changes.$(OBJEXT) heap_sampler/store/check.$(OBJEXT) heap_sampler/store/class_table.$(OBJEXT) \
	heap_sampler/store/draw.$(OBJEXT) heap_sampler/store/epochs.$(OBJEXT) heap_sampler/store/folding.$(OBJEXT) \
	heap_sampler/store/label_sets.$(OBJEXT) heap_sampler/store/malloc_table.$(OBJEXT) \
	heap_sampler/store/pace.$(OBJEXT) heap_sampler/store/page_table.$(OBJEXT) heap_sampler/store/probes.$(OBJEXT) \
	heap_sampler/store/stack_table.$(OBJEXT) heap_sampler/store/store.$(OBJEXT)
HEAP_SAMPLER_DIRS = heap_sampler heap_sampler/base heap_sampler/heap_walk heap_sampler/memory heap_sampler/process heap_sampler/profile heap_sampler/ruby heap_sampler/sampling heap_sampler/server heap_sampler/settings heap_sampler/store

# What MRI's flags leave as warnings, and what a changed header of a new Ruby leads to.
heap_sampler/%: warnflags += -Werror=implicit-function-declaration -Werror=int-conversion -Werror=incompatible-pointer-types
