# frozen_string_literal: true

# For the tests in this folder: a folder to write to, and what root is needed for.

require_relative '../../testing'
require 'fileutils'
require 'open3'
require 'rbconfig'
require 'tmpdir'

class FaultsTest < Test
  RUBY = RbConfig.ruby
  SCRATCH = Dir.mktmpdir('faults')
  Minitest.after_run { FileUtils.rm_rf(SCRATCH) }
  # Another user has to reach the folders.
  File.chmod(0o755, SCRATCH)
  Process.setrlimit(:CORE, 0)
  NOT_ROOT = ('not root, or no mount namespaces here' unless Process.euid.zero? && system('unshare', '-m', 'true', err: File::NULL))

  # A library to preload, from a C file of this folder.
  def self.compile(file)
    library = "#{SCRATCH}/#{File.basename(file, '.c')}.so"
    system('gcc', '-O1', '-shared', '-fPIC', "#{__dir__}/#{file}", '-o', library, '-ldl', exception: true)
    library
  end
end
