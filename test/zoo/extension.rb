# frozen_string_literal: true

require "fileutils"
require "rbconfig"

# The C extensions of the zoo, ext/NAME, built once for each Ruby below build/zoo/ext.
module Extension
  BUILT = File.expand_path("../../build/zoo/ext/#{RUBY_VERSION}", __dir__)

  module_function

  def load(name)
    library = File.join(BUILT, name, "#{name}.#{RbConfig::CONFIG["DLEXT"]}")
    build(name, File.dirname(library)) unless File.exist?(library)
    require library
  end

  # In a process of its own, that the program may not have grown by it.
  def build(name, folder)
    FileUtils.mkdir_p(folder)
    environment = { "RUBY_HEAP_SAMPLE" => nil }
    [[RbConfig.ruby, File.join(__dir__, "ext", name, "extconf.rb")], ["make"]].each do |command|
      system(environment, *command, chdir: folder, out: File::NULL) || abort("#{name}: #{command.join(" ")} failed in #{folder}")
    end
  end
end
