# frozen_string_literal: true

# What a pull request may add to kramdown, on one line: PLANT=allocated,OBJECTS or PLANT=retained,OBJECTS. Runs the file that the
# first argument names. (A file that -r loads comes before the files of RUBYOPT, so what it loads would not be counted.)
module Plant
  WHAT, OBJECTS = ENV.fetch("PLANT").split(",")
  KEPT = []

  def self.plant
    @planted ||= begin
      WHAT == "allocated" ? Integer(OBJECTS).times { "p" * 250 } : Integer(OBJECTS).times { KEPT << ("r" * 1000) }
      true
    end
  end

  def initialize(...)
    Plant.plant
    super
  end
end

require "kramdown"
Kramdown::Document.prepend(Plant)
load ARGV.shift
