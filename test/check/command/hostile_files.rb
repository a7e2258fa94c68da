# frozen_string_literal: true

require "stringio"
require_relative "command_helper"

# What the tests of hostile files share: profiles made by hand, and what must hold whatever is in one.
module HostileFiles
  include CommandHelper

  # All that a user can ask of a profile, as text.
  def all_texts(profile)
    [profile.report, profile.top(by: :gem), HeapSample::Tree.new(profile), profile.generations, HeapSample::About.new(profile),
     profile.why, profile.why(full: true)].flat_map { |analysis| [analysis.to_s, HeapSample::Printable.json(analysis.to_h)] } +
      [profile.why.text.to_folded, profile.why.text.to_markdown, HeapSample::Formats.encode(profile, "folded"), HeapSample::Formats.encode(profile, "json")]
  end

  def clean(texts)
    texts.each do |text|
      found = text.dup.force_encoding("UTF-8").delete("\n")
      flunk("not escaped: #{found[/.{0,40}#{HeapSample::Printable::UNSAFE}.{0,20}/o].inspect}") if !found.valid_encoding? || HeapSample::Printable::UNSAFE.match?(found)
    end
  end

  # Reads it and uses all of it, or is refused with a FormatError.
  def read_or_refused(bytes, ending)
    folder do |dir|
      path = write(File.join(dir, "x#{ending}"), bytes)
      begin
        profile = HeapSample::Profile.load(path)
        clean(all_texts(profile))
        profile.table.first(3).each { |row| profile.nearest_holder&.of_row(row)&.to_s }
        HeapSample::PprofWriter.new(profile).write(StringIO.new)
        HeapSample::Tool::Merge.new.add(profile).profile
        :read
      rescue HeapSample::FormatError => e
        flunk(e.message) unless e.message.start_with?("#{path}: ") && !e.message.include?("\n")
        :refused
      end
    end
  end

  def entry(field, bytes) = varint(field << 3 | 2) + varint(bytes.bytesize) + bytes
  def number(field, value) = varint(field << 3) + varint(value)

  def varint(value) = HeapSample::Protobuf.encode(value)

  # A profile of another program, of which the block gives messages; +texts+ come behind its four sample types.
  GO = %w[alloc_objects alloc_space inuse_objects inuse_space].freeze

  def go_profile(*texts)
    strings = ["", *GO, *texts].map { |text| entry(6, text.b) }.join
    GO.each_index.map { |index| entry(1, number(1, index + 1)) }.join + yield + strings
  end

  # Text 5 is a name, and 6 a path.
  def function(id, name = 5, path = 6) = entry(5, number(1, id) + number(2, name) + number(4, path))
  def location(id, function = id, lines = 1) = entry(4, number(1, id) + entry(4, number(1, function) + number(2, 3)) * lines)
  def sample(ids, values = [1, 4096, 1, 4096]) = entry(2, entry(1, ids.map { |id| varint(id) }.join) + entry(2, values.map { |value| varint(value) }.join))
end
