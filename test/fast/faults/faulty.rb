# frozen_string_literal: true

# faulty.c from Ruby: compiled, told which code is the sampler's, and what is to fail.
class Faulty
  KINDS = [:memory, :files].freeze
  LAYOUT = 'q*'
  WORDS = 8

  def initialize(ruby, source_dir, out)
    @ruby = ruby
    @library = "#{out}/faulty.so"
    @code = "#{out}/sampler_code"
    @control = "#{out}/control"
    system('gcc', '-Wall', '-Wextra', '-O1', '-shared', '-fPIC', '-o', @library, "#{__dir__}/faulty.c", '-ldl', exception: true)
    ranges = functions(Dir.glob('heap_sampler/**/*.c', base: source_dir).map { |path| File.basename(path) })
    raise "#{@ruby} has no symbol table" unless ranges.size > 100

    File.write(@code, ranges.map { |start, size| format('%x %x', start, start + size) }.join("\n"))
    never
  end

  def env = { 'LD_PRELOAD' => @library, 'FAULTY_CODE' => @code, 'FAULTY_CONTROL' => @control }

  # The `at`th call of this kind fails, and all after it if `all`; the count begins anew.
  def fail(kind, at, all: false, error: Errno::ENOSPC)
    ats = KINDS.map { |k| k == kind ? at : 0 }
    File.binwrite(@control, [*ats, *ats.map { |n| all && n.positive? ? 1 : 0 }, error::Errno, 0, 0, 0].pack(LAYOUT))
  end

  def never = fail(nil, 0)

  # What was counted since: calls of each kind, and how many failed.
  def counts
    words = File.binread(@control).unpack(LAYOUT)
    { memory: words[5], files: words[6], failed: words[7] }
  end

  private

  # Address and size of the functions of these files: their static ones stand behind the file's name, the others have
  # the sampler's prefix.
  def functions(files)
    inside = false
    IO.popen(['readelf', '-sW', @ruby], &:readlines).filter_map do |line|
      _, address, size, type, _, _, _, name = line.split
      inside = files.include?(name) if type == 'FILE'
      [address.hex, size.to_i] if type == 'FUNC' && (inside || name&.match?(/\Arb_(hs|heap_sampler)_/))
    end
  end
end
