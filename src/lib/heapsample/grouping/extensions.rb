# frozen_string_literal: true

module HeapSample
  # Which gem's C extension a method of C is in, so that the objects which it makes can be counted for it.  The stack of a
  # slot has frames of Ruby only, and a method of C stands there with the line that called it; but where
  # the same method called malloc, the stack of that block has its function, the outermost of the native frames,
  # with the file that it is in.  Methods that no sample of malloc shows are not known.
  class Extensions
    def initialize(profile)
      @stacks = profile.stacks
      @owners = {}
      profile.table.map { |row| row[Columns::STACK] if row[Columns::MALLOC] }.compact.uniq.each { |handle| learn(handle) }
    end

    # The gem of the method of C that a stack ends in; nil if it does not end in one, or that is not known.
    def owner(handle)
      leaf = @stacks.frame_ids(handle).first
      @owners[@stacks.frame(leaf).label] if leaf && leaf != @stacks.site(handle) && !@stacks.native?(leaf)
    end

    private

    def learn(handle)
      outermost = nil
      @stacks.each_frame_id(handle) do |id|
        next outermost = id if @stacks.native?(id)

        owner = @stacks.owner(outermost) if outermost && id != @stacks.site(handle)
        @owners[@stacks.frame(id).label] = owner if owner && !owner.start_with?("(")
        break
      end
    end
  end
end
