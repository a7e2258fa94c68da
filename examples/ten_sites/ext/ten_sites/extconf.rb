# frozen_string_literal: true

require "mkmf"

# Without it the gem installs and loads, and says what is missing.
unless have_header("ruby/heap_sampler.h")
  message "ten_sites: this Ruby has no ruby/heap_sampler.h, so nothing will be sampled\n"
end
create_makefile("ten_sites/ten_sites")
