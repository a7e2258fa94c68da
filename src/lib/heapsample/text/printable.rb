# frozen_string_literal: true

module HeapSample
  # The one exit for text.  Names of classes, methods, files and processes can have any content: before one reaches a terminal,
  # Markdown, JSON, a folded file or the page, it passes here, so that no name moves the cursor, colours the screen,
  # begins a line, or turns or hides what follows it.
  module Printable
    # Control characters, what ends a line, what turns text (bidirectional controls), and what cannot be seen:
    # fillers, tags, selectors of variants.
    UNSAFE = /[\p{Cc}\p{Cf}\u2028\u2029\u2065\ufff0-\ufff8\u115f\u1160\u3164\uffa0]|[\u{e0000}-\u{e0fff}]/
    ESCAPES = {"\n" => "\\n", "\t" => "\\t", "\r" => "\\r", "\e" => "\\e", "\0" => "\\0"}.freeze
    private_constant :ESCAPES

    module_function

    # call-seq:
    #   text("\e[31m") -> "\\e[31m"
    #
    # +string+ with all of UNSAFE, and bytes that are no UTF-8, as Ruby writes them in source.
    def text(string)
      string = utf8(string.to_s)
      return string unless UNSAFE.match?(string)

      string.gsub(UNSAFE) { |character| ESCAPES[character] || format(character.ord > 0xffff ? "\\u{%X}" : "\\u%04X", character.ord) }
    end

    # The same in UTF-8 whatever its encoding says: a byte that is none is shown as "\xFF".
    def utf8(string)
      return string if string.encoding == Encoding::UTF_8 && string.valid_encoding?

      string = string.dup.force_encoding(Encoding::UTF_8)
      string.valid_encoding? ? string : string.scrub { |bytes| bytes.unpack("C*").map { |byte| format("\\x%02X", byte) }.join }
    end

    # call-seq:
    #   code("User#name") -> "`User#name`"
    #
    # A name in Markdown: a code span, whose fence is longer than any run of backticks inside.
    def code(string)
      string = text(string)
      fence = "`" * (string.scan(/`+/).map(&:length).max.to_i + 1)
      blank = " " if fence.length > 1 || string.strip.empty?
      "#{fence}#{blank}#{string}#{blank}#{fence}"
    end

    # The same of all Strings and Symbols in Hashes and Arrays.
    def all(value)
      case value
      when Hash then value.to_h { |name, one| [all(name), all(one)] }
      when Array then value.map { |one| all(one) }
      when String, Symbol then text(value)
      else value
      end
    end

    # call-seq:
    #   json({"a" => 1}, pretty: true) -> String
    #
    # As JSON, with +pretty+ indented; in its strings UNSAFE is escaped as JSON has it, so that a program reads what was there.
    def json(value, pretty: true)
      require "json"
      JSON.public_send(pretty ? :pretty_generate : :generate, value).gsub(/(?!\n)(?:#{UNSAFE})/o) { |character| character.encode("UTF-16BE").unpack("n*").map { |unit| format("\\u%04x", unit) }.join }
    end
  end
end
