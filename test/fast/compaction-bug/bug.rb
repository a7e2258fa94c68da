# frozen_string_literal: true

# Runs Rubies that may crash, with the sampler and without it.

require_relative "../../testing"
require_relative "../../gems"

class BugTest < Test
  OUT = output_folder(__dir__)
  EXACT = "interval=1,max-samples=none,malloc=4k,output=none,every=1"
  Process.setrlimit(:CORE, 0)

  Ended = Struct.new(:out, :err, :status) do
    # The VM's own words, without numbers; nil if it has not crashed.
    def bug = err[/\[BUG\].*/]&.gsub(/0x\h+/, "ADDRESS")&.gsub(/\d+/, "N")
    # Has the report of the crash come to its end?
    def reported? = err.match?(/^\* Process memory map:/)
  end

  def ended(ruby, *arguments, settings: nil, env: {})
    out, err, status = Open3.capture3({"RUBY_HEAP_SAMPLE" => settings, **env}, "timeout", "-s", "KILL", "60", ruby, "--disable=gems", *arguments, binmode: true)
    Ended.new(out, err, status.exitstatus || status.termsig + 128)
  end
end
