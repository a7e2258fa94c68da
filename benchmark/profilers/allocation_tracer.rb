require "allocation_tracer"
ObjectSpace::AllocationTracer.setup(%i[path line type])
ObjectSpace::AllocationTracer.start
