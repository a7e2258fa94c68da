# frozen_string_literal: true

module HeapSample
  # What a file is that is no heap profile, by how it begins, and what to do with it.
  module FileKind
    # Bytes that are looked at.
    BEGINNING = 4096

    # Beginning => noun and advice, the first that fits.  Whitespace may come before text.
    KINDS = {
      /\A\s*\{\s*"(?:\$schema"\s*:\s*"https:\/\/www\.speedscope|version"\s*:\s*"[\d.]+",\s*"\$schema)/n => "a speedscope file; open it at speedscope.app, or give the .pb.gz that it was made from",
      /\A\{\s*"(?:address"\s*:\s*"0x|type"\s*:\s*"(?:ROOT|SHAPE)")/n => "a heap dump of ObjectSpace.dump_all; open it with heapsample top, why, diff or page",
      /\A\{\s*"snapshot"\s*:/n => "a heap snapshot of V8; open it in Chrome's developer tools",
      /\A\{\s*"meta"\s*:.*"preprocessedProfileVersion"/mn => "a profile for Firefox's profiler; open it at profiler.firefox.com",
      /\A\s*(?:\{\s*["}]|\[\s*[\[{"\]\d])/n => "JSON, perhaps of speedscope or another profiler; give a .pb.gz or .pb file",
      /\A\s*<(?:!doctype html|html)/in => "an HTML page; open it in a browser",
      /\A\s*<(?:\?xml|svg)/in => "XML; give a .pb.gz or .pb file",
      /\Aheap_v2\//n => "a heap profile in jemalloc's own format; read it with jeprof",
      /\Aheap profile:/n => "a heap profile of gperftools; read it with pprof",
      /\A(?:[^\n\0;]+;[^\n\0]* \d+\n)/n => "folded stacks; open them with flamegraph.pl or speedscope, or give the .pb.gz that they were made from",
      /\APERFILE2/n => "a recording of perf; read it with perf report",
      /\A\x04\x08/n => "data of Ruby's Marshal, perhaps of stackprof; give a .pb.gz or .pb file",
      /\A\x7fELF/n => "a program, a library or a core dump",
      /\A(?:\x89PNG|\xff\xd8\xff|GIF8)/n => "a picture",
      /\A%PDF/n => "a PDF",
      /\A\x1f\x8b/n => "gzip; decompress it first",
      /\A\x28\xb5\x2f\xfd/n => "compressed with zstd; decompress it first",
      /\A\x04\x22\x4d\x18/n => "compressed with lz4; decompress it first",
      /\APK\x03\x04/n => "compressed with zip; decompress it first",
      /\A\xfd7zXZ\0/n => "compressed with xz; decompress it first",
      /\ABZh[1-9]/n => "compressed with bzip2; decompress it first",
      /\A.{257}ustar/mn => "a tar archive; extract it first",
      /\A[\t\n\r\x20-\x7e\x80-\xff]+\z/n => "text; give a .pb.gz or .pb file"
    }.freeze

    # call-seq:
    #   FileKind.of("<html>…") -> "an HTML page; open it in a browser"
    #
    # nil if it looks like nothing known.
    def self.of(bytes)
      return "an empty file" if bytes.empty?

      beginning = bytes.byteslice(0, BEGINNING).b
      KINDS.find { |pattern, _| pattern.match?(beginning) }&.last
    end
  end
end
