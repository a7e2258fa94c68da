# frozen_string_literal: true

require_relative "docs"
require_relative "plain"
begin
  require_relative "messages"
rescue LoadError => e
  raise unless e.path == "prism"
end

# Errors and warnings are listed in messages.txt, and plain.
class MessagesTest < DocsTest
  NO_PRISM = ("needs Prism, which Ruby 3.3 and later have" unless defined?(Prism))

  def self.messages = @messages ||= Messages.all
  def messages = self.class.messages

  test "messages.txt has every error and warning", missing: NO_PRISM do
    wanted, found = Messages.written(messages), File.read(Messages::FILE)
    differing = (wanted.lines - found.lines).map { |line| "not in the file: #{line.strip}" } +
                (found.lines - wanted.lines).map { |line| "not in the sources: #{line.strip}" }
    assert wanted == found, [*differing.first(40), "run: ruby test/check/docs/messages.rb --write"].join("\n")
  end

  test "errors and warnings have plain words, and sentences of at most #{Plain::LONGEST} words", missing: NO_PRISM do
    assert_none(messages.flat_map do |path, list|
      list.flat_map { |message| Plain.wrong(path, message.gsub(/#\{.*?\}/, "X").gsub("\\n", "\n").gsub("|", "/")) }
    end)
  end
end
