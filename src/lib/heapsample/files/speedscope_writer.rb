# frozen_string_literal: true

require "json"

module HeapSample
  # The file format of speedscope, with its profiles as doc/format.md names them.
  class SpeedscopeWriter
    SCHEMA = "https://www.speedscope.app/file-format-schema.json"

    def initialize(profile)
      @profile = profile
    end

    def write(io)
      id = @profile.info.process_id
      io.write("{\"$schema\":#{JSON.generate(SCHEMA)},\n\"exporter\":\"heap_sampler\",",
               "\"name\":\"Ruby heap#{" of process #{id}" if id}\",\"activeProfileIndex\":0,\n",
               "\"heap_sampler\":#{Printable.json(@profile.meta, pretty: false)},\n\"shared\":{\"frames\":[")
      @profile.frames.each { |frame| io.write("\n", Printable.json(fields(frame), pretty: false), ",") }
      io.write("\n{\"name\":\"#{Stacks::NO_STACK}\"}]},\n\"profiles\":[")
      StackSums::VALUES.each_key.with_index do |name, index|
        io.write(",\n") if index > 0
        sampled(io, name)
      end
      io.write("]}\n")
    end

    private

    def fields(frame)
      {name: frame.native? ? frame.to_s : frame.label, file: (frame.full_path unless frame.full_path.empty?),
       line: (frame.lineno if frame.lineno > 0)}.compact
    end

    def sampled(io, name)
      sums = StackSums.of(@profile, name)
      unit = name.end_with?("_space") ? "bytes" : "none"
      io.write("{\"type\":\"sampled\",\"name\":\"#{name}\",\"unit\":\"#{unit}\",\"samples\":[")
      sums.each_with_index do |(handle, _), index|
        ids = @profile.stacks.frame_ids(handle).reverse
        ids << @profile.stacks.frame_count if ids.empty?
        io.write(index > 0 ? ",\n" : "\n", "[#{ids.join(",")}]")
      end
      io.write("],\"weights\":[#{sums.map(&:last).join(",")}],\"startValue\":0,\"endValue\":#{sums.sum(&:last)}}")
    end
  end
end
