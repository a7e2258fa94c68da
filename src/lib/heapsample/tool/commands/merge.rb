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
          Files are read one by one, so memory use depends on the number of different stacks, not of files.
        TEXT
        ENDINGS = %w[.pb.gz .pb].freeze

        def call(arguments)
          expect(arguments, 1.., "profiles")
          output = output_path(arguments)
          format = format_of(output)
          Output.check_terminal(output, format)
          paths = Inputs.expand(arguments)
          raise UsageError, "-: profiles to merge are read twice; name files" if paths.include?(Inputs::STDIN)

          merge = Tool::Merge.new
          paths, last = last_profiles(paths, arguments)
          last = Progress.show("merging") do |progress|
            Inputs.readable(last, arguments) { |path| path if merge.add(Inputs.load(path, progress: progress.at = "#{merge.profiles} of #{last.size}")) }
          end
          raise Failure, "#{arguments.join(", ")}: no profile can be read" if last.empty?

          Convert.save(merge.profile(files: paths.size), format, output)
          tell(paths, last, output)
        end

        private

        def define_options(parser) = define_output(parser)

        def format_of(output)
          return "pb.gz" if output == Inputs::STDIN

          ENDINGS.find { |ending| output.end_with?(ending) }&.delete_prefix(".") or
            raise UsageError, "#{output}: the name must end with .pb.gz or .pb"
        end

        # The paths that can be read, and of these the last of each process.
        def last_profiles(paths, named)
          Progress.show("looking at #{paths.size} files") do |progress|
            done = 0
            metas = Inputs.readable(paths, named) { |path| [path, Inputs.meta(path).tap { progress.at = done += 1 }] }.to_h
            [metas.keys, Tool::Merge.last_of_each(metas.keys) { |path| metas.fetch(path) }]
          end
        end

        def tell(paths, last, output)
          passed_over = paths.size - last.size
          Message.say("#{passed_over} of #{paths.size} profiles are left out: the same processes have later ones") if passed_over > 0
          tell_written(output, ": #{last.size} profile#{"s" unless last.size == 1}")
        end
      end
    end
  end
end
