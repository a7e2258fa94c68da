# frozen_string_literal: true

# Daemons.daemonize closes all descriptors. The connections that the daemon opens then get their numbers.
require_relative "guest"
require "daemons"

Daemons.daemonize(app_name: "guest", log_output: false, dir_mode: :normal, dir: FOLDER)
report "after daemonizing: #{descriptors}"
report right_answers(5, 100), right_files(10)
wait_for_answers("the daemon")
report right_answers(5, 20), "in the end: #{descriptors}"
finished
