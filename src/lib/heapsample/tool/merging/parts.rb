# frozen_string_literal: true

require "etc"

module HeapSample
  module Tool
    # A list in parts, and a process for each part: this process does the first part, forked children do the others. Each
    # sends its result through a pipe, so nothing stays behind on disk. The results come in the order of the list.
    class Parts
      # Processes at once, at most; elements for which a process is worth its start.
      PROCESSES_MOST, FEW = 8, 32

      def self.size(list) = [list.size.fdiv([Etc.nprocessors, PROCESSES_MOST].min).ceil, FEW].max

      # call-seq:
      #   Parts.each(list, work, size: 50) { |result| … }
      #
      # +work+ is called with each part. Marshal must be able to write what it returns or raises.
      def self.each(list, work, size: Parts.size(list))
        children = []
        own, *others = list.each_slice(size).to_a
        others.each { |part| children << new(part, work) }
        yield work.call(own) if own
        children.each { |child| yield child.result }
      ensure
        children.each(&:finish)
      end

      def initialize(part, work)
        parent = Process.pid
        @pipe, output = IO.pipe(binmode: true)
        @pid = fork do
          @pipe.close
          end_with(parent)
          Marshal.dump(attempt(part, work), output)
          output.close
        ensure
          exit!(true)
        end
        output.close
      end

      def result
        received = receive
        received.is_a?(Exception) ? raise(received) : received
      end

      def finish
        @pipe.close
        Process.kill(:KILL, @pid)
        Process.wait(@pid)
      end

      private

      # If the parent is killed, its children end within a second.
      def end_with(parent)
        Thread.new do
          sleep 1 while Process.ppid == parent
          exit!(false)
        end
      end

      def attempt(part, work)
        work.call(part)
      rescue StandardError, NoMemoryError => e
        e
      end

      def receive
        Marshal.load(@pipe) # our own child has written it
      rescue EOFError, ArgumentError, TypeError
        raise Failure, "a process that read a part of the files was killed; is there enough memory? Merge fewer files at once, and then the results"
      end
    end
  end
end
