# Rubyboy, an emulator of the Game Boy, runs the game that its gem carries, without a screen. It stands for
# optcarrot, which is not on RubyGems: all its time goes into Ruby code that allocates next to nothing.
# Usage: ruby rubyboy.rb FRAMES
require "rubyboy/emulator_headless"

game = File.join(Gem.loaded_specs.fetch("rubyboy").full_gem_path, "lib/roms/tobu.gb")
emulator = Rubyboy::EmulatorHeadless.new(game)
colors = []
Integer(ARGV[0]).times do |frame|
  emulator.step
  colors << emulator.instance_variable_get(:@ppu).buffer.tally.size if (frame % 100).zero?
end
raise "the screen never changed: #{colors.tally}" unless colors.max > 1
