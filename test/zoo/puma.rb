# frozen_string_literal: true

require "rbconfig"
require "tmpdir"
require "puma"
require "puma/configuration"
require "puma/launcher"

# A Puma with workers that serves an application on a socket, and its visitors, in a process that is not sampled: so many
# requests a second, until the program's time is over. The last of them stops the server.
module PumaServer
  module_function

  def run(app, workers:, per_second:)
    Dir.mktmpdir("zoo") do |folder|
      socket = File.join(folder, "puma.sock")
      launcher = Puma::Launcher.new(configuration(app, workers, socket), log_writer: Puma::LogWriter.null)
      launcher.events.on_booted { visitors(socket, per_second) }
      launcher.run
    end
  end

  def configuration(app, workers, socket)
    Puma::Configuration.new do |puma|
      puma.bind "unix://#{socket}"
      puma.workers workers
      puma.threads 3, 3
      puma.preload_app!
      puma.raise_exception_on_sigterm false
      puma.app app
    end
  end

  def visitors(socket, per_second)
    spawn({ "RUBY_HEAP_SAMPLE" => nil }, RbConfig.ruby, File.join(__dir__, "visitors.rb"), socket, per_second.to_s, (Load::SECONDS - Load.seconds).to_s)
  end
end
