# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # Many processes in one profile.
      class Merge < Command
        SUMMARY = "many processes' profiles into one, weights and errors kept"
        USAGE = "[options] FILE|FOLDER… -o OUTPUT.pb.gz"
        HELP = <<~TEXT
          Adds up the profiles of many processes: workers of a server, pods of a deployment. Estimates and
          their variances add; ages stay; threads, process ids and all else that has no sum are left out.
          Of several profiles of one process the last one counts. Files are read one by one: ten
          thousand of them need no more memory than their different stacks.

              heapsample merge profiles/ -o all.pb.gz && heapsample top all.pb.gz

        TEXT
        FORMATS = %w[.pb.gz .pb].freeze

        def call(arguments)
          expect(arguments, 1.., "profiles")
          output = output_path(arguments, ".pb.gz")
          format = format_of(output)
          Output.check_terminal(output, format)
          paths = Inputs.expand(arguments)
          raise UsageError, "-: profiles to merge are read twice, so they are files" if paths.include?(Inputs::STDIN)

          merge = Tool::Merge.new
          last = last_profiles(paths)
          Progress.show("merging") do |progress|
            last.each_with_index { |path, index| merge.add(Inputs.load(path, progress: progress.at = "#{index} of #{last.size}")) }
          end
          Convert.save(merge.profile(files: paths.size), format, output)
          tell(paths, last, output)
        end

        private

        def define_options(parser)
          define_output(parser, ".pb.gz or .pb")
        end

        def format_of(output)
          return "pb.gz" if output == Inputs::STDIN

          FORMATS.find { |ending| output.end_with?(ending) }&.delete_prefix(".") or
            raise UsageError, "#{output}: its name ends with neither .pb.gz nor .pb"
        end

        def last_profiles(paths)
          Progress.show("looking at #{paths.size} files") do |progress|
            done = 0
            Tool::Merge.last_of_each(paths) { |path| Inputs.meta(path).tap { progress.at = done += 1 } }
          end
        end

        def tell(paths, last, output)
          passed_over = paths.size - last.size
          Message.say("#{passed_over} of #{paths.size} profiles were earlier ones of the same processes, and do not count") if passed_over > 0
          tell_written(output, ": #{last.size} profile#{"s" unless last.size == 1}")
        end
      end
    end
  end
end
