# Healthy: a register of companies is loaded at the start. Every eight seconds an export makes a list of half of it, writes it in parts
# for four seconds, and drops it.
#
# kind: bloat
# also: steady
# settles: 16
require_relative "../load"

Company = Struct.new(:id, :name, :address, :notes)
REGISTER = Array.new(120_000) { |i| Company.new(i, "company #{i}", "street #{i % 900}, #{i % 99_000} city", "notes on company #{i}. " * 100) }

class Export
  def initialize = @rows = nil
  def start(half) = @rows = REGISTER.each_slice(2).map { |pair| pair[half] }.map { |one| "#{one.id};#{one.name};#{one.address};#{one.notes[0, 900]}" }
  def write = @rows&.sample(1_000)&.join("\n")&.bytesize
  def finish = @rows = nil
end

EXPORT = Export.new
Load.run(10) do |n|
  EXPORT.start(n / 80 % 2) if n % 80 == 5
  EXPORT.write
  EXPORT.finish if n % 80 == 45
end
