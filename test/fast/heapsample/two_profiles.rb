# frozen_string_literal: true

require "sample_build"

# Two profiles of one process, ten minutes apart.
EARLIER = sample_build
LATER = sample_build("taken_ns" => Build::STARTED + 20 * Build::MINUTE, "gc" => EARLIER.meta["gc"].merge("count" => 200))
        .row(["app/leak.rb:9 Leak#keep", "app/main.rb:1 <main>"], "Leaked", inuse: 100, birth: 150)
