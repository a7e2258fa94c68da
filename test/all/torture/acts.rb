# frozen_string_literal: true

require_relative 'act'
Dir[File.join(__dir__, 'acts', '*.rb')].sort.each { |file| require file }
