# Two workers that keep what they make, each at the same pace. None of them is at fault more than the other.
threads 1, 1
workers 2
environment "production"
bind "tcp://127.0.0.1:#{ENV.fetch("PORT")}"
quiet

app { |_env| [200, {"content-type" => "text/plain"}, [Process.pid.to_s]] }

before_worker_boot do
  Thread.new do
    kept = []
    loop do
      sleep 0.1
      kept << ("x" * (1 << 20))
    end
  end
end
