# frozen_string_literal: true

module HeapSample
  # Runs a block so that the machine stack does not keep what it made.
  #
  # MRI marks whatever on the machine stack looks like an object, also what calls that
  # have returned left there.  So the block runs DEPTH C calls deeper than the GC that
  # judges it, which does not look that far down; and its value is dropped.  A match in
  # it is the method's around ($~), which goes on: it is taken off.
  module BlockRun
    DEPTH = 40

    module_function

    def call(block, depth = DEPTH)
      if depth.zero?
        block.call
        forget_match(block)
      else
        1.upto(1) { call(block, depth - 1) }         # a C method, which calls the VM anew
      end
      nil
    end

    def forget_match(block)
      block.binding.eval("$~ = nil")
    rescue ArgumentError
      # A Symbol's or a C method's Proc: it has no frame.
    end

    # Can this Ruby sample a block?
    def possible? = GC.respond_to?(:sample_profile)

    REASON = "this Ruby has no heap sampler (GC.sample_profile); run the test on a Ruby that has it"

    # The profile of what the block given makes, with every object asked for its size,
    # after a full GC; +options+ are passed to GC.sample_profile.
    def profile(interval:, threads:, **options, &block)
      raise NotImplementedError, REASON unless possible?

      GC.sample_profile(interval: interval, threads: threads, full_gc: true, memsize: true, **options, &block).to_profile
    end

    # What retains the objects that a block leaves behind at some lines: line => NearestHolder::Answer, without those that are not known.
    # The block runs +runs+ times again, and a walk over the heap follows, which takes a while: a test that passes makes none.
    # Where it cannot run again, the failure is reported without holders.
    def holders(block, lines, runs:, threads:)
      profile = profile(interval: 1, threads: threads, why: true) { runs.times { call(block) } }
      return {} unless profile.nearest_holder

      keys = Keys.new(profile, :line)
      rows = retained(profile).map(&:columns).group_by { |row| keys.of(row) }.slice(*lines)
      rows.transform_values { |same| profile.nearest_holder.of_rows(same) }.compact
    rescue StandardError
      {}
    end

    # What is no data of a program, but of the code that ran: made once by each call of a
    # method or use of a constant in it, or by a frame.
    CODE = /\A\(imemo:(?:callcache|constcache|callinfo|ment|svar)\)\z/

    # Rows of objects that are still there.
    def retained(profile)
      profile.rows.select { |row| row.inuse.samples > 0 && !CODE.match?(row.class_name) }
    end

    # Set, a failure shows the whole report as well.
    WANTS_REPORT = "HEAP_SAMPLE_REPORT"

    # What a failed test prints: the sentence, the lines behind it, which are few, and what retains them: line => NearestHolder::Answer.
    def failure(sentence, lines, profile, holders)
      report = ENV[WANTS_REPORT].to_s.empty? ? "#{WANTS_REPORT}=1 shows the whole report." : profile.report(top: 5)
      [sentence, table(lines).join("\n"), *retained_by(lines, holders), report].join("\n\n")
    end

    # "shop.rb:3 Shop#order: retained by `Shop::ORDERS`", of the largest lines.
    def retained_by(lines, holders, layout: Layout.new(root: Dir.pwd))
      known = largest(lines).filter_map do |key, _|
        answer = holders[key] or next
        "#{layout.place(key)}: retained by #{answer.named? ? "`#{layout.holder(answer)}`" : layout.holder(answer)}"
      end
      known.empty? ? [] : [known.join("\n")]
    end

    # Pairs of the largest lines.
    def largest(lines, top = 5) = lines.sort_by.with_index { |(_, (bytes, *)), index| [-bytes, index] }.first(top)

    # "1 object", "1,234 objects".
    def objects(count, layout)
      "#{layout.count(count)} object#{"s" unless count.round == 1}"
    end

    # Table of the largest lines in Hash of [bytes, objects, row].
    def table(lines, top: 5, layout: Layout.new(root: Dir.pwd))
      rows = largest(lines, top).map { |key, (bytes, objects, name)| [layout.bytes(bytes), layout.count(objects), name, key] }
      more = lines.size - rows.size
      [*layout.table([["with buffers", :right], ["objects", :right], ["class", :left], ["line", :left]], rows),
       *("and #{layout.count(more)} more" if more > 0)]
    end

    # Line => [bytes, objects, name of the class with most].
    def by_line(profile, rows)
      keys = Keys.new(profile, :line)
      rows.group_by { |row| keys.of(row.columns) }.transform_values do |same|
        names = same.group_by(&:class_name).transform_values { |some| some.sum { |row| row[:memsize] } }
        [same.sum { |row| row[:memsize] }, same.sum { |row| row.inuse.objects },
         "#{names.max_by(&:last).first}#{" +#{names.size - 1}" if names.size > 1}"]
      end
    end
  end
end
