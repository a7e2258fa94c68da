# frozen_string_literal: true

# The numbers of closed files belong to those that are opened next: what is written to each is read from it.
class Descriptors < Act
  def call
    files = Array.new(1 + @random.rand(20)) { |index| File.open("file-#{index}", "w+") }
    4.times do
      files.each_with_index do |file, index|
        next unless @random.rand(2).zero?

        file.close
        files[index] = File.open("file-#{index}", "w+")
      end
    end
    files.each_with_index { |file, index| file.write("content #{index}") }
    right = files.each_with_index.count { |file, index| file.rewind.zero? && file.read == "content #{index}" }
    "#{right} of #{files.size} right"
  ensure
    files.each { |file| [file.close, File.unlink(file.path)] }
  end
end
