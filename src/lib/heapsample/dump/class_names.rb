# frozen_string_literal: true

module HeapSample
  module Dump
    # The names of classes by their addresses, which objects have.
    class ClassNames
      # A class by its line: what it is called; the class to look at instead, where it is a singleton class; Class or Module.
      Known = Struct.new(:name, :superclass, :singleton, :type)
      # Superclasses of superclasses.
      LEVELS = 64
      SINGLETON = /\A#<Class:/
      # A temporary name holds the address of an anonymous class.
      TEMPORARY = /\A#<(Class|Module):0x\h+>\z/

      def initialize
        @known = {}
        @names = {}
      end

      # Notes the line of a class or module.
      def note(address, fields)
        name = fields["real_class_name"] || fields["name"]
        @known[address] = Known.new(name.is_a?(String) ? Printable.utf8(name) : nil, fields["superclass"], fields["singleton"], fields["type"])
      end

      # The name of the class at an address; nil if the dump does not have it.
      def name(address) = @names.fetch(address) { @names[address] = find(address) }

      # Yields the address of each class and module that has a name, and the name.
      def each_named
        @known.each { |address, known| yield address, known.name if known.name && !known.singleton && !TEMPORARY.match?(known.name) && !SINGLETON.match?(known.name) }
      end

      # Names of classes that only one class has => address.
      def unique
        @known.each_with_object({}) { |(address, known), all| all[known.name] = all.key?(known.name) ? nil : address if known.name && !known.singleton }.compact
      end

      private

      def find(address)
        LEVELS.times do
          known = @known[address] or return
          return readable(known, address) unless known.singleton && known.name.nil?

          address = known.superclass
        end
        nil
      end

      def readable(known, address)
        return known.name if known.name && !TEMPORARY.match?(known.name) && !SINGLETON.match?(known.name)

        known = @known[known.superclass] if known.superclass
        named = known&.name unless TEMPORARY.match?(known&.name.to_s) || known&.name == "Object"
        named ? "(anonymous Class < #{named})" : "(anonymous #{@known[address].type == "MODULE" ? "Module" : "Class"})"
      end
    end
  end
end
