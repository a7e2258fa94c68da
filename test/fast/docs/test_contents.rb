# frozen_string_literal: true

require "fileutils"
require "heapsample"
require "json"
require "rbconfig"
require "tmpdir"
require "zlib"
require_relative "../../check/docs/docs"

# "What a profile contains" of SECURITY.md: each text of real profiles is of one of the kinds that it lists, and none is data.
# The programs have planted data wherever a program has data, and names that are made from data.
class ContentsTest < DocsTest
  FORMAT = %w[doc/format.md doc/heap_sampler.proto doc/memory.md doc/why.md src/heap_sampler/heap_walk/names.c].map { |path| Docs.read(path) }.join

  # PLANT begins what must not be there, NAMED a name that is made from data. ARGV: where the profile goes, and the names that there are.
  PROGRAM = <<~'RUBY'
    class Box; end
    box = Box.new
    several = ->(text) { Array.new(2000) { |i| "#{text}#{i}" } }
    box.instance_variable_set("@NAMED_ivar", several["PLANT"])
    Thread.current["NAMED_local"] = several["PLANT"]
    Thread.current.thread_variable_set("PLANT_variable", several["PLANT"])
    Fiber[:NAMED_storage] = several["PLANT"]
    Ractor.current[:NAMED_ractor] = several["PLANT"]
    Box.define_method("NAMED_method") { several["PLANT"] }
    $made = box.NAMED_method
    eval("$evaluated = several['PLANT']", binding, "NAMED-file")
    $struct = Struct.new(:NAMED_member).new(several["PLANT"])
    anonymous = Class.new
    anonymous.set_temporary_name("fake<NAMED>")
    $objects = Array.new(2000) { anonymous.new }
    $hash = {"PLANT_key" => several["PLANT"], PLANT_symbol: several["PLANT"], [:PLANT_element, 4111_1111_1111] => several["x"]}
    $regexp = Array.new(500) { |i| /PLANT#{i}/ }
    $symbols = Array.new(500) { |i| :"PLANT dynamic #{i}" }
    $error = begin; raise(ArgumentError, "PLANT message"); rescue => e; e; end
    $thread = Thread.new { Thread.current.name = "PLANT thread"; $in_thread = several["PLANT"]; sleep }
    Thread.pass until $in_thread
    $environment = ENV.to_h
    $box = box
    GC::SampleProfile.with_labels(tenant: "LABEL acme") { $labelled = several["PLANT"] }
    GC.start
    GC.sample_profile(why: true).save(ARGV[0])
    modules = ObjectSpace.each_object(Module).filter_map { |one| Module.instance_method(:name).bind_call(one) }
    libraries = File.read("/proc/self/maps").scan(%r{ r-xp .* (/.*)$}).flatten.uniq
    File.write(ARGV[1], Marshal.dump([Symbol.all_symbols.map(&:to_s).grep_v(/PLANT/), modules, libraries]))
  RUBY

  # All texts of a profile: the string table (field 6), and what it says about itself, as JSON.
  def strings(path) = [*string_table(path), JSON.generate(HeapSample::Profile.load(path).meta)]

  def string_table(path)
    bytes = File.binread(path)
    bytes = Zlib.gunzip(bytes) if path.end_with?(".gz")
    at, found = 0, []
    number = lambda do
      value, shift = 0, 0
      loop do
        byte = bytes.getbyte(at)
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        return value if byte < 128
      end
    end
    while at < bytes.bytesize
      field = number.call
      length = field & 7 == 2 ? number.call : 0
      found << bytes.byteslice(at, length).force_encoding("UTF-8") if field >> 3 == 6
      number.call if (field & 7).zero?
      at += length
    end
    found
  end

  # What the kinds are, by the words in bold: does a text have only that?
  class Contents
    ABOUT = %w[ruby process_start title directory gemfile host deploy allocator].freeze

    # Texts of JSON that are of no kind, with their names.
    attr_reader :other

    def initialize(names, labels)
      @other = []
      symbols, modules, @libraries = names
      @names = [*symbols, *modules].flat_map { |name| words(name) }.to_h { |word| [word, true] }
      @labels = labels
      @binaries = {}
    end

    KINDS = {
      "Paths" => :path?, "Names" => :names?, "Labels" => :label?, "The process" => :about?, "Words of the format" => :word?
    }.freeze

    def kind(text) = KINDS.key(KINDS.values.find { |kind| send(kind, text) })

    private

    def words(text) = text.scan(/[[:alpha:]_][[:word:]]*/)
    def path?(text) = text.match?(/\A(?:<internal:[\w-]+>|\h{40})\z/) || text == "NAMED-file" || (text.start_with?("/") && File.exist?(text))
    def label?(text) = @labels.include?(text)
    def word?(text) = text.empty? || FORMAT.include?("`#{text}`") || words(text).all? { |word| FORMAT.match?(/(?<![[:word:]])#{word}(?![[:word:]])/) }

    # Each word is a name of Ruby's, a word of the format, or a name in an executable or library.
    def names?(text) = words(text).all? { |word| @names[word] || word?(word) || in_file?(text, word) }

    def in_file?(text, word)
      return true if @libraries.any? { |path| File.basename(path).include?(word) } || text.include?("NAMED-file")

      (@binaries[:all] ||= @libraries.map { |path| File.binread(path) }).any? { |bytes| bytes.include?(word) }
    end

    # JSON: its texts stand at the names that the list has, or are words of the format.
    def about?(text)
      return false unless text.start_with?("{")

      other = leaves(JSON.parse(text)).reject { |key, value| ABOUT.include?(key) || word?(value) || path?(value) || names?(value) }
      @other.concat(other)
      other.empty?
    end

    def leaves(value, key = nil)
      case value
      when Hash then value.flat_map { |name, one| [[key, name], *leaves(one, name)] }
      when Array then value.flat_map { |one| leaves(one, key) }
      when String then [[key, value]]
      else []
      end
    end
  end

  LABELS = ["tenant", "LABEL acme"].freeze
  RUNS = {"a script" => ["app.rb"], "a program on the command line" => ["-W0", "-e", PROGRAM], "one with options together" => ["-W0we", PROGRAM]}.freeze

  def setup = @dir = Dir.mktmpdir
  def teardown = FileUtils.rm_rf(@dir)

  # Runs a program: its names, and what it printed.
  def run_program(*arguments)
    File.write(File.join(@dir, "app.rb"), PROGRAM)
    env = {"RUBY_HEAP_SAMPLE" => "interval=1k,malloc=4k,deploy=v1,quiet,output=#{@dir}/exit.pb.gz", "PLANT_VARIABLE" => "PLANT", "RUBYOPT" => nil}
    out, = Open3.capture2e(env, RbConfig.ruby, "--disable=gems", *arguments, "#{@dir}/asked.pb", "#{@dir}/names", "PLANT argument", chdir: @dir)
    assert File.exist?("#{@dir}/names"), out
    Contents.new(Marshal.load(File.binread("#{@dir}/names")), LABELS)
  end

  test "the list in SECURITY.md has the kinds that are looked for" do
    listed = Docs.read("SECURITY.md")[/^## What a profile contains\n(.*?)^## /m, 1].to_s.scan(/^- \*\*(.*?)\*\*/).flatten
    assert_equal Contents::KINDS.keys.sort, listed.sort
  end

  RUNS.each do |name, arguments|
    test "#{name}: each text is of a kind that the list has, none is data, and names made from data are there", missing: NOT_BUILT do
      contents = run_program(*arguments)
      ["asked.pb", "exit.pb.gz"].each do |file|
        texts = strings(File.join(@dir, file))
        assert_operator texts.size, :>, 100, file
        assert_equal [], texts.grep(/PLANT|411111111111/), file
        assert_equal [], texts.reject { |text| contents.kind(text) }, "#{file}, in JSON: #{contents.other}"
        assert_includes texts, "LABEL acme", file
      end
      made = strings(File.join(@dir, "asked.pb")).grep(/NAMED/).join("\n").scan(/NAMED[\w-]*/).uniq
      assert_equal [], %w[NAMED NAMED-file NAMED_ivar NAMED_local NAMED_member NAMED_ractor] - made
    end
  end
end
