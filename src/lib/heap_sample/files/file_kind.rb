# frozen_string_literal: true

module HeapSample
  # What a file is that is no heap profile, by how it begins, and what to do with it.
  module FileKind
    # Bytes that are looked at.
    BEGINNING = 4096

    # Beginning => noun and advice, the first that fits.  Whitespace may come before text.
    KINDS = {
      /\A\s*\{\s*"(?:\$schema"\s*:\s*"https:\/\/www\.speedscope|version"\s*:\s*"[\d.]+",\s*"\$schema)/n => "a speedscope file: open it at speedscope.app, and the .pb.gz it was made of here",
      /\A\{\s*"(?:address"\s*:\s*"0x|type"\s*:\s*"(?:ROOT|SHAPE)")/n => "a heap dump of ObjectSpace.dump_all: heapy reads it; a profile comes from GC.sample_profile",
      /\A\{\s*"snapshot"\s*:/n => "a heap snapshot of V8: Chrome's developer tools read it",
      /\A\{\s*"meta"\s*:.*"preprocessedProfileVersion"/mn => "a profile for Firefox's profiler: open it at profiler.firefox.com",
      /\A\s*(?:\{\s*["}]|\[\s*[\[{"\]\d])/n => "JSON, perhaps of speedscope or another profiler: a heap profile is .pb.gz or .pb",
      /\A\s*<(?:!doctype html|html)/in => "an HTML page: open it in a browser",
      /\A\s*<(?:\?xml|svg)/in => "XML: a heap profile is .pb.gz or .pb",
      /\Aheap_v2\//n => "a heap profile of jemalloc's own: jeprof reads it",
      /\Aheap profile:/n => "a heap profile of gperftools: pprof reads it",
      /\A(?:[^\n\0;]+;[^\n\0]* \d+\n)/n => "folded stacks: flamegraph.pl and speedscope read them, and the .pb.gz they were made of is read here",
      /\APERFILE2/n => "a recording of perf: perf report reads it",
      /\A\x04\x08/n => "data of Ruby's Marshal, perhaps of stackprof: a heap profile is .pb.gz or .pb",
      /\A\x7fELF/n => "a program, a library or a core dump",
      /\A(?:\x89PNG|\xff\xd8\xff|GIF8)/n => "a picture",
      /\A%PDF/n => "a PDF",
      /\A\x1f\x8b/n => "gzip: unpack it first",
      /\A\x28\xb5\x2f\xfd/n => "packed with zstd: unpack it first",
      /\A\x04\x22\x4d\x18/n => "packed with lz4: unpack it first",
      /\APK\x03\x04/n => "packed with zip: unpack it first",
      /\A\xfd7zXZ\0/n => "packed with xz: unpack it first",
      /\ABZh[1-9]/n => "packed with bzip2: unpack it first",
      /\A.{257}ustar/mn => "a tar archive: unpack it first",
      /\A[\t\n\r\x20-\x7e\x80-\xff]+\z/n => "text: a heap profile is .pb.gz or .pb"
    }.freeze

    # call-seq:
    #   FileKind.of("<html>…") -> "an HTML page: open it in a browser"
    #
    # nil if it looks like nothing known.
    def self.of(bytes)
      return "an empty file" if bytes.empty?

      beginning = bytes.byteslice(0, BEGINNING).b
      KINDS.find { |pattern, _| pattern.match?(beginning) }&.last
    end
  end
end
