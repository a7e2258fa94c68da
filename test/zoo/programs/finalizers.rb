# A temporary upload removes its file by a finalizer. The finalizer is a lambda that is made in the instance, so that it
# keeps the instance, with the uploaded text, from ever being collected.
#
# kind: leak
# tuned: yes
# keeper: finalizer, define_finalizer
require_relative "../load"

class Upload
  def initialize(name, text)
    @name = name
    @lines = text.lines # LEAK
    ObjectSpace.define_finalizer(self, ->(_id) { remove(@name) }) # LEAK KEEPER
  end

  def words = @lines.sum { |line| line.split.size }
  def remove(name) = name
end

TEXT = "a line of the text that somebody has uploaded\n" * 30

Load.run(150) { |n| Upload.new("upload #{n}", TEXT).words } # LEAK
