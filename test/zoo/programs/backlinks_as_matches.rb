# A wiki renders its pages and notes the links of each page under the page to which they lead. A note is the MatchData
# of the link, which retains the text of the whole page. Each rendering adds its notes. The notes of
# the last rendering are not removed.
#
# kind: leak
# keeper: @backlinks, WIKI, Wiki
# rate: 1850000
require_relative "../load"

class Wiki
  PAGES = 3_000
  LINK = /\[\[([^\]|]+)\|([^\]]+)\]\]/

  def initialize = @backlinks = Hash.new { |links, title| links[title] = [] }

  # The source of a page, as it is read from its file.
  def source(number)
    Array.new(50) do |i|
      link = i % 10 == 3 ? "[[page #{(number * 31 * i) % PAGES}|see there]]" : "no link"
      "Paragraph #{i} of page #{number}: the north gate was built in #{1_400 + (number * i % 500)} and rebuilt twice; #{link}. #{"It has a tower. " * 5}\n" # LEAK
    end.join # LEAK
  end

  def render(number)
    html = source(number).gsub(LINK) do # LEAK
      link = Regexp.last_match # LEAK
      @backlinks[link[1]] << link # LEAK KEEPER
      %(<a href="/#{link[1].tr(" ", "_")}">#{link[2]}</a>)
    end
    html.lines.map { |line| "<p>#{line.chomp}</p>" }.join
  end

  def backlinks(title, most = 20) = @backlinks[title].last(most).map { |link| "...#{link.pre_match[-30..]}#{link}" }.join("\n")
end

WIKI = Wiki.new

Load.run(150) do |n|
  WIKI.render(n * 7_919 % Wiki::PAGES) # LEAK
  WIKI.backlinks("page #{n % Wiki::PAGES}")
end
