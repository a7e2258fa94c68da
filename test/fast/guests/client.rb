# frozen_string_literal: true

require "socket"

# Asks every control socket below a folder all the time, as many monitoring clients do.
class Client
  REQUESTS = ["hello", "memory", "profile gc=1 diagnose=10%25", "hello", "memory", "profile"].freeze

  # Answers that no request may get, and the number of answers by process id.
  attr_reader :wrong, :answers

  def initialize(folder)
    @folder = folder
    @wrong = []
    @answers = Hash.new(0)
    @threads = Array.new(2) { |first| Thread.new { REQUESTS.rotate(first * 2).cycle { |request| ask_all(request) } } }
  end

  def stop = @threads.each(&:kill).each(&:join)

  private

  def ask_all(request)
    sleep 0.02
    Dir.glob("#{@folder}/ruby-heap-*/*.sock").each { |path| ask(path, request) }
  end

  # A process that ends, or becomes another program, answers no more.
  def ask(path, request)
    answer = UNIXSocket.open(path) { |socket| socket.write("heap-sample/1 #{request}\n") && socket.read }
    return if answer.empty?

    good = answer.match?(/\Aheap-sample\/1 ok (?:json|pb\.gz) \d+\n/n)
    good ? @answers[File.basename(path).to_i] += 1 : @wrong << "#{request}: #{answer[0, 200].inspect}"
  rescue SystemCallError
    nil
  end
end
