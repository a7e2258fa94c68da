# An application under Zeitwerk with thirty classes that is reloaded each three seconds, as in development. The classes of before are
# used no more and nothing keeps them.
#
# kind: steady
# tuned: yes
# gems: zeitwerk 2.8.3
require_relative "../load"
require "tmpdir"
require "zeitwerk"

FOLDER = Dir.mktmpdir("zoo")
at_exit { FileUtils.rm_rf(FOLDER) }

30.times do |i|
  File.write(File.join(FOLDER, "page#{i}.rb"), <<~PAGE)
    class Page#{i}
      TITLES = Array.new(50) { |k| "title \#{k} of page #{i}" }
      def show(number) = TITLES.map { |title| "<li>\#{title} \#{number}</li>" }.join
      def title(number) = TITLES[number % TITLES.size]
    end
  PAGE
end

LOADER = Zeitwerk::Loader.new
LOADER.push_dir(FOLDER)
LOADER.enable_reloading
LOADER.setup
RELOADED = [0]

Load.run(60) do |n|
  Object.const_get(:"Page#{n % 30}").new.show(n)
  next if Load.seconds - RELOADED[0] < 3

  RELOADED[0] = Load.seconds
  LOADER.reload
end
