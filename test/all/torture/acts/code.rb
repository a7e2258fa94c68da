# frozen_string_literal: true

# Code that comes and goes: eval, define_method, remove_method, autoload, instance_eval, singleton methods.
class Code < Act
  def initialize(...)
    super
    @number = 0
  end

  def step
    @number += 1
    n = @random.rand(1_000)
    case @random.rand(7)
    when 0 then same(Array.new(5) { |i| (n + i).to_s }, eval("Array.new(5) { |i| (#{n} + i).to_s }"), 'eval')
    when 1 then defined_and_removed(n)
    when 2 then same("#{n}#{n}", Object.new.instance_eval { n.to_s + n.to_s }, 'instance_eval')
    when 3 then singleton(n)
    when 4 then autoloaded(n)
    when 5 then same(n * 2, RubyVM::InstructionSequence.compile("#{n} * 2").eval, 'a compiled sequence')
    else same([n.to_s] * 3, Array.new(3, &proc_of(n)), 'a proc of code that is gone')
    end
    GC.start if @random.rand(50).zero?
  end

  private

  def defined_and_removed(n)
    name = :"made_#{@number % 20}"
    Code.define_method(name) { |times| Array.new(times) { Witness.new(__FILE__, __LINE__) }.size + n }
    same(n + 4, send(name, 4), 'a defined method')
    Code.remove_method(name)
    rescued(NoMethodError) { send(name, 4) }
  end

  def singleton(n)
    object = Object.new
    object.define_singleton_method(:twice) { [n, n.to_s] }
    object.singleton_class.class_eval("def thrice = [#{n}, #{n}.to_s, Object.new].size", __FILE__, __LINE__)
    same([[n, n.to_s], 3], [object.twice, object.thrice], 'singleton methods')
    object.singleton_class.undef_method(:twice)
  end

  def autoloaded(n)
    name = "Loaded#{Process.pid}x#{@number}"
    path = File.join(@stage.dir, "#{name}.rb")
    # Not through a buffer, which a child forked meanwhile would write once more.
    File.open(path, 'w') { |file| file.syswrite("module Code::#{name}; def self.value = [#{n}.to_s, Object.new].first; end") }
    Code.autoload(name, path)
    same(n.to_s, Code.const_get(name).value, 'an autoloaded method')
    Code.send(:remove_const, name)
    $LOADED_FEATURES.delete_if { |feature| feature.end_with?("/#{name}.rb") }
    File.unlink(path)
  end

  def proc_of(n)
    holder = Module.new
    holder.module_eval("def self.made = proc { #{n}.to_s }", __FILE__, __LINE__)
    made = holder.made
    holder.singleton_class.remove_method(:made)
    made
  end
end
