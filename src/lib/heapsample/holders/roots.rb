# frozen_string_literal: true

module HeapSample
  # Categories of roots, where ways begin, that are not what a person looks for: what their names mean, and whether
  # something keeps what is below.
  module Roots
    # +pattern+ of the name; a sentence; +keeps+: does it stand for a holder that somebody wrote?
    Root = Struct.new(:pattern, :meaning, :keeps) do
      # Does it say who keeps what is below?
      def told? = !SILENT.include?(pattern)
    end

    KNOWN = [
      Root.new(/\A\(not reached\)/, "No way was found. Objects: garbage that no GC has looked at yet. Blocks of malloc: those of the VM, and of C code to which no object leads.", false),
      Root.new(/\A\(loaded code\)/, "Classes, modules, methods, compiled code, and the literals in it. Files that are loaded keep it.", true),
      Root.new(/\A\(VM\)/, "The VM keeps it: its own objects, and what C code has registered.", true),
      Root.new(/\A\(not walked\)/, "The walk was stopped before it came there: it took too long.", false),
      Root.new(/\A\(evicted\)/, "There was no room for more ways.", false),
      Root.new(/\A\(machine stack\)/, "A C function works on it, or has left a reference on the stack of its thread. It may be free soon.", false),
      Root.new(/\A\(VM caches\)/, "The VM's own caches and compiled code keep it, and so the code does: no leak of anybody's.", false),
      Root.new(/\A\(threads that can never wake\)/, "Threads and fibers keep it that wait for what nobody can give them.", true)
    ].freeze.each(&:freeze)

    NOT_REACHED = "(not reached)"

    # Those by which nobody knows who keeps it.
    SILENT = KNOWN.map(&:pattern).select { |pattern| %w[(not\ reached) (not\ walked) (evicted)].any? { |name| pattern.match?(name) } }.freeze

    module_function

    # Is it what threads and fibers have?
    def threads?(name) = name.start_with?("(threads")

    # Does a category of this name not say what retains what is below it?
    def silent?(name) = of(name)&.told? == false

    # What is known of a category by its name: a Root, or nil of one that a person wrote.
    def of(name) = KNOWN.find { |root| root.pattern.match?(name) }
  end
end
