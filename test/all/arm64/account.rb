# frozen_string_literal: true

# In a process with malloc sampling: is live malloc memory in the account what the program has, although jemalloc's pages
# are 64 KiB and the kernel's are 4? Under qemu-user the account has no pages to read (/proc/self/pagemap is of the host's
# addresses), and is divided by what jemalloc reports.

MIB = 1 << 20
before = GC::SampleProfile.memory
kept = Array.new(40) { "x" * MIB }
small = Array.new(40_000) { "y" * 1000 }
after = GC::SampleProfile.memory
grown = (after[:malloc_live] - before[:malloc_live]).fdiv(MIB)
abort "live malloc memory grew by #{grown.round(1)} MiB, not by 60 to 90: #{after.inspect}" unless grown.between?(60, 90)
abort 'gone' unless kept.size + small.size == 40_040
