# frozen_string_literal: true

# The analysis library is a gem of its own, heap_sample.  Ruby with the sampler has it as a default gem; in a
# checkout of the repository it is in src/lib.  A program may have loaded it before: one method of
# GC::SampleProfile is enough for that.  So whichever is loaded counts, if its version is one that we work with.

checkout = File.expand_path("../../../src/lib", __dir__)
$LOAD_PATH.unshift(checkout) if File.file?("#{checkout}/heap_sample.rb") && !$LOAD_PATH.include?(checkout)

module HeapSample
  module Tool
    # The library is missing, or is not one that this version works with.
    class WrongLibrary < LoadError
    end

    begin
      require "heap_sample"
    rescue LoadError => e
      raise unless e.path == "heap_sample"

      raise WrongLibrary, "heapsample #{VERSION} needs the gem heap_sample #{LIBRARY}; install it"
    end
    found = HeapSample.const_defined?(:VERSION, false) ? HeapSample::VERSION : "without a version"
    unless found.start_with?("#{LIBRARY}.")
      from = $LOADED_FEATURES.grep(%r{/heap_sample\.rb\z}).first
      raise WrongLibrary, "heapsample #{VERSION} needs heap_sample #{LIBRARY}, but #{from} is #{found}; " \
                          "install the same version of both, or run the heapsample that came with this Ruby"
    end
  end
end
