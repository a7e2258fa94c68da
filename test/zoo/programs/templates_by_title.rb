# A renderer of pages compiles its template to a method, and the title is a part of the method's name: each title
# leaves compiled code, a method and a symbol behind.
#
# kind: leak
# tuned: yes
# keeper: Page
require_relative "../load"
require "erb"

class Page
  def self.render(source, title)
    name = "_page_#{source.hash.abs}_#{title.hash.abs}"
    unless method_defined?(name)
      class_eval "def #{name}(title)\n#{ERB.new(source).src}\nend" # LEAK KEEPER
    end
    new.public_send(name, title)
  end
end

SOURCE = "<h1><%= title %></h1><ul><% 20.times do |i| %><li><%= i %> of <%= title.upcase %></li><% end %></ul>"
Load.run(150) { |n| Page.render(SOURCE, "Title #{n}") }
