# frozen_string_literal: true

# Loaded by way of RUBYOPT into every process of the configurations that compact.
GC.auto_compact = true
