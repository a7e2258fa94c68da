# frozen_string_literal: true

module HeapSample
  module Tool
    # What the user named: profiles, folders of them, "-" for what is piped in, and
    # what is asked for a profile of now: running processes (a process id, or the path of a socket), and URLs.
    module Inputs
      STDIN = "-"
      ENDINGS = Series::ENDINGS

      module_function

      # call-seq:
      #   Inputs.load("heap.pb.gz") -> HeapSample::Profile
      #
      # +asked+: of what is asked for it, gc: and why: (see LiveProcess#profile); +references+: also of a heap dump.
      # Errors name the file: FormatError, or Failure if it cannot be opened.
      def load(path, progress: nil, references: false, **asked)
        references ||= asked[:why]
        return Progress.show("reading #{path}") { load(path, progress: true, references: references, **asked) } unless progress
        return warned(Profile.load($stdin.binmode, name: "(standard input)", references: references), path) if path == STDIN

        source = live(path)
        return source.profile(**asked) if source

        warned(opened(path) { Profile.load(path, references: references) }, path)
      end

      # A profile, after a message about what a heap dump lacks.
      def warned(profile, path)
        profile.dump&.left_out&.each { |sentence| Message.print("#{path}: #{sentence}") }
        profile
      end

      # What is asked for a profile of now, a LiveProcess or a LiveURL; nil if +path+ names none.
      def live(path)
        LiveURL.named(path) || LiveProcess.named(path) unless path == STDIN || !path.valid_encoding?
      end

      # Does +path+ name something that can be read?
      def there?(path) = path == STDIN || File.exist?(path) || !live(path).nil?

      # Is it one profile: a file or standard input?
      def one_file?(path) = path == STDIN || (File.exist?(path) && !File.directory?(path) && live(path).nil?)

      # What is asked for its memory of now, or UsageError.
      def asked(path)
        live(path) or raise UsageError, "#{path}: not a process; give the PID of a running Ruby (heapsample ps lists them), its socket, or a URL"
      end

      # The running process of that name, or UsageError.
      def running(path)
        source = asked(path)
        raise UsageError, "#{path}: settings cannot be changed over HTTP; give the PID, on its machine (heapsample ps lists them)" if source.is_a?(LiveURL)

        source
      end

      # The header of a profile, as Profile#meta.
      def meta(path)
        process = live(path)
        return process.profile.meta if process

        opened(path) { PprofReader.read_meta(path) }
      end

      # call-seq:
      #   Inputs.one(path) -> path of a file
      #
      # A folder stands for one profile: see FolderProfile.
      def one(path, &wanted)
        path != STDIN && File.directory?(path) ? FolderProfile.new(path).path(&wanted) : path
      end

      # call-seq:
      #   Inputs.all_series(paths) -> Array of Series, and warnings
      #
      # Files that are damaged are left out, and named on stderr.
      def all_series(paths)
        damaged = []
        series = Progress.show("reading #{paths.size == 1 ? paths.first : "#{paths.size} files"}") { Series.all(paths, damaged: damaged) }
        damaged.each { |warning| Message.print(warning) }
        [series, damaged]
      end

      # What the block makes of each path; damaged files are left out, with a message; files that are gone are left
      # out (keep= deletes).  One that the user +named+ must be read.  Where +left_out+ is given, it gets the messages instead of stderr.
      def readable(paths, named = [], left_out = nil)
        warnings = left_out || []
        found = paths.filter_map do |path|
          yield path
        rescue FormatError, Failure => e
          raise if named.include?(path)

          warnings << "#{e.message}: left out" and nil
        rescue SystemCallError => e
          warnings << "#{path}: #{reason(e)}: left out" unless e.is_a?(Errno::ENOENT)
          nil
        end
        Series.few(warnings).each { |warning| Message.print(warning) } unless left_out
        found
      end

      # The profiles among +paths+; a folder stands for the profiles in it.
      def expand(paths)
        paths.flat_map do |path|
          next path unless path != STDIN && File.directory?(path)

          found = profiles_in(path)
          raise Failure, "#{path}: no profile (#{ENDINGS.join(", ")}) in this folder" if found.empty?

          found
        end
      end

      def profiles_in(folder)
        Series.in_folder(folder)
      rescue SystemCallError => e
        raise Failure, "#{folder}: #{reason(e)}"
      end

      def opened(path)
        yield
      rescue Errno::ENOENT
        raise missing(path)
      rescue SystemCallError => e
        raise Failure, "#{path}: #{reason(e)}"
      rescue NoMemoryError
        raise Failure, "#{path}: not enough memory to read it"
      end

      # A Failure that names the nearest there is.
      def missing(path)
        folder = File.dirname(path)
        names = File.directory?(folder) ? Dir.children(folder).select { |name| name.end_with?(*ENDINGS) || File.directory?(File.join(folder, name)) } : []
        near = Nearest.of(File.basename(path), names).map { |name| folder == "." ? name : File.join(folder, name) }
        Failure.new("#{path}: no such file or folder#{"; did you mean #{near.join(" or ")}?" unless near.empty?}")
      end

      # "no such file or directory", without what Ruby adds to it.
      def reason(error)
        error.class.new.message.sub(/\A[A-Z](?=[a-z])/, &:downcase)
      end
    end
  end
end
