# 250 templates are compiled to methods when they are first asked for, in the order of their popularity.
#
# kind: steady
# tuned: yes
# also: bloat
# settles: 25
require_relative "../load"
require "erb"
class Views; end
RANDOM = Random.new(5)
VIEWS = Views.new
def render(id)
  name = :"view_#{id}"
  unless VIEWS.respond_to?(name)
    source = Array.new(40) { |i| "<p class='c#{i}'><%= n + #{i} %> of <%= 'view #{id}' %></p>" }.join("\n")
    ERB.new(source).def_method(Views, "view_#{id}(n)", "view_#{id}.erb")
  end
  VIEWS.public_send(name, 3)
end
Load.run(60) { |_| render((250 * RANDOM.rand**2.2).floor) }
