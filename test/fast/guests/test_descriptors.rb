# frozen_string_literal: true

require_relative "guests"

class DescriptorsTest < GuestTest
  test "programs that close all descriptors, or pass some on" do
    assert_same("descriptors", /^close_others: /, /\A(?:.*\n)*(?:320 of 320 answers right\n(?:.*\n)*){3}/, /^close_range, then exec: 0, 4 descriptors$/) do |run|
      run.ruby("descriptors.rb")
      run.finish
      run.report
    end
  end
end
