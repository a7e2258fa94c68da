# frozen_string_literal: true

# Each of these programs is a test itself, in a Ruby of its own: the sampler has to be on from the start.
require_relative "../../testing"
require_relative "../../gems"

class MallocTest < Test
  SETTINGS = {"charges.rb" => "interval=4k,malloc=4k", "truth.rb" => "interval=512,malloc=4k", "places.rb" => "malloc=64k",
              "gems.rb" => "malloc=4k"}.freeze
  NO_YJIT = ("this Ruby has no YJIT" unless system(RbConfig.ruby, "--yjit", "-e", "exit RubyVM::YJIT.enabled?", err: File::NULL))
  JEMALLOC = `ldconfig -p`[/libjemalloc\.so\.2.*=> (.*)/, 1]
  NO_JEMALLOC = ("no libjemalloc2" unless JEMALLOC)
  NO_LIBXML = ("no libxml2-dev and libxslt1-dev" unless system("pkg-config --exists libxml-2.0 libxslt", err: File::NULL))

  SYSTEM = {"BUNDLE_FORCE_RUBY_PLATFORM" => "true", "BUNDLE_BUILD__NOKOGIRI" => "--use-system-libraries",
            "GEMS" => "nokogiri", "NOKOGIRI" => 'libxml2\.so'}.freeze

  {"" => nil, ", with YJIT" => "--yjit"}.each do |way, option|
    {"every kind of Ruby memory is charged to its line, its function and its side" => "charges.rb",
     "slots and malloc agree with a known heap: nothing twice, no hole" => "truth.rb",
     "threads, Ractors, fibers, traps, finalizers, a forked child are charged to their lines" => "places.rb"}.each do |name, program|
      test("#{name}#{way}", missing: option && NO_YJIT) { passes(program, *option) }
    end
  end

  test "charges.md has the cases of charges.rb as its table" do
    table = assert_success(RbConfig.ruby, "#{__dir__}/charges.rb", "--table")
    assert_equal File.read("#{__dir__}/charges.md")[/^<!-- charges.rb -->\n(.*?)^<!-- end -->$/m, 1], table
  end

  # Many stacks, many frames, rising counts.
  test "jemalloc's own profile stays whole where MALLOC_CONF opens it" do
    Dir.mktmpdir do |dir|
      conf = "prof:true,lg_prof_sample:14,prof_final:true,prof_prefix:#{dir}/own"
      printed = assert_success({"MALLOC_CONF" => conf}, RbConfig.ruby, "-e", <<~'RUBY')
        $kept = Array.new(1000) { "x" * 20_000 }
        print GC::SampleProfile.stat.values_at(:malloc, :malloc_missing).join(": ")
      RUBY
      assert_match(/\Amissing: this Ruby was started without malloc sampling; start it with --heap-sample/, printed)
      stacks = Dir["#{dir}/own.*"].flat_map { |file| File.readlines(file).grep(/^@/) }
      assert_operator stacks.size, :>, 40
      assert_operator stacks.count { |stack| stack.split.size > 10 }, :>, 20
    end
  end

  # As a container's seccomp profile does, for a program that this one starts.
  REFUSE_PROCESS_VM_READV = <<~'RUBY'
    require "fiddle"
    prctl = Fiddle::Function.new(Fiddle::Handle::DEFAULT["prctl"], [Fiddle::TYPE_INT, *[Fiddle::TYPE_LONG] * 4], Fiddle::TYPE_INT)
    number = RUBY_PLATFORM.include?("aarch64") ? 270 : 310
    code = [[0x20, 0, 0, 0], [0x15, 0, 1, number], [0x06, 0, 0, 0x00050001], [0x06, 0, 0, 0x7fff0000]].map { |one| one.pack("SCCL") }.join
    program = [4, Fiddle::Pointer[code].to_i].pack("Sx6Q")
    # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
    exit 1 unless prctl.call(38, 1, 0, 0, 0).zero? && prctl.call(22, 2, Fiddle::Pointer[program].to_i, 0, 0).zero?
    exec(*ARGV)
  RUBY
  NATIVE_LIBRARIES = <<~'RUBY'
    require "zlib"
    require "openssl"
    def allocate = [Array.new(40) { Zlib::Deflate.new.tap { |deflate| deflate.deflate("x" * 100) } }, Array.new(3000) { OpenSSL::Digest.new("SHA512") }]
    kept = allocate
    rows = GC.sample_profile.to_profile.rows.select { |row| row.malloc? && row.stack.any? { |frame| frame.label.end_with?("#allocate") } }
    puts rows.map { |row| row.stack.take_while(&:native?).map { |frame| frame.library[/\A[a-z]+/] }.join(" ") }
  RUBY

  test "without process_vm_readv native frames end before the first C extension, but for malloc's caller" do
    program = [RbConfig.ruby, "--disable=gems", "--heap-sample=output=none,malloc=16k,interval=1g", "-e", NATIVE_LIBRARIES]
    allowed, refused = [program, [RbConfig.ruby, "-e", REFUSE_PROCESS_VM_READV, *program]].map { |command| assert_success(*command).lines(chomp: true) }
    assert_includes allowed.join("\n"), "zlib libz zlib ruby"
    assert allowed.any?(/\Alibcrypto .*openssl ruby/), allowed.join("\n")
    assert_empty refused.grep_v(/\A\w*( ruby| libc)*\z/), refused.join("\n")
    assert_includes refused, "libcrypto"
    assert refused.any?(/\Aruby ruby/), refused.join("\n")
  end

  test "C code of gems is charged to the line that calls it" do
    install_gems(__dir__)
    passes("gems.rb")
  end

  test "so it is beside Debian's jemalloc, preloaded as Rails' own Dockerfile does", missing: NO_JEMALLOC do
    install_gems(__dir__)
    passes("gems.rb", env: {"LD_PRELOAD" => JEMALLOC})
  end

  # malloc and free are the executable's own, for C extensions too.
  test "Debian's jemalloc is preloaded, and ours serves", missing: NO_JEMALLOC do
    assert_success({"LD_PRELOAD" => JEMALLOC}, RbConfig.ruby, "-rfiddle", "-e", <<~'RUBY')
      maps = File.readlines("/proc/self/maps")
      maps.any? { |line| line.include?("libjemalloc.so.2") } or abort "it is not preloaded"
      %w[malloc calloc realloc free posix_memalign aligned_alloc malloc_usable_size mallctl].each do |name|
        file = maps.find { |line| Range.new(*line.split(/[- ]/).first(2).map(&:hex), true).cover?(Fiddle::Handle::DEFAULT[name]) }
        file.split.last == File.realpath("/proc/self/exe") or abort "#{name} is of #{file}"
      end
    RUBY
  end

  # Compiled here.
  test "nokogiri with the system's libxml2 is charged, too", missing: NO_LIBXML do
    ENV.update(SYSTEM)
    install_gems(__dir__, "system")
    passes("gems.rb")
  ensure
    SYSTEM.each_key { |name| ENV.delete(name) }
  end

  private

  def passes(program, *options, env: {})
    assert_success(env, RbConfig.ruby, *options, "--heap-sample=output=none,#{SETTINGS.fetch(program)}", "#{__dir__}/#{program}")
  end
end
