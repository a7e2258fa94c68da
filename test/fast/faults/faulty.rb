# frozen_string_literal: true

# faulty.c from Ruby: compiled, with which code is the sampler's, and what is to fail.
class Faulty
  KINDS = [:memory, :files].freeze
  LAYOUT = 'q*'
  HEAD = 9
  WORDS = HEAD + 3 * 8192

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

  # The `at`th call of this kind and chain fails, and all of this kind that follow if `all`; the count begins anew.
  def fail(kind, chain, at, all: false, error: Errno::ENOSPC)
    control(KINDS.index(kind), chain, at, all ? 1 : 0, error::Errno, 0)
  end

  def never = control

  def list = control(0, 0, 0, 0, 0, 1)

  # How many calls failed since.
  def failed = words[8]

  # What was listed since: of each chain of this kind, how many calls it had.
  def chains(kind)
    words.drop(HEAD).each_slice(3).filter_map { |chain, k, calls| [chain, calls] if chain != 0 && KINDS[k] == kind }.to_h
  end

  private

  def control(*head) = File.binwrite(@control, [*head, *[0] * (WORDS - head.size)].pack(LAYOUT))

  def words = File.binread(@control).unpack(LAYOUT)

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
