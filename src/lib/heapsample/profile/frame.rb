# frozen_string_literal: true

module HeapSample
  # A place in a stack, read like a Thread::Backtrace::Location: of Ruby code, or
  # of native code, whose label is a function or, where the file has no name for
  # it, "libfoo.so+0x1234", and whose path is the file's.
  class Frame
    # What MRI puts before the method's name in the label of a frame inside it.
    INSIDE = /\A(?:(?:block(?: \(\d+ levels\))?|rescue|ensure) in )+/

    # Functions that only hand malloc's memory on: their caller is of interest.
    HANDS_ON = /(?:malloc|calloc|realloc|zalloc|memalign|strn?dup|alloc_tmp_buffer)|\A_Zn[aw]|\Aoperator new/i

    # As MRI prints it, with its class: "block in Foo#bar".
    attr_reader :label
    # The path as it was loaded; of a frame of a C method, the path of its caller.
    attr_reader :path
    # The full path, or nil (eval, or a file without it).
    attr_reader :absolute_path
    # 0 if there is none.
    attr_reader :lineno
    # Of native code; 0 of Ruby's.
    attr_reader :address

    def initialize(label, path, absolute_path, lineno, address = 0)
      @label = label
      @path = path
      @absolute_path = absolute_path
      @lineno = lineno
      @address = address
    end

    # Is it native code?
    def native?
      address > 0
    end

    # Is it a function that gets memory for its caller?
    def hands_on? # :nodoc:
      native? && HANDS_ON.match?(label)
    end

    # Base name of the file that native code is in; nil for Ruby code.
    def library
      GemName.base(path) if native?
    end

    # The most exact path, as in a file.
    def full_path
      absolute_path || path
    end

    # The method or class body, without the blocks around: "Foo#bar".
    def qualified_label
      return label if native?

      label.sub(INSIDE, "")
    end

    # The same without its class: "bar".
    def base_label
      name = qualified_label
      return name if native? || TemplateName.template?(name, full_path)

      name.start_with?("<", "(") ? name : name[/[#.]([^#.]+)\z/, 1] || name
    end

    # As Ruby 3.4 prints it: <tt>path:line:in 'label'</tt>; of native code
    # <tt>function (libfoo.so)</tt>.
    def to_s
      return native_name if native?

      line = lineno > 0 ? ":#{lineno}" : ""
      "#{path}#{line}:in '#{label}'"
    end

    def inspect
      to_s.inspect
    end

    def ==(other)
      other.is_a?(Frame) && to_a == other.to_a
    end
    alias eql? ==

    def hash
      to_a.hash
    end

    def to_a
      [label, path, absolute_path, lineno, address]
    end
    protected :to_a

    private

    def native_name
      path.empty? || label.start_with?("#{library}+0x") ? label : "#{label} (#{library})"
    end
  end
end
