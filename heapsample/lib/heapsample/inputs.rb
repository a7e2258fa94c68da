# frozen_string_literal: true

module HeapSample
  module Tool
    # The files that the user named: profiles, folders of them, "-" for what is
    # piped in.
    module Inputs
      STDIN = "-"
      ENDINGS = %w[.pb.gz .pb].freeze

      module_function

      # call-seq:
      #   Inputs.load("heap.pb.gz") -> HeapSample::Profile
      #
      # Errors name the file: FormatError, or Failure if it cannot be opened.
      def load(path, progress: nil)
        return Progress.show("reading #{path}") { load(path, progress: true) } unless progress
        return Profile.load($stdin.binmode, name: "(standard input)") if path == STDIN

        opened(path) { Profile.load(path) }
      end

      # What a profile says about itself, as Profile#meta.
      def meta(path)
        opened(path) { PprofReader.read_meta(path) }
      end

      # The profiles among +paths+, of which folders stand for what is in them.
      def expand(paths)
        paths.flat_map do |path|
          next path unless path != STDIN && File.directory?(path)

          found = profiles_in(path)
          raise Failure, "#{path}: no profile (#{ENDINGS.join(", ")}) in this folder" if found.empty?

          found
        end
      end

      def profiles_in(folder)
        Dir.children(folder).sort.filter_map do |name|
          path = File.join(folder, name)
          path if name.end_with?(*ENDINGS) && File.file?(path)
        end
      rescue SystemCallError => e
        raise Failure, "#{folder}: #{reason(e)}"
      end

      def opened(path)
        raise Failure, "#{path}: is a folder, not a profile" if File.directory?(path)

        yield
      rescue SystemCallError => e
        raise Failure, "#{path}: #{reason(e)}"
      rescue NoMemoryError
        raise Failure, "#{path}: there is not enough memory to read it"
      end

      # "no such file or directory", without what Ruby adds to it.
      def reason(error)
        error.class.new.message.sub(/\A[A-Z](?=[a-z])/, &:downcase)
      end
    end
  end
end
