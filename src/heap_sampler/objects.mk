# The sampler's objects, a folder a line or more, and its folders. template/Makefile.in includes this: a new C file changes no patch.
HEAP_SAMPLER_OBJS = \
	heap_sampler/account/account.$(OBJEXT) heap_sampler/account/alive.$(OBJEXT) heap_sampler/account/bodies.$(OBJEXT) heap_sampler/account/census.$(OBJEXT) \
	heap_sampler/account/cgroup.$(OBJEXT) heap_sampler/account/fields.$(OBJEXT) heap_sampler/account/origins.$(OBJEXT) \
	heap_sampler/account/survey.$(OBJEXT) \
	heap_sampler/account/threads.$(OBJEXT) heap_sampler/account/who.$(OBJEXT) \
	heap_sampler/base/clock.$(OBJEXT) heap_sampler/base/descriptors.$(OBJEXT) heap_sampler/base/fields.$(OBJEXT) heap_sampler/base/locks.$(OBJEXT) heap_sampler/base/memory.$(OBJEXT) heap_sampler/base/proc.$(OBJEXT) \
	heap_sampler/base/report.$(OBJEXT) heap_sampler/base/table.$(OBJEXT) \
	heap_sampler/base/texts.$(OBJEXT) \
	heap_sampler/collections/budget.$(OBJEXT) heap_sampler/collections/collections.$(OBJEXT) heap_sampler/collections/gc_times.$(OBJEXT) \
	heap_sampler/estimate/draw.$(OBJEXT) heap_sampler/estimate/epochs.$(OBJEXT) \
	heap_sampler/estimate/pace.$(OBJEXT) \
	heap_sampler/events/changes.$(OBJEXT) heap_sampler/events/listeners.$(OBJEXT) heap_sampler/events/probes.$(OBJEXT) \
	heap_sampler/extending/listen.$(OBJEXT) heap_sampler/extending/usdt.$(OBJEXT) \
	heap_sampler/holders/ask.$(OBJEXT) heap_sampler/holders/blocks_of_c.$(OBJEXT) heap_sampler/holders/chains.$(OBJEXT) \
	heap_sampler/holders/child.$(OBJEXT) heap_sampler/holders/holders.$(OBJEXT) \
	heap_sampler/holders/pins.$(OBJEXT) heap_sampler/holders/roots.$(OBJEXT) heap_sampler/holders/slot_index.$(OBJEXT) heap_sampler/holders/waiters.$(OBJEXT) heap_sampler/holders/walk.$(OBJEXT) heap_sampler/holders/without.$(OBJEXT) \
	heap_sampler/holders/edge.$(OBJEXT) heap_sampler/holders/edge_code.$(OBJEXT) heap_sampler/holders/edge_data.$(OBJEXT) \
	heap_sampler/holders/edge_libraries.$(OBJEXT) heap_sampler/holders/edge_modules.$(OBJEXT) \
	heap_sampler/holders/edge_objects.$(OBJEXT) heap_sampler/holders/edge_roots.$(OBJEXT) \
	heap_sampler/holders/edge_stacks.$(OBJEXT) heap_sampler/holders/edge_text.$(OBJEXT) \
	heap_sampler/holders/edge_words.$(OBJEXT) heap_sampler/holders/owned_blocks.$(OBJEXT) \
	heap_sampler/labels/fibers.$(OBJEXT) heap_sampler/labels/label_sets.$(OBJEXT) \
	heap_sampler/life/life.$(OBJEXT) \
	heap_sampler/malloc/automatic.$(OBJEXT) heap_sampler/malloc/boot.$(OBJEXT) heap_sampler/malloc/hooks.$(OBJEXT) heap_sampler/malloc/stacks.$(OBJEXT) \
	heap_sampler/malloc/table.$(OBJEXT) heap_sampler/malloc/yjit.$(OBJEXT) \
	heap_sampler/mri.$(OBJEXT) \
	heap_sampler/native/allocator.$(OBJEXT) heap_sampler/native/elf_symbols.$(OBJEXT) heap_sampler/native/names.$(OBJEXT) \
	heap_sampler/native/unwind.$(OBJEXT) \
	heap_sampler/process/control.$(OBJEXT) heap_sampler/process/output.$(OBJEXT) \
	heap_sampler/process/periodic.$(OBJEXT) heap_sampler/process/request.$(OBJEXT) \
	heap_sampler/process/safe_point.$(OBJEXT) heap_sampler/process/within.$(OBJEXT) \
	heap_sampler/profile/buffer.$(OBJEXT) heap_sampler/profile/encode.$(OBJEXT) heap_sampler/profile/encode_fields.$(OBJEXT) heap_sampler/profile/encode_kept.$(OBJEXT) \
	heap_sampler/profile/encode_meta.$(OBJEXT) heap_sampler/profile/encode_pprof.$(OBJEXT) \
	heap_sampler/profile/file_rows.$(OBJEXT) heap_sampler/profile/formats.$(OBJEXT) heap_sampler/profile/gzip.$(OBJEXT) heap_sampler/profile/kept.$(OBJEXT) \
	heap_sampler/profile/malloc_rows.$(OBJEXT) \
	heap_sampler/profile/profile.$(OBJEXT) heap_sampler/profile/slot_rows.$(OBJEXT) \
	heap_sampler/profile/snapshot.$(OBJEXT) heap_sampler/profile/writer.$(OBJEXT) \
	heap_sampler/ruby_api/block.$(OBJEXT) heap_sampler/ruby_api/check_api.$(OBJEXT) \
	heap_sampler/ruby_api/control.$(OBJEXT) heap_sampler/ruby_api/given_labels.$(OBJEXT) heap_sampler/ruby_api/init.$(OBJEXT) heap_sampler/ruby_api/labels.$(OBJEXT) heap_sampler/ruby_api/memory.$(OBJEXT) \
	heap_sampler/ruby_api/objects.$(OBJEXT) heap_sampler/ruby_api/profile_object.$(OBJEXT) \
	heap_sampler/ruby_api/raw.$(OBJEXT) \
	heap_sampler/service/address.$(OBJEXT) heap_sampler/service/answers.$(OBJEXT) heap_sampler/service/attach.$(OBJEXT) \
	heap_sampler/service/connection.$(OBJEXT) heap_sampler/service/percent.$(OBJEXT) heap_sampler/service/place.$(OBJEXT) heap_sampler/service/protocol.$(OBJEXT) heap_sampler/service/service.$(OBJEXT) \
	heap_sampler/settings/options.$(OBJEXT) heap_sampler/settings/usage.$(OBJEXT) \
	heap_sampler/sites/folding.$(OBJEXT) heap_sampler/sites/sampler.$(OBJEXT) heap_sampler/sites/site_table.$(OBJEXT) \
	heap_sampler/slots/automatic.$(OBJEXT) heap_sampler/slots/check.$(OBJEXT) heap_sampler/slots/hooks.$(OBJEXT) heap_sampler/slots/intervals.$(OBJEXT) heap_sampler/slots/occupancy.$(OBJEXT) \
	heap_sampler/slots/page_table.$(OBJEXT) heap_sampler/slots/records.$(OBJEXT) heap_sampler/slots/sessions.$(OBJEXT) \
	heap_sampler/stacks/capture.$(OBJEXT) heap_sampler/stacks/class_table.$(OBJEXT) \
	heap_sampler/stacks/stack_table.$(OBJEXT)
HEAP_SAMPLER_DIRS = heap_sampler/account heap_sampler/base heap_sampler/collections heap_sampler/estimate heap_sampler/events heap_sampler/extending heap_sampler/holders heap_sampler/labels heap_sampler/life heap_sampler/malloc heap_sampler heap_sampler/native heap_sampler/process heap_sampler/profile heap_sampler/ruby_api heap_sampler/service heap_sampler/settings heap_sampler/sites heap_sampler/slots heap_sampler/stacks
