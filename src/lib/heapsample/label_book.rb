# frozen_string_literal: true

module GC
  class SampleProfile
    # Labels that go with a class and a name; see GC::SampleProfile.label_book.
    class LabelBook
      # So many of the block's answers are remembered. Where there are more, all are asked for again.
      MOST = 256
      # Whichever labels it is called on, PreparedLabels#leave does the same.
      ANY = GC::SampleProfile.prepare_labels
      NONE = {}.freeze
      private_constant :MOST, :ANY, :NONE

      # call-seq:
      #   new { |klass, name| ... } -> book
      #
      # As GC::SampleProfile.label_book.
      def initialize(&block)
        raise ArgumentError, "no block given" unless block

        @block = block
        clear
      end

      # call-seq:
      #   enter(object, name) -> before
      #
      # The current fiber has the labels of this object's class and this name from here on, as with
      # GC::SampleProfile::PreparedLabels#enter.
      def enter(object, name)
        klass = object.class
        ((@labels[klass] || NONE)[name] || ask(klass, name))&.enter
      end

      # call-seq:
      #   leave(object, name, before) -> nil
      #
      # The reverse, with what #enter was given and returned.
      def leave(_object, _name, before)
        ANY.leave(before) if before
      end

      # call-seq:
      #   clear -> self
      #
      # Forgets the results of the block, and the classes.
      def clear
        @labels = {}.compare_by_identity
        @count = 0
        self
      end

      private

      def ask(klass, name)
        labels = @block.call(klass, -name.to_s)
        return if labels.nil?
        raise TypeError, "the block must return a result of prepare_labels, not #{labels.class}" unless labels.is_a?(GC::SampleProfile::PreparedLabels)

        clear if @count == MOST
        @count += 1
        (@labels[klass] ||= {})[name] = labels
      end
    end
  end
end
