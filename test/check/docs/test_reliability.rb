# frozen_string_literal: true

require_relative "docs"

# "What it does inside your process" of doc/reliability.md lists what the sampler does to its host, with the files of
# src/heap_sampler whose code does it.
class ReliabilityTest < DocsTest
  LISTS = {
    "Every descriptor" => %w[
      open openat socket accept accept4 memfd_create pipe pipe2 eventfd epoll_create epoll_create1 inotify_init inotify_init1 dup dup2 dup3
      signalfd timerfd_create fopen opendir shm_open
    ],
    "Every thread that is touched from outside" => %w[
      rb_threadptr_interrupt pthread_kill pthread_cancel rb_thread_wakeup rb_thread_wakeup_timer_thread rb_thread_run rb_postponed_job_trigger
      unblock\.func
    ],
    "Every Ruby method on a thread of the program" => %w[
      rb_funcall\w* rb_check_funcall rb_yield\w* rb_proc_call\w* rb_protect rb_ensure rb_rescue2? rb_obj_as_string rb_inspect rb_check_to_integer
      rb_respond_to rb_thread_check_ints rb_eval\w* StringValue\w*
    ],
    "Every wait" => %w[
      pthread_cond_wait pthread_cond_timedwait pthread_join pthread_mutex_timedlock wait4 waitpid waitid sem_wait poll nanosleep usleep rb_nogvl
      rb_thread_call_without_gvl
    ]
  }.transform_values { |calls| /\b(?:#{calls.join("|")})\(/ }.freeze
  FOLDER = File.join(TOP, "src/heap_sampler")

  def self.code(path) = File.read(path).gsub(%r{/\*.*?\*/}m, "").gsub(/"(?:[^"\\]|\\.)*"/, '""')
  def self.sources = @sources ||= Dir.glob("**/*.{c,h,inc}", base: FOLDER).to_h { |file| [file, code(File.join(FOLDER, file))] }

  LISTS.each do |title, calls|
    test "\"#{title}\" names the files that do it, and no others" do
      section = Docs.read("doc/reliability.md")[/^### #{title}\n(.*?)(?=^##)/m, 1].to_s
      named = section.lines.grep(/\A\|/).flat_map { |row| row.split("|")[1].scan(/`([^`]+)`/) }.flatten.uniq.sort
      assert_equal self.class.sources.select { |_, text| text.match?(calls) }.keys.sort, named
    end
  end
end
