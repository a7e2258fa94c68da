# frozen_string_literal: true

# TAP: check NAME, whether it holds, what is shown if not; finish at the end.

$stdout.sync = true
$checks = 0

def check(name, holds, details = "")
  puts "#{holds ? "ok" : "not ok"} #{$checks += 1} - #{name}"
  puts details.to_s.lines.first(40).map { |line| "# #{line.chomp}" } unless holds
end

def finish = puts("1..#{$checks}")
