# Workers keep what they looked up in a Hash of their thread, under a key with the time in it. Nobody clears it, since the
# threads of a server never end.
# kind: leak
# tuned: yes
# keeper: lookups of Thread
require_relative "../load"

def lookup(key)
  cache = (Thread.current[:lookups] ||= {})
  cache[key] ||= { key: key, rates: Array.new(20) { |i| [i, "rate #{i} of #{key}"] } } # LEAK KEEPER
end

JOBS = Thread::Queue.new
WORKERS = Array.new(5) do
  Thread.new do
    while (job = JOBS.pop)
      lookup("#{job}@#{Time.now.to_f}") # LEAK
      Array.new(200) { |i| "line #{i}" }.join
    end
  end
end

Load.run(120) { |n| JOBS << n % 50 }
