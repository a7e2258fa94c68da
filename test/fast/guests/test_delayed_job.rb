# frozen_string_literal: true

require_relative "guests"

class DelayedJobTest < GuestTest
  JOBS = 60

  # Times, process ids and the order of two workers differ between any two runs. A thread of a worker prints "Exiting...", if the
  # worker does not exit first.
  def normal(log)
    log.gsub(/pid:\d+/, "pid").gsub(/after \d+\.\d+/, "").gsub(/delayed_job\.\d/, "delayed_job").gsub(/^[-+:T\d]+: /, "").lines.grep_v(/jobs processed|# Logfile|Exiting/).sort.join
  end

  test "workers of delayed_job, which reopen files" do
    assert_same("delayed_job", /^60 done$/, /^60 of 60 lines$/, /\A(?!.*(?:FAILED|Error))/m, /COMPLETED/) do |run|
      run.ruby("delayed_job.rb")
      workers = waits_for(SECONDS) { (pids = Array.new(2) { |number| run.read("delayed_job.#{number}.pid").to_i }).all?(&:positive?) && pids }
      waits_for(SECONDS) { Dir.glob("#{run.folder}/done-*").size == JOBS }
      waits_for(SECONDS) { run.read("worker.log").scan("Starting job worker").size == 2 }
      run.asked(*workers)
      workers.each { |pid| Process.kill(:TERM, pid) }
      waits_for(SECONDS) { workers.all? { |pid| ended?(pid) } }
      lines = run.read("application.log").lines
      expected = Array.new(JOBS) { |number| "job #{number} has its answer\n" }
      done = Dir.glob("#{run.folder}/done-*").size
      ["#{done} done\n", "#{(lines & expected).size} of #{lines.size} lines\n", run.read("output").gsub(/with pid \d+/, "with its pid"), normal(run.read("worker.log"))].join
    end
  end
end
