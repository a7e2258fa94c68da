# frozen_string_literal: true

# The gems of a suite. They are installed once below build/test, which needs the network.

require "fileutils"
require "open3"
require "rbconfig"

TOP = File.expand_path("..", __dir__)

# Where the suite of this folder writes to.
def output_folder(folder, suffix = nil) = File.join(TOP, "build/test", [File.basename(folder), *suffix].join("-")).tap { |out| FileUtils.mkdir_p(out) }

# Installs the gems of the Gemfile in this folder. Rubies that are started with -rbundler/setup from then on have them.
# Returns the folder that the suite writes to.
def install_gems(folder, suffix = nil, gemfile: "#{folder}/Gemfile")
  out = output_folder(folder, suffix)
  # The lock names the package source of this machine: it stays out of the source tree.
  FileUtils.cp(gemfile, out)
  ENV.update("BUNDLE_GEMFILE" => "#{out}/Gemfile", "BUNDLE_PATH" => "#{out}/bundle", "BUNDLE_APP_CONFIG" => "#{out}/bundle/config")
  bundle = [RbConfig.ruby, "-S", File.join(File.dirname(RbConfig.ruby), "bundle")]
  unless Open3.capture2e(*bundle, "check").last.success?
    said, status = Open3.capture2e(*bundle, "install", "--jobs", "2")
    abort "the gems of #{gemfile} cannot be installed:\n#{said}" unless status.success?
  end
  out
end

# The same; this Ruby and all that it starts have the gems.
def set_up_gems(...) = install_gems(...).tap { require "bundler/setup" }
