# frozen_string_literal: true

require "heapsample/request_labels"
require "rbconfig"

# In config/puma.rb:
#
#   plugin :heapsample
#   heapsample_agent "--to", "pyroscope"    # if Puma is to run `heapsample agent` with these options
#
# What Puma's threads allocate has the label +worker+, the number of the worker process, so that a
# merged profile still shows which worker allocated what; and the label +deploy+ where the
# environment has HEAP_SAMPLE_DEPLOY, such as a revision.
#
# The agent is a child of Puma's first process: it ends when Puma stops or restarts, and within a second when Puma is
# killed. In a phased restart it goes on.
Puma::DSL.class_eval do
  def heapsample_agent(*arguments) = @options[:heapsample_agent] = arguments
end

Puma::Plugin.create do
  # Threads have the labels of the code that makes them: of Puma's, when a process has begun.
  def config(dsl)
    deploy = ENV["HEAP_SAMPLE_DEPLOY"]
    HeapSample::RequestLabels.set(deploy: deploy) if deploy
    before = dsl.respond_to?(:before_worker_boot) ? :before_worker_boot : :on_worker_boot
    dsl.public_send(before) { |worker| HeapSample::RequestLabels.set(worker: worker) } if dsl.respond_to?(before)
    # The event of the launcher comes in a phased restart, too. The name is good for Puma 6 to 8.
    dsl.on_restart { stop_agent if @agent }
  end

  def start(launcher)
    arguments = launcher.options[:heapsample_agent] or return
    stopped = %i[after_stopped on_stopped].find { |name| launcher.events.respond_to?(name) }      # of Puma 7, and 6
    launcher.events.public_send(stopped) { stop_agent }
    # One arena of malloc: others would keep freed memory for each thread of the agent.
    environment = {"RUBY_HEAP_SAMPLE" => nil, "MALLOC_CONF" => ENV.fetch("MALLOC_CONF", "narenas:1")}
    pid = spawn(environment, RbConfig.ruby, "-I", File.expand_path("../..", __dir__), "-r", "heapsample/tool", "-e", agent, "--", Process.pid.to_s, "agent", *arguments)
    @agent = Process.detach(pid)
    launcher.log_writer.log("* heapsample agent: process #{pid}")
  end

  private

  def agent
    <<~'RUBY'
      GC::SampleProfile.stop if defined?(GC::SampleProfile) && GC::SampleProfile.running?
      puma = ARGV.shift.to_i
      Thread.new do
        sleep 1 while Process.ppid == puma
        Process.kill(:TERM, Process.pid)
      end
      exit HeapSample::Tool::CLI.new(ARGV).run
    RUBY
  end

  # Puma reaps the agent, or the thread does. The agent may need 5 s to send its last profiles.
  def stop_agent
    Process.kill(:TERM, @agent.pid) if @agent.alive?
    Process.kill(:KILL, @agent.pid) unless @agent.join(8)
  rescue Errno::ESRCH
    nil
  end
end
