# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # Many processes in one profile.
      class Merge < Command
        TASK = "Write files"
        SUMMARY = "add up the profiles of many processes in one file"
        USAGE = "[options] FILE|FOLDER… -o OUTPUT.pb.gz"
        EXAMPLES = <<~TEXT
          heapsample merge /var/tmp/heap/ -o all.pb.gz && heapsample top all.pb.gz
        TEXT
        HELP = <<~TEXT
          Use it for the workers of a server or the pods of a deployment. Figures and their errors are added.
          Ages are preserved. Values without a sum, such as threads and process ids, are left out.
          If a process has several profiles, only its last profile counts.
          Files are read one by one, by a process for each processor. So memory use depends on the number of different
          stacks, not of files.
        TEXT
        ENDINGS = %w[.pb.gz .pb].freeze

        def call(arguments)
          expect(arguments, 1.., "profiles")
          output = output_path(arguments)
          format = format_of(output)
          Output.check_terminal(output, format)
          paths = Inputs.expand(arguments)
          raise UsageError, "-: profiles to merge are read twice; name files" if paths.include?(Inputs::STDIN)

          found = in_parts("looking at", paths, arguments) { |path| Tool::Merge.about(path) }
          last = Tool::Merge.last_of_each(found)
          @merge = Tool::Merge.new
          merged = in_parts("merging", last, arguments) { |path| path if @merge.add(Inputs.load(path, progress: true)) }
          raise Failure, "#{arguments.join(", ")}: no profile can be read" if merged.empty?

          Convert.save(@merge.profile(files: found.size), format, output)
          print_result(found, merged, output)
        end

        private

        def define_options(parser) = define_output(parser)

        def format_of(output)
          return "pb.gz" if output == Inputs::STDIN

          ENDINGS.find { |ending| output.end_with?(ending) }&.delete_prefix(".") or
            raise UsageError, "#{output}: the name must end with .pb.gz or .pb"
        end

        # What the block makes of each file, in several processes: each has a @merge of its own, and these are added. The
        # rows of all processes are bounded together.
        def in_parts(what, paths, named)
          all, left_out = [], []
          Progress.show("#{what} #{paths.size} files") do |progress|
            work = lambda do |part|
              warnings, done = [], 0
              @merge&.rows_max = Tool::Merge::ROWS_MAX * part.size / paths.size
              results = Inputs.readable(part, named, warnings) do |path|
                progress.at = "#{100 * (done += 1) / part.size}%"
                yield path
              end
              [results, warnings, @merge]
            end
            Parts.each(paths, work) do |results, warnings, merge|
              all.concat(results)
              left_out.concat(warnings)
              @merge&.rows_max = Tool::Merge::ROWS_MAX
              @merge.add(merge.profile) unless [nil, @merge].include?(merge) || merge.profiles.zero?
            end
          end
          Series.few(left_out).each { |warning| Message.print(warning) }
          all
        end

        def print_result(paths, last, output)
          passed_over = paths.size - last.size
          Message.print("#{passed_over} of #{paths.size} profiles are left out: the same processes have later ones") if passed_over > 0
          print_written(output, ": #{last.size} profile#{"s" unless last.size == 1}")
        end
      end
    end
  end
end
