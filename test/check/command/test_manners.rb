# frozen_string_literal: true

# What the tool does with what a user means: a folder, the order of time, a value or a filter
# that is not there, an output that would destroy an input.

require_relative "../../testing"
require_relative "command_helper"
require_relative "two_profiles"

class MannersTest < Test
  include CommandHelper
  include TwoProfiles

  OTHER = Builds.sample_build("process_start" => "0000000000000002", "process_id" => 2, "taken_ns" => Build::STARTED + 15 * Build::MINUTE)

  # A folder with the profiles of two processes, whose names are in no order of time, and what else is in such a folder.
  def profiles
    folder do |dir|
      {"c-earlier" => EARLIER, "a-later" => LATER, "b-other" => OTHER}.each { |name, build| write(File.join(dir, "#{name}.pb.gz"), PprofEncoder.gzip(build.raw)) }
      yield dir, ->(name) { File.join(dir, name) }
    end
  end

  # With a template of the page on a Ruby that has none.
  def page(dir, name, *arguments)
    output = File.join(dir, "#{name}.html")
    result = heapsample(*arguments, "-o", output, env: with_view(dir))
    flunk(result.err) unless result.status.zero?
    File.binread(output)
  end

  test "a report of a folder is of the last profile in it, and says which" do
    profiles do |dir, at|
      write(at["z-damaged.pb.gz"], "no profile")
      write(at[".d-hidden.pb.gz"], "no profile")
      [%w[top], %w[top --value churn], %w[top --by generation], %w[tree], %w[diagnose --snapshot], %w[diagnose --about], %w[convert --format folded -o -]].each do |command, *options|
        result = heapsample(command, *options, dir)
        assert_equal([0, "heapsample: #{at["a-later.pb.gz"]}: the last of 2 profiles of process 4711, first in the diagnosis of 2 processes in #{dir}\n"],
                     [result.status, result.err.lines.reject { |line| line.include?("z-damaged") }.join])
        assert(result.err.include?("z-damaged.pb.gz: not a readable heap profile"), result.err)
        assert_equal(printed(command, *options, at["a-later.pb.gz"]), result.out)
      end
      File.unlink(at["z-damaged.pb.gz"])
      assert_equal(printed("diff", at["c-earlier.pb.gz"], at["a-later.pb.gz"]), heapsample("diff", at["c-earlier.pb.gz"], dir).out)
      fails(1, /no profile \(\.pb\.gz, \.pb\) in this folder/, "top", File.dirname(BUILT))
    end
  end

  test "page takes two profiles in the order of time, as diff does", missing: NO_PAGE do
    profiles do |dir, at|
      both = page(dir, "both", "page", at["c-earlier.pb.gz"], at["a-later.pb.gz"])
      one = page(dir, "one", "page", at["a-later.pb.gz"])
      assert(both.size > one.size + 300, "no growth in the page")
      fails(1, /c-earlier\.pb\.gz was taken before .*a-later\.pb\.gz; name the earlier one first/, "page", at["a-later.pb.gz"], at["c-earlier.pb.gz"], "-o", at["x.html"])
      page(dir, "series", "page", at["c-earlier.pb.gz"], dir)
    end
  end

  test "page writes a page and nothing else", missing: NO_PAGE do
    profiles do |dir, at|
      %w[pdf svg pb.gz].each do |ending|
        fails(2, /x\.#{ending}: a page must end with \.html.*heapsample convert writes \.pb\.gz, \.pb, \.folded, \.json/, "page", at["a-later.pb.gz"], "-o", at["x.#{ending}"])
      end
      assert_equal([], Dir.glob(at["x.*"]))
      page(dir, "x", "page", at["a-later.pb.gz"])
    end
  end

  test "no output replaces an input, by whatever name it is called" do
    profiles do |dir, at|
      input = at["a-later.pb.gz"]
      bytes = File.binread(input)
      File.symlink(input, at["symbolic.pb.gz"])
      File.link(input, at["hard.pb.gz"])
      Dir.mkdir(at["folder"])
      File.symlink(dir, at["folder/back"])
      [input, at["symbolic.pb.gz"], at["hard.pb.gz"], at["folder/back/a-later.pb.gz"]].each do |output|
        fails(2, /#{Regexp.escape(output)}: is #{output == input ? "an input" : "the same file as the input .*a-later\.pb\.gz"}; name another output/, "convert", input, "-o", output)
        fails(2, /name another output/, "merge", at["b-other.pb.gz"], input, "-o", output)
      end
      fails(2, /name another output/, "merge", dir, "-o", at["b-other.pb.gz"])
      page = write(at["page.html"], bytes)
      fails(2, /name another output/, "page", page, "-o", page)
      assert_equal([bytes, bytes, true], [File.binread(input), File.binread(page), File.symlink?(at["symbolic.pb.gz"])])
      Dir.chdir(dir) { fails(2, /name another output/, "convert", "a-later.pb.gz", "-o", "./a-later.pb.gz") }
    end
  end

  test "where the output cannot be, nothing is read first" do
    profiles do |_, at|
      %w[convert page merge].each do |command|
        output = "/nowhere/x.#{command == "page" ? "html" : "pb.gz"}"
        fails(1, %r{/nowhere/x\..*: no such folder: /nowhere$}, command, at["missing.pb.gz"], "-o", output)
      end
    end
  end

  test "where a value is wrong, the choices are listed" do
    profiles do |_, at|
      file = at["a-later.pb.gz"]
      {%w[top --by nonsense] => /--by nonsense: it must be one of #{[*HeapSample::Groups::BY, "generation", "label:NAME"].join(", ")} \(see heapsample top --help\)/,
       %w[top --by clas] => nil, %w[top --by methood] => /.*did you mean method\?/,
       %w[top --by generation:x] => /--by x: it must be one of line, /,
       %w[top --value x] => /--value x: it must be one of inuse_space, .*, churn/, %w[top --value inuse_spaces] => /.*did you mean inuse_space\?/,
       %w[top --value inuse] => /--value inuse: it is ambiguous; write one of inuse_space, inuse_objects/,
       %w[top --kind heap] => /--kind heap: it must be one of both, slots, malloc/, %w[top --color red] => /--color red: it must be one of auto, always, never/,
       %w[convert --format pdf -o x] => /--format pdf: it must be one of pb\.gz, pb, folded, json, html/,
       %w[top --top many] => /--top many: it must be a whole number above 0/, %w[top --width 0] => /--width 0: it must be a whole number above 0/,
       %w[tree --min little] => /--min little: it must be a number from 0 to 100/, %w[tree --min 101] => /--min 101: it must be a number from 0 to 100/}.each do |arguments, pattern|
        next printed(*arguments, file) unless pattern

        command, option, value, *rest = arguments
        [[option, value], ["#{option}=#{value}"]].each { |words| fails(2, /\Aheapsample: #{pattern}/, command, *words, *rest, file) }
      end
      fails(2, /\Aheapsample: --age 3\.\.2: it must be a number or a range, such as 5, 3\.\. or 0\.\.2 \(see heapsample top --help\)$/, "top", "--age", "3..2", file)
      fails(2, /\Aheapsample: invalid option: --clas5; did you mean --class\? \(see heapsample top --help\)$/, "top", "--clas5", "x", file)
      fails(2, /\Aheapsample: missing argument: --by \(see/, "top", file, "--by")
    end
  end

  test "a file or a folder in place of a command is diagnosed; what is neither is no command" do
    profiles do |dir, at|
      assert_equal(HeapSample::Profile.load(at["a-later.pb.gz"]).report.text(width: 120, root: Dir.pwd).to_s, printed(at["a-later.pb.gz"]))
      assert(printed(at["a-later.pb.gz"], at["c-earlier.pb.gz"]).include?("Cannot tell: "))
      assert_equal(printed("diagnose", dir), printed(dir))
      assert_equal(printed("diagnose", "--json", dir), printed(dir, "--json"))
      fails(2, /no command, file or folder "dignose"; .*did you mean diagnose\?/, "dignose")
      fails(2, /a series cannot be read from standard input; name files/, "diagnose", "-", dir)
    end
  end

  test "a file that is not there: the nearest is named" do
    profiles do |dir, at|
      [%w[top], %w[diagnose], %w[diagnose --about]].each { |command| fails(1, /a-latter\.pb\.gz: no such file or folder; did you mean #{at["a-later.pb.gz"]}\?$/, *command, at["a-latter.pb.gz"]) }
      fails(1, /did you mean/, "merge", at["a-latter.pb.gz"], "-o", at["x.pb.gz"])
      Dir.chdir(dir) { fails(1, /b-ohter\.pb\.gz: no such file or folder; did you mean b-other\.pb\.gz\?$/, "diff", "b-ohter.pb.gz", "a-later.pb.gz") }
      fails(1, %r{/nowhere/x\.pb\.gz: no such file or folder$}, "top", "/nowhere/x.pb.gz")
    end
  end

  test "a filter that matches nothing names the nearest that would, with status 1" do
    profiles do |dir, at|
      file = at["a-later.pb.gz"]
      {%w[--class Typo] => /--class Typo: no such class in .*a-later\.pb\.gz; the largest are .*Leaked/,
       %w[--class leaked] => /did you mean Leaked\?/, %w[--class Leakde] => /did you mean Leaked\?/, %w[--class Lekaed*] => /did you mean Leaked\?/,
       %w[--class /leaked/] => /did you mean Leaked\?/, %w[--class Tikcet,Arry] => /did you mean Ticket or Array\?/,
       %w[--type T_OBJEKT] => /no such type.*did you mean T_OBJECT\?/, %w[--gem modle] => /no such gem.*did you mean model\?/,
       %w[--path models/y.rb] => %r{no such path.*did you mean models/x\.rb\?}, %w[--path leak.rb:10] => /did you mean leak\.rb:9\?/,
       %w[--path modles] => /did you mean models\?/, %w[--stack Foo#baz] => /no such file or method on any stack.*did you mean Foo#bar\?/,
       %w[--age 500..] => /--age 500\.\.: nothing is that old in .*; ages go from \d+ to 200/}.each do |filter, pattern|
        [%w[top], %w[diagnose], %w[tree], %w[top --value churn]].each { |command| fails(1, pattern, *command, file, *filter) }
      end
      typo = %w[--class Leakde]
      fails(1, /did you mean Leaked/, "diff", at["c-earlier.pb.gz"], file, *typo)
      fails(1, /did you mean Leaked/, "top", "--by", "generation", file, *typo)
      fails(1, /did you mean Leaked/, "convert", file, *typo, "-o", at["x.pb.gz"])
      fails(1, /did you mean Leaked/, "page", at["c-earlier.pb.gz"], file, *typo, "-o", at["x.html"])
      fails(1, /did you mean Leaked/, "page", dir, *typo, "-o", at["x.html"])
      assert(Dir.glob(at["x.*"]).empty?)
      fails(1, /nothing in .*a-later\.pb\.gz matches --class Leaked and --gem model together; leave out one of them/, "top", file, "--class", "Leaked", "--gem", "model")
      # What one of several profiles has is no mistake; nor is what is known, and not live.
      printed("diff", at["c-earlier.pb.gz"], file, "--class", "Leaked")
      printed("top", file, "--class", "Leakde,Leaked")
      printed("top", "--by", "generation", file, "--age", "500..")
    end
  end

  test "what is another kind of file is named, packed with gzip or not" do
    profiles do |_, at|
      printed("convert", at["a-later.pb.gz"], "-o", at["real.json"])
      printed("convert", at["a-later.pb.gz"], "-o", at["real.folded"])
      real = %w[real.json real.folded].map { |name| File.binread(at[name]) }
      {real[0] => /a speedscope file; open it at speedscope\.app/, real[1] => /folded stacks/,
       '{"version":"0.0.1","$schema":"https://www.speedscope.app/file-format-schema.json"}' => /a speedscope file/,
       "[1, 2]" => /JSON/, '{"a": 1}' => /JSON/, "\n<!DOCTYPE html><html>" => /an HTML page/, File.binread(RbConfig.ruby, 5000) => /a program/,
       "heap_v2/524288\n" => /a heap profile in jemalloc's own format/, Marshal.dump({a: 1}) => /data of Ruby.s Marshal/, "some words\n" => /text/, "%PDF-1.7\n\x93" => /a PDF/,
       "x".ljust(257, "\0") + "ustar" => /a tar archive/, "\xfd7zXZ\0\0" => /compressed with xz/, "PK\x03\x04\0" => /compressed with zip/, "" => /an empty file/}.each do |bytes, pattern|
        fails(1, /other\.pb: not a readable heap profile: it is #{pattern}/, "top", write(at["other.pb"], bytes.b))
        fails(1, /other\.pb\.gz: not a readable heap profile: it is #{pattern}/, "top", write(at["other.pb.gz"], bytes.b))
        fails(1, /packed\.pb\.gz: not a readable heap profile: it is a gzip of #{pattern}/, "top", write(at["packed.pb.gz"], Zlib.gzip(bytes)))
      end
      fails(1, /it is a gzip of gzip; decompress it first/, "top", write(at["twice.pb.gz"], Zlib.gzip(Zlib.gzip("x"))))
      # What is a profile by its look and damaged is none of these.
      fails(1, /it ends inside a field|a string is missing|no strings/, "top", write(at["cut.pb"], PprofEncoder.new(LATER.raw).encode[0, 500]))
    end
  end

  # Sends itself the signal while files are loaded, or at its end.
  INTERRUPTS = {
    "while it is loaded" => 'TracePoint.new(:class) { |point| Process.kill(:INT, $$) && sleep(1) if point.path.end_with?("heapsample/tool.rb") }.enable',
    "at its end" => "at_exit { Process.kill(:INT, $$) && sleep(1) }"
  }.freeze

  test "Ctrl-C ends the command with status 130, and no backtrace, whenever it comes" do
    profiles do |_, at|
      INTERRUPTS.each do |name, program|
        result = heapsample("top", at["a-later.pb.gz"], env: {"RUBYOPT" => "-r#{write(at["interrupt.rb"], program)}"})
        assert_equal([name, 130, ""], [name, result.status, result.err])
      end
    end
  end

  test "--about has the settings, and keeps to the width" do
    profiles do |_, at|
      file = at["a-later.pb.gz"]
      json = JSON.parse(printed("diagnose", "--about", "--json", file))
      meta = HeapSample::MetaMessage.decode(HeapSample::MetaMessage.encode(LATER.meta))
      assert_equal(meta["settings"], json["settings"])
      assert_equal([meta, meta["drops"], file, LATER.raw[:rows].size], json.values_at("meta", "drops", "name", "rows"))
      assert_equal(%w[a-later c-earlier], JSON.parse(printed("diagnose", "--about", "--json", file, at["c-earlier.pb.gz"])).map { |one| File.basename(one["name"], ".pb.gz") })
      text = printed("diagnose", "--about", "--width", "80", file).sub(file, "")
      assert(text.lines(chomp: true).all? { |line| line.length <= 80 } && text.gsub(/\s+/, " ").include?("only-n 1"), text)
      assert(HeapSample::About.new(LATER.profile).to_h.keys.all?(Symbol))
    end
  end
end
