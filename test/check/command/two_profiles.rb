# frozen_string_literal: true

require_relative "../library/builds"

# Two profiles of one process, ten minutes apart.
module TwoProfiles
  EARLIER = Builds.sample_build
  LATER = Builds.sample_build("taken_ns" => Build::STARTED + 20 * Build::MINUTE, "gc" => EARLIER.meta["gc"].merge("count" => 200))
                .row(["app/leak.rb:9 Leak#keep", "app/main.rb:1 <main>"], "Leaked", inuse: 100, at_gc: 150)
end
