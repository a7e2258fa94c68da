# frozen_string_literal: true

require_relative "guests"

class DaemonsTest < GuestTest
  test "a daemon of the gem daemons, which closes all descriptors" do
    assert_same("daemons", /^500 of 500 answers right$/, /^100 of 100 answers right$/, /^10 of 10 files right$/) do |run|
      run.ruby("daemons_gem.rb")
      run.finish
      run.report
    end
  end
end
