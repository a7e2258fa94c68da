# frozen_string_literal: true

require "json"
require "tmpdir"
require_relative "../../testing"
require_relative "../../gems"

# A gem or an extension that was built for Ruby 3.4 has to find here what it was built for.
class CompatibleTest < Test
  STOCK = ENV["STOCK_RUBY"] || "#{TOP}/build/3.4-stock/prefix/bin/ruby"
  MISSING = ("#{STOCK} is not built: run make stock" unless File.executable?(STOCK))
  RUBIES = {stock: STOCK, ours: RbConfig.ruby}.freeze

  IDENTITY = <<~RUBY
    require "rbconfig"; require "json"
    config = RbConfig::CONFIG.slice("ruby_version", "arch", "sitearch", "host_os", "MAJOR", "MINOR", "TEENY", "PATCHLEVEL", "ruby_pc", "DLEXT",
                                    "ruby_install_name", "RUBY_SO_NAME", "ENABLE_SHARED", "CC", "CFLAGS", "DLDFLAGS", "platform")
    puts [RUBY_VERSION, RUBY_PLATFORM, RUBY_PATCHLEVEL, RUBY_RELEASE_DATE, RUBY_ENGINE, RUBY_ENGINE_VERSION, RUBY_COPYRIGHT, RUBY_DESCRIPTION,
          Gem::Platform.local.to_s, Gem.extension_api_version, RubyVM::INSTRUCTION_NAMES, config].to_json
  RUBY

  # What +measure+ returns for stock, and for ours.
  def both(&measure) = RUBIES.values.map(&measure)

  def headers(ruby) = assert_success(ruby, "-rrbconfig", "-e", 'puts RbConfig::CONFIG.values_at("rubyhdrdir", "rubyarchhdrdir")').split("\n")

  # In the installed headers, by name: the text.
  def header_texts(ruby) = headers(ruby).first.then { |folder| Dir.glob("**/*.h", base: folder).to_h { |name| [name, File.read("#{folder}/#{name}")] } }

  def exported(ruby) = assert_success("nm", "-D", "--defined-only", "--format=posix", ruby).lines.map { |line| line.split.first }

  def sizes(ruby)
    Dir.mktmpdir do |folder|
      assert_success("cc", *headers(ruby).map { |path| "-I#{path}" }, "-Wno-attributes", "-o", "#{folder}/sizes", "#{__dir__}/sizes.c")
      assert_success("#{folder}/sizes").lines(chomp: true)
    end
  end

  test "version, platform, ABI and instructions are as in unpatched Ruby", missing: MISSING do
    stock, ours = both { |ruby| JSON.parse(assert_success(ruby, "-e", IDENTITY)) }
    note ours.first(8).join(" ")
    assert_equal stock, ours
  end

  test "each symbol that unpatched Ruby exports is exported, and new symbols have names of the sampler", missing: MISSING do
    stock, ours = both { |ruby| exported(ruby) }
    assert_operator stock.size, :>, 1500
    assert_empty stock - ours
    note "#{stock.size} symbols, and #{(ours - stock).size} new"
    assert_empty (ours - stock).grep_v(/\Arb_(hs|heap_sampler)_|_heap_sampl/)
  end

  test "the installed headers are equal, and one is new", missing: MISSING do
    stock, ours = both { |ruby| header_texts(ruby) }
    assert_equal ["ruby/heap_sampler.h"], ours.keys - stock.keys
    assert_empty stock.reject { |name, text| ours[name] == text || name.end_with?("/config.h") }.keys
  end

  test "structs, types and events have the sizes, places and numbers that extensions are compiled with", missing: MISSING do
    stock, ours = both { |ruby| sizes(ruby) }
    note "#{ours.size} figures"
    assert_operator stock.size, :>, 50
    assert_equal stock, ours
  end

  shared(:gems) { |share| share.call(install_gems(__dir__)) }

  test "gems with prebuilt extensions install without a compiler" do
    specs = Dir["#{gems}/bundle/ruby/*/specifications/*.gemspec"].map { |path| Gem::Specification.load(path) }
    names = %w[ffi google-protobuf grpc nokogiri sqlite3]
    prebuilt = specs.select { |spec| names.include?(spec.name) }
    note prebuilt.map(&:full_name).join(" ")
    assert_equal names, prebuilt.map(&:name).sort
    assert_empty prebuilt.select { |spec| spec.extensions.any? || !spec.platform.to_s.include?("linux") }.map(&:full_name)
  end

  {"with the sampler off" => [], "while slots and malloc are sampled" => ["--heap-sample=interval=64,malloc=4k,output=none"]}.each do |how, options|
    test "they load and work #{how}" do
      gems
      printed = assert_success({"RUBYOPT" => nil}, RbConfig.ruby, *options, "-rbundler/setup", "#{__dir__}/use.rb")
      assert_equal 5, printed.scan(/ right$/).size, printed
    end
  end
end
