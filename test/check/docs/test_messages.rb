# frozen_string_literal: true

require_relative "docs"
require_relative "plain"
begin
  require_relative "messages"
rescue LoadError => e
  raise unless e.path == "prism"
end

# Errors and warnings are listed in messages.txt, all other texts of Ruby code in texts.txt, and both are plain.
class MessagesTest < DocsTest
  NO_PRISM = ("needs Prism, which Ruby 3.3 and later have" unless defined?(Prism))

  def self.messages = @messages ||= Messages.all
  def messages = self.class.messages
  def texts = Messages.texts(messages)

  test "messages.txt has every error and warning", missing: NO_PRISM do
    assert_listed messages, Messages::FILE
  end

  test "texts.txt has every other text of Ruby code", missing: NO_PRISM do
    assert_listed texts, Messages::TEXTS
  end

  test "errors and warnings have plain words, and sentences of at most #{Plain::LONGEST} words", missing: NO_PRISM do
    assert_plain messages
  end

  test "texts of Ruby code have plain words, and sentences of at most #{Plain::LONGEST} words", missing: NO_PRISM do
    assert_plain texts
  end

  private

  def assert_listed(lists, file)
    wanted, found = Messages.written(lists), File.read(file)
    differing = (wanted.lines - found.lines).map { |line| "not in the file: #{line.strip}" } +
                (found.lines - wanted.lines).map { |line| "not in the sources: #{line.strip}" }
    assert wanted == found, [*differing.first(40), "run: ruby test/check/docs/messages.rb --write"].join("\n")
  end

  # Code of the texts is one word; examples of help and tags of HTML are no sentences.
  def assert_plain(lists)
    assert_none(lists.flat_map do |path, list|
      list.flat_map { |text| Plain.wrong(path, text.gsub(/#\{.*?\}/, "X").gsub("\\n", "\n").gsub("|", "/").gsub(/^heapsample .*$|<[^>]*>/, "|")) }
    end)
  end
end
