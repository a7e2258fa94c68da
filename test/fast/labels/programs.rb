# frozen_string_literal: true

# Starts the programs of app/, which sample each object from when they have booted.

require_relative "../../testing"
require_relative "../../gems"
LABELS_OUT = install_gems(__dir__, gemfile: "#{__dir__}/app/Gemfile")

require "heapsample"
require_relative "../../server"

class LabelsTest < Test
  OUT = LABELS_OUT
  LIBRARY = "-I#{TOP}/src/lib".freeze
  FileUtils.mkdir_p("#{OUT}/tmp")
  ENV.update("RAILS_ENV" => "production", "SHOP_TMP" => "#{OUT}/tmp", "HEAP_SAMPLE_DEPLOY" => "abc123")

  # Yields while a program runs; its output is +log+.
  def running(env, *command, log:)
    pid = spawn(env, *command, pgroup: true, %i[out err] => log)
    yield pid
  rescue RuntimeError => e
    raise "#{e.message}\n#{File.readlines(log).last(20).join}"
  ensure
    if pid
      Process.kill(:KILL, -pid)
      Process.wait(pid)
    end
  end

  # Yields while the program of a gem runs.
  def gem_running(gem, *arguments, env: {}, &)
    env = {"RUBY_HEAP_SAMPLE" => "standby,output=none", **env}
    running(env, RbConfig.ruby, LIBRARY, "-rbundler/setup", "-e", "load Gem.bin_path(#{gem.dump}, #{gem.dump})", "--", *arguments, log: "#{OUT}/#{gem}.log", &)
  end

  def listens?(port)
    TCPSocket.new("127.0.0.1", port).close
    true
  rescue SystemCallError
    false
  end

  # Objects of a class, live and young, by labels: every object is a sample.
  def counts(profile, class_name, *labels)
    rows = profile.rows.select { |row| row.class_name == class_name && row.inuse.samples + row.young.samples > 0 }
    rows.group_by { |row| row.labels.slice(*labels) }.transform_values { |some| some.sum { |row| row.inuse.samples + row.young.samples } }
  end
end
