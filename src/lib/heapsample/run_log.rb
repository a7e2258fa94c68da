# frozen_string_literal: true

# `heapsample compare FOLDER -- COMMAND` loads this file into each Ruby of the command, by RUBYOPT. It writes what the process
# has allocated, retains at its end and used at most, and what each test has allocated. On a Ruby with the heap sampler, tests
# are labels of samples, and a profile is saved too. It works without the rest of the gem, and with any Ruby from 3.1 on.
module HeapSample
  # What one process of a run has used.
  module RunLog
    VARIABLE = "HEAPSAMPLE_RUN"
    FORMAT = 1
    # Settings and variables that change what is allocated.
    ENVIRONMENT = /\A(?:RUBY_(?:GC|YJIT|THREAD)\w*|RUBYOPT|MALLOC_\w+|LD_PRELOAD)\z/
    ALLOCATOR = /\b(jemalloc|tcmalloc|mimalloc)/
    SAMPLED = defined?(GC::SampleProfile) && GC::SampleProfile.running? ? true : false

    # Classes whose subclasses are tests, and what is prepended to run one.
    module Minitest # :nodoc:
      def run(...) = RunLog.test("#{self.class}##{name}") { super }
    end

    module TestUnit # :nodoc:
      def run(...) = RunLog.test("#{self.class}##{method_name}") { super }
    end

    module Example # :nodoc:
      def run(...) = RunLog.test(full_description) { super }
    end

    module Inherited # :nodoc:
      private

      def inherited(subclass)
        super
        RunLog.framework(self)
      end
    end

    module AfterFork # :nodoc:
      def _fork = super.tap { |pid| RunLog.begin_again if pid.zero? }
    end

    NAME = Module.instance_method(:name)

    class << self
      def start
        @hooks = {"Minitest::Test" => ->(test) { test.prepend(Minitest) }, "Test::Unit::TestCase" => ->(test) { test.prepend(TestUnit) },
                  "RSpec::Core::ExampleGroup" => ->(_) { ::RSpec::Core::Example.prepend(Example) }}
        Class.prepend(Inherited)
        Process.singleton_class.prepend(AfterFork) if Process.respond_to?(:_fork)
        at_exit { write }
        self.begin
      end

      def begin
        @tests = Hash.new(0)
        @running = false
        @before = GC.stat(:total_allocated_objects)
      end

      # In a forked child, which has its parent's samples: they count for the parent alone.
      def begin_again
        self.begin
        return unless SAMPLED

        interval, malloc = GC::SampleProfile.stat.values_at(:interval, :malloc_interval)
        GC::SampleProfile.stop
        GC::SampleProfile.start(interval: interval, malloc: malloc || false, output: "none")
      end

      def framework(test)
        hook = @hooks.delete(NAME.bind_call(test)) unless @hooks.empty?
        hook&.call(test)
      end

      # With the sampler, tests are labels of the thread that runs them. Without it, tests that run at the same time are counted
      # for the test that began first.
      def test(name, &block)
        return GC::SampleProfile.with_labels(test: name, &block) if SAMPLED
        return yield if @running

        @running = true
        before = GC.stat(:total_allocated_objects)
        begin
          yield
        ensure
          @tests[name] += GC.stat(:total_allocated_objects) - before
          @running = false
        end
      end

      private

      def write
        counted = {format: FORMAT, allocated: GC.stat(:total_allocated_objects) - @before, peak: peak}
        folder = ENV.fetch(VARIABLE)
        profile = GC.sample_profile(full_gc: true) if SAMPLED      # before this allocates
        2.times { GC.start }
        require "json"
        require "objspace"
        counted[:retained] = ObjectSpace.memsize_of_all
        path = File.join(folder, "#{Process.pid}-#{Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)}")
        profile&.send(:raw_save, "#{path}.pb.gz")
        File.write("#{path}.json", JSON.generate({**counted, sampled: SAMPLED, directory: Dir.pwd, tests: @tests, environment: environment}))
      rescue SystemCallError, NoMemoryError, JSON::GeneratorError => e
        warn "heapsample compare: #{e.message}"
      end

      # Resident bytes at most; nil: not known.
      def peak
        File.read("/proc/self/status")[/^VmHWM:\s*(\d+)/, 1]&.to_i&.*(1024)
      rescue SystemCallError
        nil
      end

      def environment
        {"ruby" => RUBY_DESCRIPTION.sub(" +YJIT", ""), "YJIT" => (defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled? ? "on" : "off"), "allocator" => allocator,
         **gems, **ENV.select { |name, _| ENVIRONMENT.match?(name) && !(name == "RUBYOPT" && ENV[name].include?(__FILE__)) }}
      end

      def gems
        lock = (File.read("#{ENV["BUNDLE_GEMFILE"] || "Gemfile"}.lock") if File.exist?("#{ENV["BUNDLE_GEMFILE"] || "Gemfile"}.lock"))
        return lock.scan(/^    ([\w.-]+) \(([^)]+)\)$/).to_h { |name, version| ["gem #{name}", version] } if lock

        defined?(Gem) ? Gem.loaded_specs.to_h { |name, spec| ["gem #{name}", spec.version.to_s] } : {}
      end

      def allocator
        return "jemalloc (in Ruby)" if SAMPLED

        File.read("/proc/self/maps")[ALLOCATOR, 1] || "libc"
      rescue SystemCallError
        "?"
      end
    end
  end
end

HeapSample::RunLog.start if ENV[HeapSample::RunLog::VARIABLE]
