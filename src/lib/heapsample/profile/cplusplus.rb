# frozen_string_literal: true

module HeapSample
  # Names of C++ functions as their authors wrote them.  A profile has the symbols of its files
  # (_ZN6google8protobuf5ArenaC1Ev).  The C++ library itself decodes them (libstdc++'s
  # __cxa_demangle, called by Fiddle); we have no rules of our own.  Where either is missing, the name is the symbol.
  module CPlusPlus
    SYMBOL = /\A_Z[\w.$]+\z/
    # What a compiler adds to a symbol: ".part.0", ".cold".
    SUFFIX = /\.[\w.]+\z/
    # Longer symbols are templates that are too long to read.
    LONGEST = 2000
    # References to an earlier part of the symbol.  Each can be of a part with references: the name doubles and doubles, so
    # that with forty of them it has gigabytes.
    REFERENCE = /[ST][0-9A-Z]*_/
    REFERENCES_MOST = 12
    LIBRARIES = %w[libstdc++.so.6 libc++abi.so.1 libc++abi.dylib].freeze

    class << self
      # "google::protobuf::Arena::Arena()"; +symbol+ itself where it is no symbol of C++, or nothing reads it.
      def readable(symbol)
        return symbol unless SYMBOL.match?(symbol) && symbol.length <= LONGEST && symbol.scan(REFERENCE).size <= REFERENCES_MOST

        names[symbol] ||= demangled(symbol.sub(SUFFIX, "")) || symbol
      end

      private

      # Each Ractor has its own.
      def names = (Ractor.current[:heap_sample_cplusplus_names] ||= {})

      def demangled(symbol)
        function = demangler or return
        text = function.call(symbol, nil, nil, nil)
        Printable.utf8(text.to_s).tap { Fiddle.free(text.to_i) } unless text.null?
      end

      # __cxa_demangle; false where there is none.
      def demangler
        known = Ractor.current[:heap_sample_demangler]
        known.nil? ? Ractor.current[:heap_sample_demangler] = find_demangler || false : known
      end

      def find_demangler
        load_fiddle
        LIBRARIES.each do |library|
          return Fiddle::Function.new(Fiddle.dlopen(library)["__cxa_demangle"], [Fiddle::TYPE_VOIDP] * 4, Fiddle::TYPE_VOIDP)
        rescue Fiddle::DLError
          next
        end
        nil
      rescue LoadError, Ractor::Error
        nil
      end

      # Bundler would warn the program's users of a gem that they never heard of.
      def load_fiddle
        respond_to?(:no_warning_require, true) ? no_warning_require("fiddle") : require("fiddle")
      end
    end
  end
end
