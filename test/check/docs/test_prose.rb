# frozen_string_literal: true

require_relative "docs"
require_relative "plain"
begin
  require "prism"
rescue LoadError
  nil # of a Ruby before 3.3
end

# What a reader meets first is plain.
class ProseTest < DocsTest
  %w[README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md test/README.md .github/ISSUE_TEMPLATE/leak.md .github/ISSUE_TEMPLATE/problem.md].each do |page|
    test "#{page} has plain words, and sentences of at most #{Plain::LONGEST} words" do
      assert_none Plain.wrong(page, Docs.read(page))
    end
  end

  SOURCES = ["src/lib/**/*.rb", "sig/*.rbs", "viewer/**/*.{js,mjs}", "src/{heap_sampler,gc,ext,include,internal}/**/*.{c,h,inc}",
             "{test,src/test,benchmark,examples,tool,deploy}/**/*.{rb,mjs,c,h}"].freeze
  # The programs of the zoo mark lines with words of the zoo's own: see test/zoo/header.rb.
  OTHER = %r{node_modules/|\Atest/zoo/(?:programs/|header\.rb)}
  # Files of C with such words in comments, at most so many: the list only gets shorter.
  NOT_YET = %w[
    src/ext/-test-/heap_sampler_edges/edges.c src/ext/-test-/heap_sampler_holders/holders.c
    src/ext/-test-/heap_sampler_listeners/listeners.c src/gc/default/heap_sampler_cut.inc
    src/gc/default/heap_sampler_view.inc src/heap_sampler/base/contract.h src/heap_sampler/base/memory.h
    src/heap_sampler/gc_view.h src/heap_sampler/heap_walk/chains.c src/heap_sampler/heap_walk/containers.c
    src/heap_sampler/heap_walk/due.c src/heap_sampler/heap_walk/launch.h src/heap_sampler/heap_walk/retained_size.c
    src/heap_sampler/heap_walk/retainers.h src/heap_sampler/heap_walk/visit.c src/heap_sampler/kernel.h
    src/heap_sampler/memory/account.c src/heap_sampler/memory/account.h src/heap_sampler/memory/majors.c
    src/heap_sampler/memory/majors.h src/heap_sampler/memory/process_info.c src/heap_sampler/memory/smaps.c
    src/heap_sampler/memory/smaps.h src/heap_sampler/memory/thread_list.c src/heap_sampler/memory/threads.c
    src/heap_sampler/mri.h src/heap_sampler/profile/elf_symbols.c src/heap_sampler/profile/encode.h
    src/heap_sampler/profile/encode_meta.c src/heap_sampler/profile/encode_pprof.c
    src/heap_sampler/profile/file_rows.c src/heap_sampler/profile/malloc_rows.c
    src/heap_sampler/profile/native_names.c src/heap_sampler/profile/profile.h src/heap_sampler/profile/slot_rows.c
    src/heap_sampler/profile/snapshot.c src/heap_sampler/profile/writer.c src/heap_sampler/ruby/block.c
    src/heap_sampler/ruby/control.c src/heap_sampler/ruby/init.c src/heap_sampler/ruby/labels.c
    src/heap_sampler/ruby/memory.c src/heap_sampler/ruby/profile_object.c src/heap_sampler/ruby/raw.c
    src/heap_sampler/sampling/capture.c src/heap_sampler/sampling/capture.h src/heap_sampler/sampling/gcs.h
    src/heap_sampler/sampling/listeners.h src/heap_sampler/sampling/malloc_hooks.c src/heap_sampler/server/address.c
    src/heap_sampler/server/control.h src/heap_sampler/server/output.h src/heap_sampler/server/periodic.c
    src/heap_sampler/server/service.h src/heap_sampler/settings/options.c src/heap_sampler/settings/settings.c
    src/heap_sampler/settings/settings.inc src/heap_sampler/store/check.c src/heap_sampler/store/check.h
    src/heap_sampler/store/draw.h src/heap_sampler/store/epochs.h src/heap_sampler/store/folding.c
    src/heap_sampler/store/malloc_table.c src/heap_sampler/store/malloc_table.h src/heap_sampler/store/pace.h
    src/heap_sampler/store/stack_table.h src/heap_sampler/store/store.c src/heap_sampler/store/store.h
    src/include/ruby/heap_sampler.h src/internal/heap_sampler.h
  ].freeze
  NOT_YET_MOST = 70

  test "comments have plain words", missing: ("needs Prism, which Ruby 3.3 and later have" unless defined?(Prism)) do
    assert_operator NOT_YET.size, :<=, NOT_YET_MOST
    assert_none((Dir.glob(SOURCES, base: TOP).grep_v(OTHER).sort - NOT_YET).flat_map { |path| Plain.wrong_comments(path, Docs.read(path)) })
  end

  test "README.md has at most 120 lines and 1,200 words" do
    readme = Docs.read("README.md")
    assert_operator readme.lines.size, :<=, 120
    assert_operator readme.split.size, :<=, 1200
  end
end
