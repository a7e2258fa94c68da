# Dynamic finders, defined on first use: the "name" of the method has the token of the visitor in it, because a form passes
# user input. Methods, their code and their symbols stay.
#
# kind: leak
# keeper: class Sessions, Sessions, method
# rate: 58000
require_relative "../load"

class Sessions
  def method_missing(name, *arguments)
    return super unless name.start_with?("find_by_")

    column = name.to_s.delete_prefix("find_by_")
    self.class.class_eval("def #{name}(value) = { column: #{column.inspect}, value: value, sql: \"where #{column} = \#{value}\" }") # LEAK KEEPER
    public_send(name, *arguments)
  end

  def respond_to_missing?(name, all = false) = name.start_with?("find_by_") || super
end

SESSIONS = Sessions.new
Load.run(40) { |n| SESSIONS.public_send("find_by_token_#{n.to_s(36)}_x", n)[:sql].size } # LEAK
