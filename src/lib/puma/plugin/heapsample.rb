# frozen_string_literal: true

require "heapsample/request_labels"

# In config/puma.rb:
#
#   plugin :heapsample
#
# What Puma's threads allocate has the label +worker+, the number of the worker process, so that a
# merged profile of all of them still tells which is which; and the label +deploy+ where the
# environment has HEAP_SAMPLE_DEPLOY, such as a revision.
Puma::Plugin.create do
  # Threads have the labels of the code that makes them: of Puma's, when a process has begun.
  def config(dsl)
    deploy = ENV["HEAP_SAMPLE_DEPLOY"]
    HeapSample::RequestLabels.set(deploy: deploy) if deploy
    before = dsl.respond_to?(:before_worker_boot) ? :before_worker_boot : :on_worker_boot
    dsl.public_send(before) { |worker| HeapSample::RequestLabels.set(worker: worker) } if dsl.respond_to?(before)
  end
end
