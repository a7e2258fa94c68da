# frozen_string_literal: true

module HeapSample
  # Names of methods that templates are compiled to.  Action View and Tilt make them of numbers that differ in each process,
  # so that rows of sibling workers would not agree:
  #
  #     _app_views_orders_index_html_erb___2961987271050569111_3752     Action View
  #     Object#__tilt_3752                                              Tilt
  #
  # The path of the template takes their place: "orders/index.html.erb".
  module TemplateName
    METHOD = /(?<![^\s])(?:\S*[#.])?(?:_[a-z_]+__\d+_\d+|__tilt_\d+)(?!\S)/
    # Below which the path of a template begins.
    VIEWS = %r{.*/(?:views|templates)/}m
    private_constant :METHOD, :VIEWS

    module_function

    # call-seq:
    #   TemplateName.in("block in _index_erb__29_37", "/srv/app/views/index.erb") -> "block in index.erb"
    #
    # +label+ with the name of the template at +path+ in place of such a method.
    def in(label, path)
      return label if path.empty? || !label.include?("__") || !METHOD.match?(label)

      label.sub(METHOD) { of(path) }
    end

    # Is +name+ what a template at +path+ is called?
    def template?(name, path) = name.include?(".") && !path.empty? && name == of(path)

    def of(path) = path.match?(VIEWS) ? path.sub(VIEWS, "") : File.basename(path)
    private_class_method :of
  end
end
