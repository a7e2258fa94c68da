# Widgets get singleton methods, and are kept by a registry that is never emptied.
#
# kind: leak
# tuned: yes
require_relative "../load"
REGISTRY = []
def widget(n)
  one = Object.new # LEAK
  one.define_singleton_method(:draw) { "widget #{n}" } # LEAK
  REGISTRY << one # LEAK KEEPER
end
Load.run(60) { |n| widget(n) } # LEAK
