# frozen_string_literal: true

module HeapSample
  # Whose code a file is, by its path: a gem's, Ruby's own, or the
  # application's.
  #
  #   GemName.of("/usr/lib/ruby/gems/3.4.0/gems/rack-3.1.7/lib/rack.rb")   #=> "rack-3.1.7"
  #   GemName.of("/srv/gems/shop-1.0/lib/shop.rb", ["/srv/gems/shop-1.0"])  #=> "(app)"
  #
  # A gem is what lies in a directory "gems/NAME-VERSION" or, taken from git by
  # bundler, "bundler/gems/NAME-REVISION", under whatever prefix.  The application is the rest of what lies below its
  # roots: the working directory of the process, the folder of the Gemfile.  Where none is known, or the file is elsewhere
  # (a gem that a Gemfile takes from a path), it is what is neither a gem's nor Ruby's.
  module GemName
    APP = "(app)"
    RUBY = "(ruby)"

    # Each is written so that a path of 64 KiB takes one pass: (?=[^/]+/.) first sees that the folder ends.
    GEM = %r{/gems/(?=[^/]+/.)([^/]+-(?:\d[^/]*|\h{7,}))/.}
    # A gem's shared libraries, where RubyGems keeps a copy of them.
    EXTENSION = %r{/extensions/[^/]+/[^/]+/(?=[^/]+/.)([^/]+-(?:\d[^/]*|\h{7,}))/.}
    # Ruby's library in any prefix, with what distributions and `gem update
    # --system` add to it; and what is compiled into Ruby.
    LIBRARY = %r{/lib(?:32|64)?/(?:[^/]+/)?ruby/(?:\d+\.\d+\.\d[^/]*|vendor_ruby|site_ruby)/|\A<internal:}
    # What RubyGems and Bundler evaluate, which is not part of the program: descriptions of gems, and, outside of the
    # application, the files in bin that start a gem's program.
    DESCRIPTION = %r{\.gemspec\z|(?:\A|/)(?:Gemfile|gems\.rb)\z|/(?:vendor/bundle|\.bundle)/}
    START = %r{/bin/[^/.]+\z}
    # Ruby code that was evaluated names the file which did it; that may be evaluated, too, so many times.
    EVALUATED = /\A\(eval at (.*):\d+\)\z/m
    LEVELS = 16
    # Libraries of C that hand memory on, and Ruby itself: their caller is of interest.
    COMMON = /\A(?:ruby[-\d.]*|libruby.*|libc[.-].*|libm[.-].*|libpthread.*|libstdc\+\+.*|libc\+\+.*|libgcc_s.*|libjemalloc.*|ld-.*|\[vdso\]|)\z/

    module_function

    # "rack-3.1.7", "(ruby)" or "(app)"; the innermost of gems in gems.  +roots+ of the application: absolute paths.
    def of(path, roots = [])
      LEVELS.times { path = path[EVALUATED, 1] || break } if path.start_with?("(")
      root = root_of(path, roots)
      path = path.delete_prefix(root) if root
      at = path.rindex(GEM)
      return path[at..][GEM, 1] if at

      ours = root || !LIBRARY.match?(path) && (roots.empty? || !START.match?(path))
      ours && !DESCRIPTION.match?(path) ? APP : RUBY
    end

    # The same of a file of native code: "nokogiri-1.16.0", "(libxml2.so.2)", "(ruby)", which the common libraries of C
    # count as; "(app)" only below a root.
    def of_library(path, roots = [])
      name = path[EXTENSION, 1] || (path.rindex(GEM)&.then { |at| path[at..][GEM, 1] })
      return name if name
      return RUBY if LIBRARY.match?(path) || COMMON.match?(base(path))

      root_of(path, roots) ? APP : "(#{base(path)})"
    end

    # File.basename, of any text: it raises ArgumentError where there is a NUL.
    def base(path) = File.basename(path.delete("\0"))

    # The root that +path+ lies below.  A root that is "/" is ignored.
    def root_of(path, roots)
      roots.find { |root| root.length > 1 && path.start_with?(root) && path[root.length] == "/" }
    end
  end
end
