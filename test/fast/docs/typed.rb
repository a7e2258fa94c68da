# frozen_string_literal: true

# Checks each call against sig/ while a program runs, and prints at the end what did not fit, each once
# (rbs/test raises at the first), and which methods were called. Usage: RBS_TEST_TARGET=… RBS_TEST_OPT=… ruby -r ./typed.rb PROGRAM

require "rbs/test/setup"

MISFITS = {}
CALLED = {}
RBS::Test::Tester::MethodCallTester.prepend(Module.new do
  def call(receiver, trace)
    CALLED["#{self_class.to_s[/#<Class:(.*)>/, 1] || self_class}#{kind == :singleton ? "." : "#"}#{trace.method_name}"] = true
    super
  rescue RBS::Test::Tester::TypeError => error
    MISFITS[error.message[0, 300].gsub(/0x\h+|\d+/, "N")] ||= error
  end
end)
at_exit do
  MISFITS.each_key { |message| puts "misfit: #{message.delete_prefix("TypeError: ")}" }
  puts CALLED.keys.sort.map { |name| "called: #{name}" }
end
