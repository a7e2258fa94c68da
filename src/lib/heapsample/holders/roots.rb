# frozen_string_literal: true

module HeapSample
  # Categories of roots, where ways begin, that are not part of the program: what their names mean, and whether
  # the category retains the memory below.
  module Roots
    # +pattern+ of the name; a sentence; +holder+: does it stand for a holder?
    Root = Struct.new(:pattern, :meaning, :holder) do
      # Does it name what retains the memory below?
      def known? = !SILENT.include?(pattern)
    end

    KNOWN = [
      Root.new(/\A\(not reached\)/, "No reference was found. Objects: garbage that no GC has freed yet. Malloc blocks: memory of the VM, or of C code that no object refers to.", false),
      Root.new(/\A\(loaded code\)/, "Classes, modules, methods, and compiled code with its literals. Loaded files retain it.", true),
      Root.new(/\A\(VM\)/, "The VM retains it: its own objects, and objects that C code has registered.", true),
      Root.new(/\A\(not walked\)/, "The heap walk took too long, and stopped before it reached this memory.", false),
      Root.new(/\A\(evicted\)/, "The profile had no room for more references.", false),
      Root.new(/\A\(machine stack\)/, "A C function uses it, or has left a reference on the stack of its thread. It may be freed soon.", false),
      Root.new(/\A\(VM caches\)/, "Caches and compiled code of the VM retain it. This is not a leak of the program.", false),
      Root.new(/\A\(threads that can never wake\)/, "Permanently blocked threads and fibers retain it.", true)
    ].freeze.each(&:freeze)

    NOT_REACHED = "(not reached)"

    # Categories that do not show what retains memory.
    SILENT = KNOWN.map(&:pattern).select { |pattern| %w[(not\ reached) (not\ walked) (evicted)].any? { |name| pattern.match?(name) } }.freeze

    module_function

    # Is it what threads and fibers have?
    def threads?(name) = name.start_with?("(threads")

    # Does a category of this name not show what retains the memory below?
    def silent?(name) = of(name)&.known? == false

    # What is known of a category by its name: a Root, or nil of one that a person wrote.
    def of(name) = KNOWN.find { |root| root.pattern.match?(name) }
  end
end
