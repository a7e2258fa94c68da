# frozen_string_literal: true

require "tmpdir"
require_relative "../../testing"
require_relative "../../check/command/command_helper"

# Processes under test have their sockets in a folder of the test's own.
module OwnSockets
  def setup
    super
    @sockets = Dir.mktmpdir("sockets", "/tmp")
    @before, ENV["TMPDIR"] = ENV["TMPDIR"], @sockets
  end

  def teardown
    super
    ENV["TMPDIR"] = @before
    FileUtils.rm_rf(@sockets)
  end
end

# A program with something to sample, and a folder for its profiles.
module SampledWork
  WORK = <<~'RUBY'
    def keep(count) = ($kept ||= []).concat(Array.new(count) { |index| index % 3 == 0 ? "x" * 50 : [index] })
    keep(100_000)
    Thread.new { 3.times { keep(50_000) } }.join
    1000.times { [1, 2].map { |number| number.to_s * 3 } }
  RUBY

  def in_dir(name) = File.join(dir, name)
end
