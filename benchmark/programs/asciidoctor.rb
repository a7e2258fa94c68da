# Asciidoctor converts its own README to HTML, ROUNDS times. Usage: ruby asciidoctor.rb ROUNDS
require "asciidoctor"

source = File.read(File.join(Gem.loaded_specs["asciidoctor"].full_gem_path, "README.adoc"), encoding: "UTF-8")
Integer(ARGV[0]).times { Asciidoctor.convert(source, safe: :secure, standalone: true) }
print GC.count
