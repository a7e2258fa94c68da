# frozen_string_literal: true

module HeapSample
  module Tool
    # The commands: each file in commands/ declares one, in a class with the file's name.
    module Commands
      FOLDER = "#{__dir__}/commands"
      NAMES = Dir.children(FOLDER).grep(/\.rb\z/) { |file| File.basename(file, ".rb") }.sort.freeze
      private_constant :FOLDER

      NAMES.each { |name| autoload name.capitalize, "#{FOLDER}/#{name}" }

      # All commands, in the order of their names.
      def self.all = NAMES.map { |name| named(name) }

      # The command of that name, a subclass of Command.  +what+ is expected, for the UsageError if there is none.
      def self.named(name, what = "command")
        return const_get(name.capitalize) if NAMES.include?(name)

        raise UsageError, "no #{what} #{name.inspect}; heapsample help lists the commands#{Nearest.question(name, NAMES)}"
      end
    end
  end
end
