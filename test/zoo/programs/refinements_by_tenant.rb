# Each tenant's templates are evaluated in a module of their own, which refines String with the tenant's helpers. The module
# is kept by tenant and version, and the version is the time.
#
# kind: leak
# keeper: CONTEXTS
# rate: 64000
require_relative "../load"

CONTEXTS = {}
TEMPLATE = <<~RUBY
  Module.new do
    using(Module.new do
      refine(String) do
        def titled = "<h1>" + self + "</h1>"
        def linked(path) = "<a href='" + path + "'>" + self + "</a>"
      end
    end)
    def self.page(name) = name.titled + name.linked("/home")
  end
RUBY

def context(tenant, version)
  CONTEXTS[[tenant, version]] ||= RubyVM::InstructionSequence.compile(TEMPLATE, "template.rb").eval # LEAK KEEPER
end

Load.run(12) do |n|
  context("tenant #{n % 20}", Load.seconds).page("tenant #{n % 20}") # LEAK
  Array.new(500) { |i| "<li>#{i} of #{n}</li>" }.join
end
