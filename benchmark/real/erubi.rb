# Erubi compiles a template now and then, as a server in development does, and renders it many times.
# Usage: ruby erubi.rb ROUNDS
require "erubi"
require "erubi/capture_block"

TEMPLATE = <<~'ERB'
  <!DOCTYPE html>
  <html>
  <head><title><%= title %></title></head>
  <body>
  <h1><%= title %></h1>
  <% if topics.empty? %>
    <p>Nothing here.</p>
  <% else %>
    <table>
    <% topics.each_with_index do |topic, i| %>
      <tr class="<%= i.even? ? "even" : "odd" %>">
        <td><a href="/topics/<%= topic[:id] %>"><%= topic[:title] %></a></td>
        <td><%= topic[:author] %></td>
        <td><%== topic[:html] %></td>
        <td><%= format("%.1f", topic[:score]) %></td>
        <% topic[:tags].each do |tag| %><td class="tag"><%= tag %></td><% end %>
      </tr>
    <% end %>
    </table>
  <% end %>
  </body>
  </html>
ERB

class View
  attr_reader :title, :topics

  def self.compile
    source = Erubi::Engine.new(TEMPLATE, escape: true, freeze: true, trim: true, bufval: "+''").src
    class_eval("def render\n#{source}\nend", __FILE__, __LINE__)
  end

  def initialize(title, topics)
    @title = title
    @topics = topics
  end
end

TOPICS = Array.new(100) do |i|
  { id: i, title: "Topic <#{i}> & more", author: "author #{i % 9}", html: "<b>#{i}</b>", score: i / 3.0, tags: %W[a#{i} b c&d] }
end

$VERBOSE = nil # `render` is defined anew
sizes = Array.new(Integer(ARGV[0])) do |round|
  View.compile if (round % 200).zero?
  page = View.new("Latest", TOPICS).render
  raise "not escaped" unless round.positive? || page.include?("Topic &lt;7&gt; &amp; more")
  page.bytesize
end
raise "sizes #{sizes.tally}" unless sizes.uniq.size == 1 && sizes[0].between?(20_000, 40_000)
