# frozen_string_literal: true

module HeapSample
  # Code that loads other code.  What a file takes to be compiled is made before its first line runs: the innermost
  # frame is then a line of the code that implements `require` (RubyGems, Bundler, bootsnap, zeitwerk), which is the same for
  # all files.  That line is not useful; the line that required the file is.
  module Loading
    PATH = %r{
      /bundled_gems\.rb\z |
      /rubygems/(?:core_ext/kernel_\w+|rubygems)\.rb\b |
      /lib/bundler/(?:runtime|rubygems_ext|shared_helpers)\.rb\z |
      /gems/bootsnap-[^/]+/lib/ |
      /gems/zeitwerk-[^/]+/lib/zeitwerk/(?:core_ext/kernel|kernel|loader)\b |
      /gems/activesupport-[^/]+/lib/active_support/(?:dependencies|fork_tracker)\b |
      /gems/polyglot-[^/]+/lib/
    }x
    LABEL = /\A(?:Kernel[#.](?:require|require_relative|load|autoload)|Gem\.activate_and_load_bin_path|Bundler\.(?:require|setup)|Gem\.activate_bin_path)\z/
    # A file that only starts a program of a gem.
    START = %r{/(?:bin|exe|script)/[^/.]+\z}
    TOP = /\A(?:rescue in |block in )?<(?:main|top \(required\)|compiled)>\z/

    module_function

    # Does a frame only load other code?
    def path?(path) = PATH.match?(path)

    # Does the top of a file in bin only start what a frame (+inner+) loads?
    def start?(frame, inner)
      return false unless START.match?(frame.full_path)

      LABEL.match?(frame.label) || TOP.match?(frame.label) && !inner.nil? && (LABEL.match?(inner.label) || path?(inner.full_path))
    end
  end
end
