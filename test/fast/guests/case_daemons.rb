# frozen_string_literal: true

both("daemons", [/^500 of 500 answers right$/, /^100 of 100 answers right$/, /^10 of 10 files right$/]) do |run|
  run.ruby("daemons_gem.rb")
  run.finish
  run.report
end
