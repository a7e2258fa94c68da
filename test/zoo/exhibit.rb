# frozen_string_literal: true

require_relative "header"

# One thing to record and to judge: a program, or the same with the fixed version of its gem, which is steady.
class Exhibit
  PROGRAMS = File.expand_path(ENV["PROGRAMS"] || File.join(__dir__, "programs"))

  def self.all
    Dir[File.join(PROGRAMS, "*.rb")].sort.map { |path| Header.read(path) }
                                    .flat_map { |header| [new(header), *(new(header, mended: true) if header.mended?)] }
  end

  attr_reader :header

  def initialize(header, mended: false)
    @header = header
    @mended = mended
  end

  def name = @mended ? "#{header.name}_mended" : header.name
  def mended? = @mended
  def gems = header.gems(mended: @mended)
  def environment = { "ZOO_MENDED" => @mended ? "1" : "0" }

  # What the judge has to know of a run of so many seconds; it is kept with a recorded series.
  def truth(seconds = header.seconds)
    growing = Header::GROWING.include?(header.kind) && !mended?
    { "name" => name, "kinds" => mended? ? ["steady"] : header.kinds, "lines" => growing ? header.lines : [],
      "keepers" => growing ? header.keepers : [], "settles" => header.settles(seconds), "starts" => growing ? header.starts(seconds) : 0.0,
      "rate" => (header.rate if growing), "tuned" => header.tuned? }
  end
end
