# frozen_string_literal: true

# Jobs of Sidekiq, with a Redis of its own; the last job saves the profile.

require_relative "programs"

class SidekiqTest < LabelsTest
  PROFILE = "#{OUT}/jobs.pb.gz".freeze

  def redis
    port = free_port
    running({}, "redis-server", "--port", port.to_s, "--bind", "127.0.0.1", "--save", "", "--dir", "#{OUT}/tmp", log: "#{OUT}/redis.log") do
      waits_for(60) { listens?(port) }
      yield({"REDIS_URL" => "redis://127.0.0.1:#{port}/0"})
    end
  end

  test "Sidekiq's own jobs and those of ActiveJob have labels, also where a job fails" do
    FileUtils.rm_f(PROFILE)
    redis do |env|
      gem_running("sidekiq", "-r", "#{__dir__}/app/jobs.rb", "-c", "2", "-q", "low", "-q", "mailers", "-q", "last", env: {**env, "INTERVAL" => "1"}) do
        said, status = Open3.capture2e(env, RbConfig.ruby, LIBRARY, "-rbundler/setup", "#{__dir__}/app/enqueue.rb", PROFILE)
        assert(status.success?, said)
        waits_for(180) { File.exist?(PROFILE) }
      end
    end
    profile = HeapSample::Profile.load(PROFILE)
    assert_equal({{"job" => "ImportJob", "queue" => "low"} => 34}, counts(profile, "Line", "job", "queue"))
    assert_equal({{"job" => "MailJob", "queue" => "mailers"} => 12}, counts(profile, "Page", "job", "queue"))
  end
end
