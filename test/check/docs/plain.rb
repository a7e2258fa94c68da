# frozen_string_literal: true

# Finds words that are not plain and sentences that are too long, in texts that people read first; and such words in comments.
module Plain
  # What is looked for, and what to write.
  WORDS = {
    /(?<!cannot )\b(?:tell|tells|told|telling)\b/i => "report, show, print, copy or pass",
    /\b(?:whoever|nobody|anybody)\b/i => "the thread, the caller, the user; no caller, no user",
    /\b(?:births?|deaths?|born|dies)\b/i => "allocations, frees, allocated, freed",
    /\bkeepers?\b|\bkept by\b|\bwho keeps\b|\bwhat keeps\b/i => "retained by, what retains it",
    /\bcame to stay\b|\ball along\b/i => "is retained, in every quarter of the time, is still live",
    /\b(?:mend|mends|mended|spoilt|borne out)\b/i => "fix, fixed, damaged, confirmed",
    /\bbeside\b/i => "next to, together with, as well as",
    /\b(?:those|that) of\b|\bwhich is one\b|\bthe one that\b/i => "the noun itself",
    /\bas far as (?:it|they) carr(?:y|ies)\b/i => "say which fields",
    /\b(?:says|say) of (?:itself|themselves|it)\b/i => "report",
    /\bin use\b/i => "live"
  }.freeze
  # In C and JavaScript: comments, and the texts in which there are none.
  COMMENTS = %r{/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+'|`(?:[^`\\]|\\.)*`}m
  # Words in a sentence, at most.
  LONGEST = 25

  module_function

  # Sentences and cells of a text in Markdown, without its examples; code and links count as one word each.
  def sentences(text)
    text = text.gsub(/^```.*?^```/m, "").gsub(/^( {4}|\t).*$/, "").gsub(/!\[[^\]]*\]\([^)]*\)/, "").gsub(/\[([^\]]*)\]\([^)]*\)/, "\\1")
    text = text.gsub(/`[^`]*`/, "CODE").gsub(/^#+ .*$/, "\n\n").gsub(/^\s*(?:[-*]|\d+\.) /, "\n\n").gsub(/\*\*|\*|_/, "")
    text.split(/\n{2,}|\||(?<=[.!?:;])\s+(?=["(A-Z0-9])/).map { |sentence| sentence.strip.gsub(/\s+/, " ") }.reject(&:empty?)
  end

  # A line for each such word and sentence.
  def wrong(name, text)
    sentences(text).flat_map do |sentence|
      found = WORDS.filter_map { |pattern, better| "#{name}: \"#{sentence[pattern]}\" in \"#{sentence[0, 80]}\": write #{better}" if sentence.match?(pattern) }
      words = sentence.scan(/[[:alnum:]][^\s]*/).size
      found << "#{name}: a sentence of #{words} words: \"#{sentence[0, 80]} …\"" if words > LONGEST
      found
    end
  end

  # Line number => text of each line with a comment, of a file of Ruby (needs Prism), C or JavaScript.
  def comments(path, text)
    found = if path.end_with?(".rb") then Prism.parse_comments(text).map { |comment| [comment.location.start_line, comment.slice] }
            elsif path.end_with?(".rbs") then text.each_line.with_index(1).filter_map { |line, number| [number, line[/#.*/]] if line.include?("#") }
            else comments_of_c(text)
            end
    found.flat_map { |first, comment| comment.lines.each_with_index.map { |line, index| [first + index, line.strip] } }
  end

  def comments_of_c(text)
    at, line = 0, 1
    text.to_enum(:scan, COMMENTS).filter_map do
      match = Regexp.last_match
      line += text[at...match.begin(0)].count("\n")
      at = match.begin(0)
      [line, match[0]] if match[0].start_with?("/")
    end
  end

  # A text for each comment with such a word.
  def wrong_comments(path, text)
    comments(path, text).filter_map do |number, comment|
      pattern, better = WORDS.find { |one, _| comment.match?(one) }
      "#{path}:#{number}: \"#{comment[pattern]}\" in \"#{comment[0, 100]}\": write #{better}" if pattern
    end
  end
end
