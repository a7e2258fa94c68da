# frozen_string_literal: true

# The gems of a suite. They are installed once below build/test, which needs the network, and can be required then, here and
# in each Ruby that is started from here.

require "fileutils"
require "open3"
require "rbconfig"

TOP = File.expand_path("..", __dir__)

# Where the suite of this folder writes to.
def output_folder(folder, suffix = nil) = File.join(TOP, "build/test", [File.basename(folder), *suffix].join("-")).tap { |out| FileUtils.mkdir_p(out) }

# The gems of the Gemfile in this folder. Returns the folder that the suite writes to.
def set_up_gems(folder, suffix = nil)
  out = output_folder(folder, suffix)
  # The lock names the package source of this machine: it stays out of the source tree.
  FileUtils.cp(File.join(folder, "Gemfile"), out)
  ENV.update("BUNDLE_GEMFILE" => "#{out}/Gemfile", "BUNDLE_PATH" => "#{out}/bundle", "BUNDLE_APP_CONFIG" => "#{out}/bundle/config")
  bundle = [RbConfig.ruby, "-S", File.join(File.dirname(RbConfig.ruby), "bundle")]
  unless Open3.capture2e(*bundle, "check").last.success?
    said, status = Open3.capture2e(*bundle, "install", "--jobs", "2")
    abort "the gems of #{folder}/Gemfile cannot be installed:\n#{said}" unless status.success?
  end
  require "bundler/setup"
  out
end
