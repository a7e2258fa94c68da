# frozen_string_literal: true

module HeapSample
  module Tool
    # The commands, one a file.
    module Commands
      CLI::NAMES.each { |name| autoload name.capitalize, "#{__dir__}/commands/#{name}" }
    end
  end
end
