# frozen_string_literal: true

require_relative 'acts'

# What one run plays, from its seed alone: which acts at once, how it is sampled, with YJIT or not.
class Mix
  INTERVALS = %w[1 1 64 4k].freeze
  MALLOC = %w[off on 4k 4k standby].freeze
  FORMATS = %w[.pb.gz .pb].freeze

  attr_reader :seed, :acts

  # `names`: these acts, instead of a choice.
  def initialize(seed, names: nil)
    @seed = seed
    random = Random.new(seed)
    @interval = INTERVALS.sample(random: random)
    @max_samples = ['none', 'none', '700', nil].sample(random: random)
    @malloc = MALLOC.sample(random: random)
    random.rand(4)      # was of a setting that went: seeds that were written down play the same acts
    @every = random.rand(4).zero?
    @format = FORMATS.sample(random: random)
    @yjit = random.rand(2).zero?
    @acts = choose(random)
    @acts = Act.all.select { |act| names.include?(act.called) } if names
  end

  def settings(dir)
    settings = { 'interval' => @interval, 'malloc' => @malloc, 'seed' => @seed, 'max-samples' => @max_samples,
                 'output' => "#{dir}/heap-%p-%t#{@format}" }
    settings.update('every' => 1, 'keep' => 2) if @every
    settings.compact.map { |pair| pair.join('=') }.join(',')
  end

  # Ruby's arguments; without `dir` nothing is sampled.
  def options(dir)
    ['--disable=gems', '-W0', *('--yjit' if @yjit), *("--heap-sample=#{settings(dir)}" if dir)]
  end

  # Has every live object that was allocated since the start a sample?
  def every_one_sampled? = @interval == '1' && @max_samples == 'none' && !@acts.include?(Sessions)

  def bound? = @max_samples != 'none'

  def to_s
    sampled = settings('').delete_suffix(",output=/heap-%p-%t#{@format}").sub(/,output=[^,]*/, '')
    "seed #{@seed}: #{@acts.map(&:called).join(' ')}; #{sampled}#{' --yjit' if @yjit}"
  end

  private

  def choose(random)
    wanted = random.rand(2..9)
    Act.all.shuffle(random: random).each_with_object([]) do |act, chosen|
      break chosen if chosen.size == wanted

      chosen << act if chosen.all? { |other| act.beside?(other) && other.beside?(act) }
    end
  end
end
