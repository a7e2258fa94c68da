# frozen_string_literal: true

require "heapsample"
require_relative "../../testing"
require_relative "../../gems"

# Programs with a holder or a waiting thread that is known, each in a Ruby of its own. It writes a profile with a heap walk.
module Program
  OUT = install_gems(__dir__)
  PROFILES = {}

  # The profile of programs/NAME.rb, which is run once.
  def profile_of(name, *arguments, settings: "interval=1k,malloc=1k")
    PROFILES[name] ||= HeapSample::Profile.load(run_program(name, *arguments, settings: settings))
  end

  # Where it writes to; yields what it prints.
  def run_program(name, *arguments, settings:, into: "#{OUT}/#{name}.pb.gz")
    printed = assert_success("timeout", "300", RbConfig.ruby, "--heap-sample=#{settings},output=none", "-rbundler/setup",
                             "#{__dir__}/programs/#{name}.rb", into, *arguments)
    yield printed if block_given?
    into
  end

  # The line of the program with this mark.
  def line(name, mark) = File.readlines("#{__dir__}/programs/#{name}.rb").index { |text| text.end_with?("# #{mark}\n") } + 1

  def heapsample(*arguments) = assert_success(RbConfig.ruby, "#{TOP}/src/libexec/heapsample", *arguments)
end
