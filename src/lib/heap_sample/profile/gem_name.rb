# frozen_string_literal: true

module HeapSample
  # Whose code a file is, told by its path: a gem's, Ruby's own, or the
  # application's.
  #
  #   GemName.of("/usr/lib/ruby/gems/3.4.0/gems/rack-3.1.7/lib/rack.rb")   #=> "rack-3.1.7"
  #
  # A gem is what lies in a directory "gems/NAME-VERSION" or, taken from git by
  # bundler, "bundler/gems/NAME-REVISION", under whatever prefix.  One that a Gemfile
  # takes from a path outside such a directory is the application's.
  module GemName
    APP = "(app)"
    RUBY = "(ruby)"

    GEM = %r{/gems/([^/]+-(?:\d[^/]*|\h{7,}))/.}
    # Ruby's library in any prefix, with what distributions and `gem update
    # --system` put beside it; and what is compiled into Ruby.
    LIBRARY = %r{/lib(?:32|64)?/(?:[^/]+/)?ruby/(?:\d+\.\d+\.\d+[^/]*|vendor_ruby|site_ruby)/|\A<internal:}
    # Ruby code that was evaluated names the file which did it.
    EVALUATED = /\A\(eval at (.*):\d+\)\z/m

    module_function

    # "rack-3.1.7", "(ruby)" or "(app)"; the innermost of gems in gems.
    def of(path)
      path = path[EVALUATED, 1] while EVALUATED.match?(path)
      at = path.rindex(GEM)
      return path[at..][GEM, 1] if at

      LIBRARY.match?(path) ? RUBY : APP
    end
  end
end
