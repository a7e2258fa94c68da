# frozen_string_literal: true

# Has an SBOM of tool/sbom what is linked, and is each part described once? Usage: ruby sbom.rb FILE
require "json"

sbom = JSON.parse(File.read(ARGV.fetch(0)))
packages = sbom.fetch("packages")
ids = packages.map { |package| package.fetch("SPDXID") }
linked = sbom.fetch("relationships").select { |relation| relation["relationshipType"] == "STATIC_LINK" }.map { |relation| relation["relatedSpdxElement"] }
names = packages.to_h { |package| [package["SPDXID"], package["name"]] }.values_at(*linked)

faults = []
faults << "not linked: #{%w[jemalloc openssl libyaml libffi libxcrypt rust-std] - names}" unless (%w[jemalloc openssl libyaml libffi libxcrypt rust-std] - names).empty?
faults << "described twice: #{ids.tally.select { |_, times| times > 1 }.keys}" if ids.uniq!
faults << "refers to nothing: #{linked - ids}" unless (linked - ids).empty?
faults << "without a licence: #{names}" if packages.any? { |package| package["licenseDeclared"].to_s.empty? }
faults << "without a checksum" unless packages.select { |package| linked.include?(package["SPDXID"]) && package["name"] != "rust-std" }.all? { |package| package["checksums"] }
%w[ruby rake bundler heapsample d3-scale].each { |name| faults << "no #{name}" unless packages.any? { |package| package["name"] == name } }
abort faults.join("\n") unless faults.empty?
