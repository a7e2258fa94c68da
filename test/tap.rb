# frozen_string_literal: true

# TAP from Ruby, for statements that have figures: check NAME, whether it holds, FIGURES; then failed?

$stdout.sync = true
$checks = 0
$failed = false

def check(name, pass, figures)
  puts "#{pass ? 'ok' : 'not ok'} #{$checks += 1} - #{name}: #{figures}"
  $failed ||= !pass
end

def failed? = $failed
