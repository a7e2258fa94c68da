# frozen_string_literal: true

require "heapsample"
require "json" # here, since RubyGems refuses to require in a trap

#--
# Ruby itself defines the class, how a snapshot is taken, and how it is written as pprof
# (src/heap_sampler/ruby).  This file reads a snapshot.  It is loaded when one of its methods is
# first called.
#++
class GC::SampleProfile
  include HeapSample::Reports

  # Ruby's own definitions of these only load this file (ruby/init.c).  They stay until they are redefined, for other
  # threads may call them meanwhile; an alias of itself says that the redefinition is meant.
  instance_methods(false).each { |name| alias_method(name, name) }
  singleton_class.instance_methods(false).each { |name| singleton_class.alias_method(name, name) }

  PPROF = %w[pb.gz pb].freeze
  private_constant :PPROF

  # A place in the stack of a sample; has the reading methods of
  # Thread::Backtrace::Location.
  Location = HeapSample::Frame

  # A live object that was sampled.
  class Sample
    # The name of its class, a String; "(imemo:…)" for internal objects.
    attr_reader :class_name
    # "T_STRING", …
    attr_reader :type
    # Bytes of its heap slot.
    attr_reader :slot_size
    # Bytes with what it allocated outside its slot, or nil if not asked for.
    attr_reader :memsize
    # How many objects of its size it stands for: a Float, 1.0 or more.
    attr_reader :weight
    # GCs since it was allocated.
    attr_reader :age
    # The GC count when it was allocated.
    attr_reader :allocation_gc
    # Serial of the thread that allocated it.
    attr_reader :thread

    def initialize(stacks, node, attributes) # :nodoc:
      @stacks = stacks
      @node = node
      @id, @class_name, @type, @slot_size, @weight, @allocation_gc, @age, @memsize, @young, @thread = attributes
    end

    # call-seq:
    #   young? -> true or false
    #
    # Was it allocated since the last completed mark?
    def young?
      @young
    end

    # call-seq:
    #   locations -> Array of GC::SampleProfile::Location
    #
    # Where it was allocated, the innermost frame first.
    def locations
      @stacks.stack(@node)
    end

    # call-seq:
    #   object -> object or nil
    #
    # The object itself; nil if it was freed, is internal to Ruby, or belongs to
    # another Ractor.  Nothing is kept alive by a sample.
    def object
      GC::SampleProfile.object_of(@id)
    end

    # call-seq:
    #   to_h -> Hash
    #
    # All of it but the object, JSON-ready; the locations are texts.
    def to_h
      {class: class_name, type: type, slot_size: slot_size, memsize: memsize, weight: weight, age: age, allocation_gc: allocation_gc, thread: thread,
       young: young?, locations: locations.map(&:to_s)}
    end

    # call-seq:
    #   deconstruct_keys(names) -> Hash
    #
    # For pattern matching: what #to_h has.
    #
    #   profile.samples.select { |sample| sample in {class: "String", age: 10..} }
    def deconstruct_keys(_) = to_h

    def inspect
      "#<#{self.class} #{class_name} #{slot_size} B, weight #{format("%.1f", weight)}, " \
        "age #{age}#{", young" if young?}, #{locations.first || "no stack"}>"
    end
  end

  class << self
    # call-seq:
    #   GC::SampleProfile.load(path) -> HeapSample::Profile
    #
    # Reads a saved profile (.pb.gz or .pb).  Raises HeapSample::FormatError,
    # which names the file, if it is damaged or not a heap profile, and a
    # SystemCallError if it cannot be read.
    def load(path)
      HeapSample::Profile.load(path)
    end

    # call-seq:
    #   GC::SampleProfile.diagnose(paths) -> HeapSample::Diagnosis
    #
    # Does each process of a folder of profiles leak, where, and how sure is that?  The worst is first, and processes that
    # run the same code are judged together.  +paths+ is a folder, files, profiles, or a HeapSample::Series.  Raises HeapSample::FormatError if no
    # file can be read.
    #
    #   puts GC::SampleProfile.diagnose("/var/tmp/profiles")
    #
    #   profiles << GC.sample_profile           # now and then, in a console
    #   puts GC::SampleProfile.diagnose(profiles)
    def diagnose(paths)
      HeapSample::Diagnosis.of(paths)
    end

    # call-seq:
    #   compact -> HeapSample::Compaction
    #   compact { ... } -> HeapSample::Compaction
    #
    # Runs GC.compact, and reports what it gave back and what it could not move.  With a block, which is run afterwards: also
    # how much memory its work takes again.  Raises NotImplementedError where Ruby cannot compact.
    #
    #   puts GC::SampleProfile.compact { 100.times { app.call(request) } }
    def compact(&block) = HeapSample::Compaction.here(&block)

    # call-seq:
    #   stack_of(object) -> Array of GC::SampleProfile::Location or nil
    #
    # Where +object+ was allocated, the innermost frame first; nil if it was not sampled.
    #
    #   GC::SampleProfile.stack_of(ticket).first.to_s   #=> "app/models/ticket.rb:12:in 'Ticket.load'"
    def stack_of(object)
      raw_stack_of(object)&.map { |frame| Location.new(*frame) }
    end

    # call-seq:
    #   label_book { |klass, name| ... } -> book
    #
    # Returns labels that go with a class and a name, such as a controller and its action: for frameworks,
    # which set them for each request.
    #
    #   BOOK = GC::SampleProfile.label_book { |klass, name| GC::SampleProfile.prepare_labels(job: klass.name, step: name) }
    #
    #   def run(name)
    #     before = BOOK.enter(self, name)
    #     work
    #   ensure
    #     BOOK.leave(self, name, before)
    #   end
    #
    # The block returns what ::prepare_labels returned, or +nil+: no labels, and it is asked again the
    # next time.
    def label_book(&)
      LabelBook.new(&)
    end
  end

  # call-seq:
  #   to_profile -> HeapSample::Profile
  #
  # The snapshot as rows of estimates; the same object every time.
  def to_profile
    @to_profile ||= begin
      HeapSample::Profile.from_raw(raw.then { |hash| hash.merge(meta: HeapSample::MetaMessage.decode(hash[:meta_message])) })
    end
  end

  # call-seq:
  #   rows -> Array of HeapSample::Row
  #
  # What the snapshot has of each stack, class and age.
  def rows
    to_profile.rows
  end

  # call-seq:
  #   save(path, format: nil, root: Dir.pwd, title: nil) -> Integer
  #   save(io, format: "pb.gz", root: Dir.pwd, title: nil) -> Integer
  #
  # Writes the profile in the format that +path+ ends with: .pb.gz or .pb (pprof), .folded (folded stacks of bytes in
  # use), .json (speedscope), .html (a page, which +root+ and +title+ are for); or as +format+ sets.  A file is whole or
  # not there, mode 0600.  Returns the number of bytes.  Raises ArgumentError if the path has no known ending, SystemCallError if it
  # cannot be written, HeapSample::View::Missing if this Ruby was built without the page.
  #
  #   GC.sample_profile.save("heap.pb.gz")
  #   GC.sample_profile.save($stdout, format: :folded)
  def save(target, format: nil, **options)
    name = HeapSample::Formats.of(target, format)
    return raw_save(target) if format.nil? && options.empty? && PPROF.include?(name) && HeapSample::Formats.path?(target)

    to_profile.save(target, format: name, **options)
  end

  # call-seq:
  #   to_pprof -> String
  #
  # The bytes that #save writes to a .pb.gz file: for an upload, or an answer over HTTP.
  #
  #   Net::HTTP.post(URI("https://profiles.example/heap"), GC.sample_profile.to_pprof)
  def to_pprof
    to_profile.to_pprof
  end

  # call-seq:
  #   to_html(root: Dir.pwd, title: nil) -> String
  #
  # The page that #save writes to a file whose name ends with .html: a flame graph, a table and more; see
  # HeapSample::View.  Raises HeapSample::View::Missing if this Ruby was built without the page.
  def to_html(**options)
    to_profile.to_html(**options)
  end

  # call-seq:
  #   filter(class: nil, type: nil, path: nil, gem: nil, stack: nil, label: nil, age: nil, kind: :both) -> HeapSample::Profile
  #
  # The rows that match all conditions, as a profile; see HeapSample::Filter.
  #
  #   puts GC.sample_profile.filter(class: "Ticket*", path: "app/models", age: 10..).report
  def filter(**wanted)
    to_profile.filter(**wanted)
  end

  # call-seq:
  #   profile - earlier -> HeapSample::Growth
  #
  # What grew since +earlier+, a GC::SampleProfile or HeapSample::Profile.  Within one process only what
  # was allocated and what was freed in between counts, so memory that stayed live adds no error.  Of two processes the
  # totals are compared.  Raises ArgumentError if +earlier+ was taken later.
  #
  #   puts (GC.sample_profile - earlier).report
  def -(other)
    to_profile - (other.is_a?(GC::SampleProfile) ? other.to_profile : other)
  end

  # call-seq:
  #   samples -> Array of GC::SampleProfile::Sample
  #
  # The sampled objects that were alive, one by one.
  def samples
    profile = to_profile
    raw_samples.map do |id, node, class_name, type, *rest|
      Sample.new(profile.stacks, node, [id, profile.text(class_name), profile.text(type), *rest])
    end
  end

  def inspect
    profile = to_profile
    layout = HeapSample::Layout.new
    total = profile.groups(:class).total
    parts = ["#{layout.count(total.inuse.samples + total.young.samples)} samples",
             "#{layout.bytes(total.inuse.space)} live#{" (#{layout.bytes(total.malloc.space)} from malloc)" if profile.malloc?}",
             "#{layout.bytes(total.young.space)} young"]
    parts << "one per #{layout.setting(profile.info.interval)}" if profile.info.interval
    parts << "at GC #{profile.info.gc_count}" if profile.info.gc_count
    "#<#{self.class} #{parts.join(", ")}>"
  end

  # For pp and irb: the first rows of #top.
  def pretty_print(printer) # :nodoc:
    to_profile.pretty_print(printer)
  end

  # From here on the class has all its methods: Ruby's own ones of these, which load this file, are not needed any more.
  %i[method_missing respond_to?].each { |name| remove_method(name) if method_defined?(name, false) || private_method_defined?(name, false) }
end

# A Ruby without the sampler reads profiles, and has no labels.
require_relative "label_book" if GC::SampleProfile.respond_to?(:prepare_labels)
