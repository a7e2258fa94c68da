# frozen_string_literal: true

# The tracer's waits end, whatever bpftrace does: programs of that name stand for it.
require_relative "../../testing"
require_relative "../../tracer"
require "tmpdir"

class TracerTest < Test
  # The block gets a tracer of a program of these lines of sh.
  def traced_by(program)
    Dir.mktmpdir do |folder|
      File.write("#{folder}/bpftrace", "#!/bin/sh\n#{program}\n", perm: 0o755)
      path = ENV.fetch("PATH")
      begin
        ENV["PATH"] = "#{folder}:#{path}"
        tracer = Tracer.new($$)
      ensure
        ENV["PATH"] = path
      end
      yield tracer
    ensure
      tracer&.kill
    end
  end

  test "a bpftrace that does not attach in time is too slow, and is ended" do
    traced_by("exec sleep 300") do |tracer|
      assert_error(Tracer::Slow, /longer than 1 s to attach/) { tracer.wait_for_attach(1) }
      refute_predicate tracer, :alive?
    end
  end

  test "a bpftrace that does not end in time is too slow, and is ended" do
    traced_by("trap '' INT; echo attached; exec sleep 300") do |tracer|
      tracer.wait_for_attach(30)
      assert_error(Tracer::Slow, /longer than 1 s to end/) { tracer.stop(1) }
      refute_predicate tracer, :alive?
    end
  end

  test "a bpftrace that ends before it attaches is an error with what it printed" do
    traced_by("echo 'ERROR: no probes' >&2; exit 1") do |tracer|
      assert_error(RuntimeError, /ended before it attached: ERROR: no probes/) { tracer.wait_for_attach(30) }
    end
  end

  test "what it prints is returned when it has ended" do
    traced_by("trap 'echo f 7; exit' INT; echo attached; echo a 7 40 4096; while :; do sleep 0.1; done") do |tracer|
      tracer.wait_for_attach(30)
      assert_equal [%w[a 7 40 4096], %w[f 7]], tracer.stop(30)
    end
  end
end
