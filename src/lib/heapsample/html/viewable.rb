# frozen_string_literal: true

module HeapSample
  # What can be looked at in a browser: a Profile, a Growth, a Series.
  module Viewable
    # call-seq:
    #   to_html(root: Dir.pwd, title: nil) -> String
    #
    # The page that View makes of it.
    def to_html(**options)
      View.new(self, **options).to_s
    end

    # call-seq:
    #   save(path, root: Dir.pwd, title: nil) -> Integer
    #   save(io, root: Dir.pwd, title: nil) -> Integer
    #
    # Writes that page, to a file (see View#save) or to what has a method write.  Returns its size in bytes.
    # Raises ArgumentError unless +path+ ends with .html.
    def save(target, **options)
      return target.write(to_html(**options)) unless Formats.path?(target)
      raise ArgumentError, "the path of a page must end with .html: #{target}" unless File.path(target).end_with?(".html")

      View.new(self, **options).save(target)
    end
  end
end
