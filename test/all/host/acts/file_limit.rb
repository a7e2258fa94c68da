# frozen_string_literal: true

# A file may not grow beyond a limit: the program gets its own error or signal, at its own write.
class FileLimit < Act
  def call
    handled = @random.rand(2).zero?
    in_child do
      trap(:XFSZ, handled ? "IGNORE" : "DEFAULT")
      Process.setrlimit(:FSIZE, 4096)
      # Time for a periodic profile, which the limit refuses as well.
      sleep(1.5)
      puts "alive"
      $stdout.flush
      File.open("limited", "w") { |file| file.syswrite("x" * 8192) && file.syswrite("x") }
    rescue Errno::EFBIG
      puts "EFBIG"
    end
  ensure
    File.unlink("limited") if File.exist?("limited")
  end
end
